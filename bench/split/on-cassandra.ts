/**
 * Splits on one Cassandra node: the same events wide in many overlapping files, well bucketed,
 * split as rows and split packed; the wide ones once more after a major compaction.
 *
 * The events are written once. The other namespaces that need the wide partition get its files.
 */
import { note } from "../support/report.ts";
import type { Report } from "../support/report.ts";
import type { Side } from "../support/read-load.ts";
import { untilServed } from "../support/server-load.ts";
import { isConfirmed, SplitControl } from "../support/split-control.ts";
import { seconds } from "../support/stats.ts";
import { scanPartition } from "../support/raw-cassandra.ts";
import { copyFiles, keyspaceOfSpace, loadWide, writeFirst } from "../support/wide-load.ts";
import { createSpace, BUCKET_SECONDS, sealSpaces } from "../support/wide-space.ts";
import type { WideSpace } from "../support/wide-space.ts";
import { startCassandraBench } from "./cassandra-bench.ts";
import type { CassandraBench, Spaces } from "./cassandra-bench.ts";
import { compareSides, compareWidths, readToTheEnd } from "./compare-sides.ts";
import { tell } from "./findings.ts";
import { PART_BYTES, WIDE } from "./options.ts";
import type { SplitBenchOptions } from "./options.ts";
import { tellCompactions, tellSpace } from "./storage-figures.ts";
import { measureSplit } from "./time-to-complete.ts";

/** Files of the wide partition, each over all of its time. */
const FILES = 60;
const FILES_QUICK = 15;
const SPLIT_MS_MAX = 1_800_000;

export async function benchSplitCassandra(
  report: Report,
  options: SplitBenchOptions,
): Promise<void> {
  const bench = await startCassandraBench(options.fanOut);
  try {
    for (const eventBytes of options.eventSizes) {
      await benchEventSize(report, options, bench, eventBytes);
    }
    const { resident } = await bench.worker.peakMemoryMiB();
    report.add({
      name: "cassandra, memory of the worker, most",
      figure: `${Math.round(resident)} MiB resident; widest partition ${options.mb} MB`,
      value: resident,
      goal: "< 300 MiB resident",
      met: resident < 300,
    });
    const server = await bench.server.peakMemoryMiB();
    tell(report, "cassandra, memory of the server, most", server.resident, "MiB resident");
  } finally {
    await bench.stop();
  }
}

async function benchEventSize(
  report: Report,
  options: SplitBenchOptions,
  bench: CassandraBench,
  eventBytes: number,
): Promise<void> {
  const spaces = await createSpaces(bench, options, eventBytes);
  await loadAll(bench, spaces, options, eventBytes);
  await sealSpaces(bench.server, Object.values(spaces));
  const what = `${eventBytes} B`;
  await splitPacked(report, what, bench, spaces, options);
  await splitRows(report, what, bench, spaces);

  const sides = sidesOf(spaces, "wide");
  // Otherwise reads would be measured while the node still works on the copies.
  const took = await seconds(() => bench.figures.untilQuiet());
  note(`the node has settled (${took.toFixed(0)} s)`);
  await compareSides(report, `${what}, ${filesOf(options.quick)} files`, bench, options, sides, {
    // The goals are stated for small events.
    withGoals: eventBytes === 100,
  });
  await compareWidths(report, what, bench, options, widthSides(spaces, options.mb));
  await readToTheEnd(report, what, bench, sides.wide, options.mb * 1e6);
  await tellSpace(report, what, bench, spaces);
  await tellCompactions(report, what, bench, spaces);
  await bench.figures.untilQuiet();
  await compareSides(report, `${what}, wide compacted`, bench, options, sides, {
    withGoals: false,
  });
}

async function createSpaces(
  { server }: CassandraBench,
  { mb }: SplitBenchOptions,
  eventBytes: number,
): Promise<Spaces> {
  const named = (name: string): string => `${name}_${eventBytes}`;
  const create = (name: string, widePartition: Record<string, unknown>): Promise<WideSpace> =>
    createSpace(server, { namespace: named(name), widePartition });
  const spaces = {
    wide: await create("wide", { detect: false }),
    packed: await create("packed", WIDE),
    rows: await create("rows", { ...WIDE, layout: "ROWS" }),
    narrow: await createSpace(server, {
      namespace: named("narrow"),
      secondsPerTimeBucket: bucketSeconds(mb),
      widePartition: { detect: false },
    }),
  };
  const modes = { wide: "OFF", narrow: "OFF", packed: "SERVE", rows: "SERVE" };
  for (const [name, mode] of Object.entries(modes)) {
    await new SplitControl(server, named(name)).setMode(mode, "measured by a bench");
  }
  return spaces;
}

/** The longest bucket that divides the time and holds no more than a part. */
function bucketSeconds(mb: number): number {
  const most = (BUCKET_SECONDS * PART_BYTES) / (mb * 1e6);
  let best = 1;
  for (let width = 1; width <= most; width++) if (BUCKET_SECONDS % width === 0) best = width;
  return best;
}

async function loadAll(
  bench: CassandraBench,
  spaces: Spaces,
  { mb, quick }: SplitBenchOptions,
  eventBytes: number,
): Promise<void> {
  const { client, figures, grpc, node, directory } = bench;
  const files = filesOf(quick);
  for (const space of Object.values(spaces)) {
    await writeFirst(grpc, { space, series: "first", events: 1, eventBytes });
  }
  const load = async (
    space: WideSpace,
    series: string,
    megabytes: number,
    rounds: number,
  ): Promise<void> => {
    const events = Math.round((megabytes * 1e6) / eventBytes);
    const took = await seconds(() =>
      loadWide(client, figures, { space, series, events, eventBytes }, rounds),
    );
    note(
      `loaded ${megabytes} MB of ${eventBytes} B into ${space.namespace} (${took.toFixed(0)} s)`,
    );
  };
  await load(spaces.wide, "wide", mb, files);
  for (const to of [spaces.packed, spaces.rows]) {
    await copyFiles(node, figures, directory, spaces.wide, to);
  }
  note("the wide partition's files are in the other namespaces");
  for (const megabytes of widths(mb)) {
    await load(spaces.packed, `w${megabytes}`, megabytes, files);
  }
  // The best case: written in order, and compacted.
  await load(spaces.narrow, "wide", mb, 1);
  await figures.compact(keyspaceOfSpace(spaces.narrow), spaces.narrow.slice);
}

function filesOf(quick: boolean): number {
  return quick ? FILES_QUICK : FILES;
}

/** Narrower ones beside the widest, to see what width costs; the first is not split. */
function widths(mb: number): number[] {
  return [1, 10, 100].filter((width) => width < mb);
}

async function splitPacked(
  report: Report,
  what: string,
  { client, server, grpc }: CassandraBench,
  { packed }: Spaces,
  { mb }: SplitBenchOptions,
): Promise<void> {
  const table = `${keyspaceOfSpace(packed)}.${packed.slice}`;
  const control = new SplitControl(server, packed.namespace);
  for (const { series, megabytes } of wideOnes(mb)) {
    const side = { ...sideOf(packed, series), name: series };
    const location = packed.location(series);
    await measureSplit(
      report,
      `${what}, ${megabytes} MB, packed`,
      grpc,
      control,
      { side, location, bytes: megabytes * 1e6 },
      () => seconds(() => scanPartition(client, table, series, location.timeBucket)),
    );
    await untilServed(server, side);
  }
}

function wideOnes(mb: number): { series: string; megabytes: number }[] {
  const narrower = widths(mb).filter((width) => width >= 10);
  return [
    ...narrower.map((width) => ({ series: `w${width}`, megabytes: width })),
    { series: "wide", megabytes: mb },
  ];
}

async function splitRows(
  report: Report,
  what: string,
  { server }: CassandraBench,
  { rows }: Spaces,
): Promise<void> {
  const control = new SplitControl(server, rows.namespace);
  const location = rows.location("wide");
  const took = await seconds(async () => {
    await control.request(location, "to be measured as rows");
    await control.until(location, isConfirmed, SPLIT_MS_MAX);
  });
  tell(report, `${what}, split as rows, s`, took, "from the request until it was confirmed");
  await untilServed(server, sideOf(rows, "wide"));
}

function sideOf({ namespace, start, end }: WideSpace, series: string): Side {
  return { name: namespace.replace(/_\d+$/, ""), namespace, series, start, end };
}

function sidesOf({ wide, packed, rows, narrow }: Spaces, series: string) {
  return {
    wide: sideOf(wide, series),
    packed: sideOf(packed, series),
    rows: sideOf(rows, series),
    narrow: sideOf(narrow, series),
  };
}

function widthSides({ packed }: Spaces, mb: number): Side[] {
  return [
    ...widths(mb).map((width) => ({ ...sideOf(packed, `w${width}`), name: `${width} MB` })),
    { ...sideOf(packed, "wide"), name: `${mb} MB` },
  ];
}
