/** Runs the demo step by step. A step that exceeds its time limit ends the demo with one line. */
import { setTimeout as pause } from "node:timers/promises";
import { NodeFigures } from "../../bench/support/node-figures.ts";
import { makeEvent, nextRandom, writeRequest } from "../../bench/support/events.ts";
import { frameMessage } from "../../bench/support/grpc-load.ts";
import { streamRange } from "../../bench/support/read-load.ts";
import { explain, loadSide, untilServed, writeAll } from "../../bench/support/server-load.ts";
import { SplitControl } from "../../bench/support/split-control.ts";
import { inFlight, seconds } from "../../bench/support/stats.ts";
import { createSpace, lowerAcceptLimit } from "../../bench/support/wide-space.ts";
import type { WideSpace } from "../../bench/support/wide-space.ts";
import { keyspaceOfSpace } from "../../bench/support/wide-load.ts";
import { runTool } from "../services/run-tool.ts";
import { advanceModes, watchSplits } from "./progress.ts";
import { count, headline, line, megabytes, Untold } from "./tell.ts";
import { EVENT_BYTES, measureByTurns, showMeasured, widthsOf } from "./widths.ts";
import type { Width } from "./widths.ts";
import type { DemoSetup } from "./setup.ts";

const NAMESPACE = "plays";
const NARROW_IDS = 500;
const WIDE_BYTES = 4 << 20;
/** Passes over the time of a wide id: on Cassandra each leaves a file, and all of them overlap. */
const PASSES = 8;
/** From a lower acceptLimit until the floor that it raises is settled. */
const SEALED_MS = 10_000;
const SEALED_MS_CASSANDRA = 18_000;
const LAUNCHER = new URL("../../bin/braid", import.meta.url).pathname;

export async function tellStory(setup: DemoSetup): Promise<void> {
  const { server } = setup;
  const space = await createSpace(server, {
    namespace: NAMESPACE,
    // Detection is off until the time is sealed, so that the steps happen in order.
    widePartition: { detect: false, bytesMax: String(WIDE_BYTES), targetBytes: String(WIDE_BYTES) },
  });
  const widths = widthsOf(space);
  const wide = widths.filter(({ megabytes: width }) => width * 1e6 > WIDE_BYTES);
  const widest = wide.at(-1) as Width;
  await load(setup, space, widths);

  headline("The backfill is over: acceptLimit goes down to 1 s, which seals the time it filled");
  await lowerAcceptLimit(server, NAMESPACE);
  const sealed = pause(setup.node === undefined ? SEALED_MS : SEALED_MS_CASSANDRA);
  line("  no server takes an event for it any more; within seconds a worker may copy it");

  headline("Before anything is split");
  await showRoute(setup, widest);

  headline("Detection is switched on, and the wide ids are read");
  await server.post("ControlService/UpdateNamespace", {
    namespace: NAMESPACE,
    config: { widePartition: { detect: true } },
  });
  await sealed;
  const control = new SplitControl(server, NAMESPACE);
  line(
    "  one read of each goes over the limit; a worker plans, copies in one pass, reads the copy back,",
  );
  line("  and reads the original once more:");
  const startedAt = Date.now();
  for (const width of wide) await readOverTheLimit(setup, width);
  const locations = wide.map(({ side }) => space.location(side.series));
  await watchSplits(control, locations, startedAt);

  headline(
    "The read mode advances on evidence: reads of the split beside the original, byte for byte",
  );
  await advanceModes(setup, control, wide);

  headline("Served from the split");
  await untilServed(server, widest.side).catch((error: unknown) => {
    throw new Untold(`after a minute ${error instanceof Error ? error.message : String(error)}`);
  });
  await showRoute(setup, widest);

  headline("braid verify compares every event of the originals and the splits, by code of its own");
  const url = `http://127.0.0.1:${server.port}`;
  const verified = await runTool("braid verify", [LAUNCHER, "verify", NAMESPACE, "--url", url]);
  for (const each of verified.trimEnd().split("\n")) line(`  ${each}`);

  headline("The same reads of originals and of splits, alternating by the kill switch");
  line(
    `  (above ${megabytes(WIDE_BYTES)} is wide; the first round warms both up and does not count)`,
  );
  showMeasured(await measureByTurns(setup, widths, widest), (width) => wide.includes(width));
  if (setup.node === undefined) notHelpedHere();
  whatNext(setup);
}

async function load(
  { grpc, node }: DemoSetup,
  space: WideSpace,
  widths: readonly Width[],
): Promise<void> {
  headline("Loading skewed data: many narrow ids, and a few wide ones, all in one time bucket");
  const figures = node === undefined ? undefined : new NodeFigures(node);
  const keyspace = keyspaceOfSpace(space);
  await figures?.leaveUncompacted(keyspace, space.slice);
  const afterRound = async (): Promise<void> => figures?.flush(keyspace, space.slice);
  const events = widths.reduce((sum, width) => sum + width.events, 10 * NARROW_IDS);
  const took = await seconds(async () => {
    await loadNarrow(grpc, space);
    for (const { side, events: each } of widths) {
      await loadSide(grpc, side, each, EVENT_BYTES, { rounds: PASSES, afterRound });
    }
  });
  line(`  ${NARROW_IDS} ids of 10 events each`);
  for (const { side, events: each, megabytes: width } of widths) {
    line(
      `  ${side.series}: ${count(each)} events of ${EVENT_BYTES} bytes, ${width} MB in one partition`,
    );
  }
  line(`  ${count(events)} events acknowledged in ${took.toFixed(1)} s`);
  if (figures === undefined) return;
  const files = await figures.sstables(keyspace, space.slice);
  line(`  each id in ${PASSES} passes over its time, a flush after each: ${files} SSTables in all`);
}

async function loadNarrow(grpc: DemoSetup["grpc"], space: WideSpace): Promise<void> {
  const ids = Array.from({ length: NARROW_IDS }, (_, nth) => nth);
  await inFlight(ids, 8, async (id) => {
    const events = Array.from({ length: 10 }, (_, n) =>
      makeEvent(
        `profile:${id}`,
        space.start + Math.floor(nextRandom() * (space.end - space.start)),
        n,
        EVENT_BYTES,
      ),
    );
    await writeAll(grpc, frameMessage(writeRequest(space.namespace, events)));
  });
}

/** Reads the newest events, slightly more than the limit of a wide partition. */
async function readOverTheLimit(
  { grpc }: DemoSetup,
  { side, megabytes: width }: Width,
): Promise<void> {
  const share = Math.min(1, (1.5 * WIDE_BYTES) / (width * 1e6));
  const start = side.end - Math.floor(share * (side.end - side.start));
  await streamRange(grpc, { ...side, start }, "NEWEST_FIRST");
}

async function showRoute({ server }: DemoSetup, { side }: Width): Promise<void> {
  const { route, why, parts, bytes, millis } = await explain(server, side);
  line(
    `  ExplainRead, ${side.series}, a page of 100: ${route}, ${parts} parts opened, ` +
      `${count(bytes)} bytes read in ${millis.toFixed(1)} ms${why === "" ? "" : ` (${why})`}`,
  );
}

/** Without this, the demo would suggest that its numbers hold for every engine. */
function notHelpedHere(): void {
  line(
    "\n  What a split does not help on the embedded engine: a page. It finds its place in a sorted file",
  );
  line(
    "  however wide the partition is, so pages of wide and narrow ids take about as long, before and",
  );
  line(
    "  after. What is faster is a long range: packed parts are read in large blocks. On Cassandra wide",
  );
  line(
    "  partitions also slow pages, compaction and repair: npm run demo -- --cassandra shows the pages.",
  );
}

function whatNext({ node }: DemoSetup): void {
  headline("What to try next");
  line("  npm start                                     a server of your own; bin/braid --help");
  line(
    "  bin/braid splits ls NAMESPACE                 every split with its state, sizes and reason",
  );
  line("  bin/braid explain NAMESPACE ID --from -1h     how a read is served");
  line("  bin/braid kill-switch on --reason '…'         every read from originals, everywhere");
  if (node === undefined) {
    line("  npm run demo -- --cassandra                   the same on real Cassandra and Kafka");
  }
  line("  npm run bench -- split --quick                the same, measured with care");
  line("  docs/operate/splits.md, docs/life-of-a-wide-partition.md");
}
