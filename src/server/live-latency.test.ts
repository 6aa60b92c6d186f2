import { equal, ok, rejects } from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "../../tests/support/virtual-clock.ts";
import { LiveLatency } from "./live-latency.ts";

test("the mean follows the newest reads and is undefined without reads", async () => {
  const clock = new VirtualClock(0);
  const latency = new LiveLatency(clock);
  equal(latency.recentMs(), undefined);
  latency.note(10);
  equal(latency.recentMs(), 10);
  latency.note(20);
  equal(latency.recentMs(), 11);
  await clock.advance(5_000);
  equal(latency.recentMs(), undefined);
});

test("a read that hangs or fails counts as slow, even if it fails at once", async () => {
  const clock = new VirtualClock(0);
  const latency = new LiveLatency(clock);
  const hanging = latency.measure(1_000, () => clock.sleep(9_000));
  await clock.advance(8_000);
  equal(latency.recentMs(), 8_000);
  await clock.advance(1_000);
  await hanging;
  const failing = latency.measure(100_000, () => Promise.reject(new Error("refused")));
  await rejects(failing);
  ok((latency.recentMs() ?? 0) > 10_000);
});
