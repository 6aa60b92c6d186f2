import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { HOUR, MIDNIGHT, SplitScenario } from "../../../tests/scenarios/split-scenario.ts";
import type { EventStore } from "../../ports/event-store.ts";
import type { SplitRecord } from "../../model/split.ts";
import { NO_LATENCY } from "../../model/split.ts";
import { mergedLatency, PROBES, probesOf } from "./probe-reads.ts";

const TEN = MIDNIGHT + 10 * HOUR;
const WIDE = { events: 400, bytes: 2_000, from: TEN, to: TEN + HOUR };

const rests = ({ state, owner, dueAt }: SplitRecord): boolean =>
  state === "COMPLETED" && owner === null && dueAt === null;

/** How long a scan of the original takes, and a fetch of a part. */
function slowed(fixture: SplitScenario, originalMs: number, partMs: number): void {
  const { store, clock } = fixture;
  const scan = store.scan.bind(store);
  const scanBlocks = store.scanBlocks.bind(store);
  store.scan = async function* (...call: Parameters<EventStore["scan"]>) {
    await clock.sleep(originalMs, call[2]);
    yield* scan(...call);
  };
  store.scanBlocks = async function* (...call: Parameters<EventStore["scanBlocks"]>) {
    await clock.sleep(partMs, call[2]);
    yield* scanBlocks(...call);
  };
}

test("a worker measures the original before it copies, and the copy at the same places once it is confirmed", async () => {
  const fixture = await SplitScenario.open();
  await fixture.write(WIDE);
  const partition = await fixture.partitionAt(TEN);
  await fixture.detect(partition);
  slowed(fixture, 80, 5);
  fixture.startWorker();
  const { latency } = await fixture.until(partition, rests);
  equal(latency.before.reads, PROBES);
  equal(latency.after.reads, PROBES);
  ok(latency.before.meanMs >= 80, `${latency.before.meanMs}`);
  ok(latency.after.maxMs < latency.before.meanMs, `${latency.after.maxMs}`);
  ok(latency.after.maxMs >= 5);
  await fixture.close();
});

test("S28: reads that hang cost two seconds and are left out; reads that fail are left out; the split continues", async () => {
  for (const [what, fails] of [
    ["hang", false],
    ["fail", true],
  ] as const) {
    const fixture = await SplitScenario.open();
    await fixture.write(WIDE);
    const partition = await fixture.partitionAt(TEN);
    const { store, clock } = fixture;
    const scan = store.scan.bind(store);
    store.scan = async function* (...call) {
      const [{ slice }, range] = call;
      // Only pages: the copy itself reads more at a time.
      if (slice === partition.slice && range.runEventsMax === 100) {
        if (fails) throw new Error("no page");
        await clock.sleep(3_600_000);
      }
      yield* scan(...call);
    };
    fixture.startWorker();
    await fixture.detect(partition);
    const { latency } = await fixture.until(partition, rests);
    deepEqual(latency.before, NO_LATENCY, what);
    equal(latency.after.reads, PROBES, what);
    equal((await fixture.compare(partition)).same, true, what);
    await fixture.close();
  }
});

test("places are spread over the range in either order, the same each time; measures add up", () => {
  const probes = probesOf({ from: 0, to: 1_200 });
  deepEqual(probes, probesOf({ from: 0, to: 1_200 }));
  deepEqual(
    probes.map(({ from, to, order }) => (order === "NEWEST_FIRST" ? to : from)),
    [100, 300, 500, 700, 900, 1_100],
  );
  equal(probes.filter(({ order }) => order === "OLDEST_FIRST").length, 3);
  const one = { reads: 1, meanMs: 10, maxMs: 10 };
  deepEqual(mergedLatency(NO_LATENCY, one), one);
  deepEqual(mergedLatency(one, { reads: 3, meanMs: 2, maxMs: 4 }), {
    reads: 4,
    meanMs: 4,
    maxMs: 10,
  });
});
