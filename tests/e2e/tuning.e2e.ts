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
import {
  costText,
  heal,
  keepWriting,
  readOnce,
  readsEverything,
  shortSlices,
  SLICE,
  takenBack,
  TOO_NARROW,
  TOO_WIDE,
  TUNED_SOON,
  untilTrue,
  untilTuning,
} from "./tuning-support.ts";

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
    const healed = await heal(client, "narrow", TOO_NARROW);
    const { tuning, before: old, after: now } = healed;
    t.diagnostic(costText(healed));
    equal(tuning.direction, "WIDEN");
    match(tuning.observed, /^most partitions are too small: .*, the target is 4KiB to 64KiB/);
    equal(tuning.proposed, `time_bucket interval: 1s -> ${SLICE}s`);
    deepEqual([old.partitions, now.partitions], [SLICE, 1]);
  });

  test("in AUTO, a namespace with too wide partitions gets event buckets", async (t) => {
    const healed = await heal(client, "wide", TOO_WIDE);
    const { tuning, before: old, after: now } = healed;
    t.diagnostic(costText(healed));
    equal(tuning.direction, "NARROW");
    match(tuning.observed, /^many partitions are too wide: .*, the target is 1KiB to 8KiB/);
    match(tuning.proposed, /^event_buckets: 1 -> \d+$/);
    ok(old.bytesMax > Number(TOO_WIDE.target.densityMaxBytes));
    ok(now.bytesMax < old.bytesMax);
    equal(now.partitions, tuning.to.eventBuckets);
  });

  test("in AUTO, a change that made partitions worse is taken back", async () => {
    const { why, got, to } = await takenBack(client, "worse");
    match(why, /^promised p99 \S+, got \S+; the former partitioning would have given \S+$/);
    ok(Number(got?.p95) > Number(TOO_NARROW.target.densityMaxBytes));
    equal(to.secondsPerTimeBucket, SLICE);
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
    const proposed = async (): Promise<Tuning> => {
      await using _writing = keepWriting(client, name, ledger, traffic);
      await readOnce(client, name);
      // Awaited, so that it is written until then.
      return await untilTuning(client, name, "PROPOSED");
    };
    const { id, evidence } = await proposed();
    // From here on nothing is written: what the CLI shows does not change while it starts.
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
      new RegExp(`^accepted ${id}: .*1s -> ${SLICE}s; the first slice that has it begins 20`, "m"),
    );
    equal((await run(`tune refuse ${name} ${id}`)).code, 4, "it is decided");
    const applied = await untilTuning(client, name, "APPLIED");
    equal(applied.history.at(-1)?.why, "fine");
    match(await shown(`tune show ${name} ${id}`), /^first slice +begins 20/m);
    match(
      await shown(`doctor ${name}`),
      new RegExp(`the last change has not shown.*\\n.*tune show ${name} ${id}$`, "m"),
    );
    await using _again = keepWriting(client, name, ledger, traffic);
    const slice = await untilTrue(
      client,
      name,
      "a slice with the accepted partitioning takes events",
      async () => (await client.listTimeSlices(name)).find(isAccepted),
      (found) => found !== undefined,
    );
    ok(Date.parse(slice?.start ?? "") >= Date.parse(applied.effectiveFrom ?? ""));
    await readsEverything(client, name, ledger, traffic);
  });
});

function isAccepted({ timePartition, status, events }: TimeSlice): boolean {
  return timePartition.secondsPerTimeBucket === SLICE && status === "ACTIVE" && events !== "0";
}
