import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import {
  eventOf,
  location,
  OnePartition,
  SECOND,
  START,
} from "../../tests/property/one-partition.ts";
import { systemRandom } from "../lib/random.ts";
import { silentLog } from "../lib/log.ts";
import { readNamespace } from "../records/namespace-records.ts";
import { readRoute } from "../records/route-records.ts";
import { readSplit } from "../records/split-records.ts";
import { spaceOf } from "../records/split-spaces.ts";
import { comparisonOf } from "../splits/compare/reported-difference.ts";
import type { VerifiedDifference } from "../splits/verify/verification.ts";
import { Verifier } from "../splits/verify/verifier.ts";
import { startRechecking } from "./rechecking.ts";

type Report = (fixture: OnePartition, difference: VerifiedDifference) => void;

/** Where a comparison runs: with what it does with a difference. */
const PROCESSES: Readonly<Record<string, (fixture: OnePartition) => Report>> = {
  server: () => (fixture, difference) => fixture.serving.differed(difference),
  worker: ({ catalog, store, clock }) => {
    const parts = { catalog, store, changed: async () => undefined };
    const lifecycle = { run: () => undefined };
    const differences = startRechecking(parts, { clock, log: silentLog }, lifecycle, "worker-1");
    return (_, difference) => differences.submit(comparisonOf(difference));
  },
};

/** What a comparison of everything reports, and the kinds of differences that it lists. */
async function verified(
  fixture: OnePartition,
  report: Report,
): Promise<{ reported: VerifiedDifference[]; kinds: string[] }> {
  const { catalog, store, clock } = fixture;
  const reported: VerifiedDifference[] = [];
  const verifier = new Verifier({
    catalog,
    store,
    clock,
    random: systemRandom,
    by: "verifier",
    differed: (difference) => {
      reported.push(difference);
      report(fixture, difference);
    },
  });
  const stop = new AbortController();
  const running = verifier.run(stop.signal);
  const id = await verifier.start("plays", {});
  for (let passed = 0; (await verifier.get("plays", id)).state === "RUNNING"; passed++) {
    equal(passed < 60, true);
    await clock.advance(1_000);
  }
  stop.abort();
  await running;
  await clock.advance(10_000);
  const { differences } = await verifier.get("plays", id);
  return { reported, kinds: differences.map(({ kind }) => kind) };
}

for (const [process, start] of Object.entries(PROCESSES)) {
  test(`C14: a ${process} whose comparison finds an event only in the original has the split copied again`, async () => {
    const fixture = await OnePartition.open();
    await fixture.split({ keep: (event) => event.time !== START + 150 * SECOND });
    const { reported } = await verified(fixture, start(fixture));
    equal(reported.length, 1);
    const record = await readSplit(fixture.catalog, location);
    deepEqual([record?.state, record?.history.at(-1)?.cause], ["DETECTED", "recopy"]);
    deepEqual((await readRoute(fixture.catalog, location))?.segments, []);
  });

  test(`C14: a ${process} whose comparison finds other bytes makes the namespace fall back`, async () => {
    const fixture = await OnePartition.open();
    await fixture.split({});
    await fixture.write([eventOf(100, START + 100 * SECOND, "other")]);
    await verified(fixture, start(fixture));
    const record = await readSplit(fixture.catalog, location);
    deepEqual([record?.state, record?.history.at(-1)?.cause], ["INVALIDATED", "mismatch"]);
    const namespace = await readNamespace(fixture.catalog, "plays");
    equal(fixture.fallBacks.length > 0 || namespace?.readMode.mode === "SHADOW", true);
  });

  test(`C14: a ${process} whose comparison misses the list of a part has the split copied again`, async () => {
    const fixture = await OnePartition.open();
    await fixture.split({});
    const space = spaceOf("parts", location);
    for (const { key, version } of fixture.catalog.peek(space)) {
      await fixture.catalog.remove(space, key, version);
    }
    await verified(fixture, start(fixture));
    const record = await readSplit(fixture.catalog, location);
    deepEqual([record?.state, record?.history.at(-1)?.cause], ["DETECTED", "unreadable"]);
  });
}

test("C14: a split is not held back for damage of its original", async () => {
  const fixture = await OnePartition.open();
  await fixture.split({});
  const scan = fixture.store.scan.bind(fixture.store);
  fixture.store.scan = async function* (partition, range, signal) {
    for await (const run of scan(partition, range, signal)) {
      yield { ...run, chunks: run.chunks.map((chunk) => chunk.subarray(1)) };
    }
  };
  const { reported, kinds } = await verified(fixture, () => undefined);
  deepEqual({ reported, kinds }, { reported: [], kinds: ["damaged original"] });
  equal((await readSplit(fixture.catalog, location))?.state, "COMPLETED");
});
