import { equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { staticView, viewSource } from "../../tests/support/static-view.ts";
import { MemoryStore } from "../../tests/support/memory-store.ts";
import { VirtualClock } from "../../tests/support/virtual-clock.ts";
import { ReadCanary } from "./read-canary.ts";

const PARTITION = {
  namespaceId: "plays-1",
  slice: "data_0",
  seriesId: "hot",
  timeBucket: 0,
  eventBucket: 0,
};

test("it reports the time of a page while a partition is split, and nothing before or after", async () => {
  const clock = new VirtualClock(0);
  const store = new MemoryStore();
  let reads = 0;
  store.before = async (call) => {
    if (call !== "scan") return;
    reads++;
    await clock.sleep(40);
  };
  const canary = new ReadCanary({
    store,
    clock,
    views: viewSource(() => staticView({ slices: [] })),
  });
  const stop = new AbortController();
  const running = canary.run(stop.signal);
  await clock.advance(5_000);
  equal(canary.recentMs(), undefined);
  equal(reads, 0);
  canary.follow("plays", PARTITION);
  await clock.advance(1_500);
  equal(Math.round(canary.recentMs() ?? 0), 40);
  await clock.advance(601_000);
  const last = reads;
  await clock.advance(10_000);
  equal(reads, last);
  equal(canary.recentMs(), undefined);
  stop.abort();
  await clock.advance(0);
  await running;
});

test("a failed read counts with the time it took", async () => {
  const clock = new VirtualClock(0);
  const store = new MemoryStore();
  store.before = async (call) => {
    if (call !== "scan") return;
    await clock.sleep(200);
    throw new Error("away");
  };
  const canary = new ReadCanary({
    store,
    clock,
    views: viewSource(() => staticView({ slices: [] })),
  });
  const stop = new AbortController();
  const running = canary.run(stop.signal);
  canary.follow("plays", PARTITION);
  await clock.advance(1_500);
  ok((canary.recentMs() ?? 0) >= 200);
  stop.abort();
  await clock.advance(0);
  await running;
});
