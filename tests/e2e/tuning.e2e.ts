/**
 * Namespaces that were provisioned wrong on purpose heal themselves through a real server: slices
 * are walked when they are sealed, the tuner changes later slices, and measures what came of it.
 * The tests mostly wait, so they run at once, each in its own namespaces.
 */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { connect } from "../../client/connect.ts";
import type { BraidClient, TimeSlice, Tuning } from "../../client/connect.ts";
import { braid, startServer } from "../support/started-server.ts";
import type { StartedServer } from "../support/started-server.ts";
import { Ledger } from "./splits-ledger.ts";
import { eventually } from "./splits-support.ts";
import {
  costOf,
  costText,
  keepWriting,
  readOnce,
  readsEverything,
  sealedSince,
  shortSlices,
  SLICE,
  TOO_NARROW,
  TUNED_SOON,
  untilTuning,
} from "./tuning-support.ts";
import type { SliceCost } from "./tuning-support.ts";

/** Every id has 20 KiB in ten seconds, far above the limit; no time bucket is narrower. */
const TOO_WIDE = {
  traffic: { ids: 60, eventsPerSecond: 2, eventBytes: 1_000 },
  partition: { secondsPerTimeBucket: SLICE },
  target: { densityMinBytes: "1024", densityMaxBytes: "8192" },
} as const;

let server: StartedServer;
let client: BraidClient;

before(async () => {
  server = await startServer({ env: TUNED_SOON });
  client = connect(server.url);
});

after(async () => {
  await server[Symbol.asyncDispose]();
});

suite("tuning", { concurrency: true }, () => {
  test("in AUTO, a namespace with too narrow time buckets gets wider ones", async (t) => {
    const name = "narrow";
    const { before: old, after: healed, tuning } = await heal(name, TOO_NARROW);
    equal(tuning.direction, "WIDEN");
    match(tuning.observed, /^TimeSlices have p99 partitions below configured target of 4/);
    equal(tuning.proposed, `time_bucket interval: 1s -> ${SLICE}s`);
    deepEqual(healed.slice.timePartition, tuning.to);
    t.diagnostic(`a read of ${SLICE} s, before: ${costText(old)}; after: ${costText(healed)}`);
    equal(old.partitions, SLICE);
    equal(healed.partitions, 1);
  });

  test("in AUTO, a namespace with too wide partitions gets event buckets", async (t) => {
    const name = "wide";
    const { before: old, after: healed, tuning } = await heal(name, TOO_WIDE);
    equal(tuning.direction, "NARROW");
    match(tuning.observed, /^TimeSlices have p95 partitions above configured target of 8/);
    match(tuning.proposed, /^event_buckets: 1 -> \d+$/);
    deepEqual(healed.slice.timePartition, tuning.to);
    t.diagnostic(`a read of ${SLICE} s, before: ${costText(old)}; after: ${costText(healed)}`);
    ok(old.bytesMax > Number(TOO_WIDE.target.densityMaxBytes));
    ok(healed.bytesMax < old.bytesMax);
    equal(healed.partitions, tuning.to.eventBuckets);
  });

  test("in PROPOSE, a proposal waits until an operator accepts it through the CLI", async () => {
    const name = "asked";
    const { traffic, partition, target } = TOO_NARROW;
    const ledger = new Ledger();
    const run = (line: string) => braid(line.split(" "), server.url);
    const shown = async (line: string): Promise<string> => {
      const { code, out, err } = await run(line);
      equal(code, 0, err);
      return out + err;
    };
    await client.createNamespace(name, shortSlices(partition, { mode: "PROPOSE", ...target }));
    await using _writing = keepWriting(client, name, ledger, traffic);
    await readOnce(client, name);
    const { id, evidence } = await untilTuning(client, name, "PROPOSED");
    deepEqual((await client.getNamespace(name)).config.timePartition.secondsPerTimeBucket, 1);

    const list = await shown(`tune ls ${name}`);
    match(list, new RegExp(`^${id} +PROPOSED .*1s -> ${SLICE}s`, "m"));
    match(list, new RegExp(`braid tune show ${name} ${id}`));
    match(await shown(`ns get ${name}`), new RegExp(`^tuning: a proposal waits: .* ${id}, `, "m"));
    const report = await shown(`tune show ${name} ${id}`);
    match(report, /^now .*86,400$/m);
    match(report, /^proposed .*8,640$/m);
    match(
      await shown(`doctor ${name}`),
      new RegExp(`^RETUNE .*\n.*\n.*braid tune accept ${name} ${id}$`, "m"),
    );
    const walked = evidence[0] ?? "";
    match(
      await shown(`histogram ${name} --history`),
      new RegExp(`^${walked} +yes +1s .*below`, "m"),
    );
    match(await shown(`partitions ${name} --slice ${walked} --top 3`), /^id-\d+ +\d+\/0 /m);

    match(
      await shown(`tune accept ${name} ${id} --reason fine`),
      new RegExp(`^accepted ${id}: time_bucket interval: 1s -> ${SLICE}s, for slices from `, "m"),
    );
    equal((await run(`tune refuse ${name} ${id}`)).code, 4, "it is decided");
    const applied = await untilTuning(client, name, "APPLIED");
    equal(applied.history.at(-1)?.why, "fine");
    match(await shown(`tune show ${name} ${id}`), /^in force +for slices from 20/m);
    match(
      await shown(`doctor ${name}`),
      new RegExp(`A change is applied.*\\n.*tune show ${name} ${id}$`, "m"),
    );
    const { slice } = await eventually(
      "a slice with the accepted partitioning takes events",
      async () => ({ slice: (await client.listTimeSlices(name)).find(isAccepted) }),
      (found) => found.slice !== undefined,
    );
    ok(Date.parse(slice?.start ?? "") >= Date.parse(applied.effectiveFrom ?? ""));
    await readsEverything(client, name, ledger, traffic);
  });
});

function isAccepted({ timePartition, status, events }: TimeSlice): boolean {
  return timePartition.secondsPerTimeBucket === SLICE && status === "ACTIVE" && events !== "0";
}

interface Healed {
  readonly tuning: Tuning;
  readonly before: SliceState;
  readonly after: SliceState;
}

interface SliceState extends SliceCost {
  readonly slice: TimeSlice;
}

/** Writes and reads until a change has shown its effect; nothing that was written is lost. */
async function heal(
  name: string,
  { traffic, partition, target }: typeof TOO_NARROW | typeof TOO_WIDE,
): Promise<Healed> {
  const ledger = new Ledger();
  await client.createNamespace(name, shortSlices(partition, { mode: "AUTO", ...target }));
  await using _writing = keepWriting(client, name, ledger, traffic);
  await readOnce(client, name);
  const tuning = await untilTuning(client, name, "EFFECTIVE");
  deepEqual(
    tuning.history.map(({ by, to }) => [by, to]),
    ["PROPOSED", "APPLIED", "EFFECTIVE"].map((to) => ["tuner", to]),
  );
  match(tuning.why, /^promised p99 \S+, got \S+$/);
  await readsEverything(client, name, ledger, traffic);
  const slices = await sealedSince(client, name, "1970-01-01T00:00:00Z");
  const [last] = await sealedSince(client, name, tuning.effectiveFrom ?? "");
  const first = slices.find((slice) => slice.name === tuning.evidence[0]);
  ok(first !== undefined && last !== undefined);
  return {
    tuning,
    before: { slice: first, ...(await costOf(client, name, first)) },
    after: { slice: last, ...(await costOf(client, name, last)) },
  };
}
