import { deepEqual, equal, match } from "node:assert/strict";
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
import { abortable } from "../lib/abortable.ts";
import type { ReportedDifference } from "../model/reported-difference.ts";
import { readNamespace } from "../records/namespace-records.ts";
import { readRoute } from "../records/route-records.ts";
import { readSplit } from "../records/split-records.ts";
import { spaceOf } from "../records/split-spaces.ts";
import { comparisonOf } from "../splits/compare/comparison-of.ts";
import { Verifier } from "../splits/verify/verifier.ts";
import { startRechecking } from "./rechecking.ts";

type Recheck = (difference: ReportedDifference, signal: AbortSignal) => Promise<boolean>;

/** Where a comparison runs: with what it does with a difference. */
const PROCESSES: Readonly<Record<string, (fixture: OnePartition) => Recheck>> = {
  server: (fixture) => (difference, signal) => fixture.serving.recheck(difference, signal),
  worker: ({ catalog, store, clock }) => {
    const parts = { catalog, store, changed: async () => undefined };
    const lifecycle = { run: () => undefined };
    const differences = startRechecking(parts, { clock, log: silentLog }, lifecycle, "worker-1");
    return (difference, signal) => differences.settle(comparisonOf(difference), signal);
  },
};

function verifierOf({ catalog, store, clock }: OnePartition, by: string, recheck: Recheck) {
  return new Verifier({ catalog, store, clock, random: systemRandom, by, recheck });
}

/** What a comparison of everything reports, and the kinds of differences that it lists. */
async function verified(
  fixture: OnePartition,
  recheck: Recheck,
): Promise<{ reported: ReportedDifference[]; kinds: string[] }> {
  const { clock } = fixture;
  const reported: ReportedDifference[] = [];
  const verifier = verifierOf(fixture, "verifier", (difference, signal) => {
    reported.push(difference);
    return recheck(difference, signal);
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

for (const [process, start] of Object.entries(PROCESSES)) {
  test(`C14: a difference whose recheck was not done when its process stopped is settled by a ${process} that continues`, async () => {
    const fixture = await OnePartition.open();
    const { clock } = fixture;
    await fixture.split({ keep: (event) => event.time !== START + 150 * SECOND });
    const asked = Promise.withResolvers<void>();
    const first = verifierOf(fixture, "first", (_, signal) => {
      asked.resolve();
      return abortable(new Promise(() => undefined), signal);
    });
    const stop = new AbortController();
    const running = first.run(stop.signal);
    const id = await first.start("plays", {});
    await asked.promise;
    await clock.advance(10_000);
    const waiting = await first.get("plays", id);
    deepEqual([waiting.state, waiting.differencesFound], ["RUNNING", 0]);
    match(waiting.reason, /reads both again/);
    stop.abort();
    await running;
    equal((await readSplit(fixture.catalog, location))?.state, "COMPLETED");
    const next = verifierOf(fixture, "next", start(fixture));
    const end = new AbortController();
    const continuing = next.run(end.signal);
    for (let passed = 0; (await next.get("plays", id)).state === "RUNNING"; passed++) {
      equal(passed < 60, true);
      await clock.advance(1_000);
    }
    end.abort();
    await continuing;
    const { state, differencesFound, reason } = await next.get("plays", id);
    deepEqual([state, differencesFound, reason], ["DONE", 1, ""]);
    const record = await readSplit(fixture.catalog, location);
    deepEqual([record?.state, record?.history.at(-1)?.cause], ["DETECTED", "recopy"]);
  });
}

test("C14: a difference for which there is no room is submitted again", async () => {
  const fixture = await OnePartition.open();
  await fixture.split({ keep: (event) => event.time !== START + 150 * SECOND });
  let refused = 3;
  const { reported, kinds } = await verified(fixture, async () => refused-- <= 0);
  deepEqual([reported.length, kinds], [4, ["only in original"]]);
});

test("C14: a split is not held back for damage of its original", async () => {
  const fixture = await OnePartition.open();
  await fixture.split({});
  const scan = fixture.store.scan.bind(fixture.store);
  fixture.store.scan = async function* (partition, range, signal) {
    for await (const run of scan(partition, range, signal)) {
      yield { ...run, chunks: run.chunks.map((chunk) => chunk.subarray(1)) };
    }
  };
  const { reported, kinds } = await verified(fixture, async () => true);
  deepEqual({ reported, kinds }, { reported: [], kinds: ["damaged original"] });
  equal((await readSplit(fixture.catalog, location))?.state, "COMPLETED");
});
