import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "../../tests/support/virtual-clock.ts";
import { ReadLatencies } from "./read-latencies.ts";

test("percentiles are of the last minutes and of one namespace", async () => {
  const clock = new VirtualClock(0);
  const latencies = new ReadLatencies(clock);
  equal(latencies.recent("plays"), undefined);
  for (let read = 0; read < 99; read++) latencies.note("plays", 10);
  for (let read = 0; read < 3; read++) latencies.note("plays", 800);
  latencies.note("songs", 1);
  const { reads, p99Ms } = latencies.recent("plays") ?? { reads: 0, p99Ms: 0 };
  equal(reads, 102);
  ok(p99Ms >= 800 && p99Ms < 1_000, String(p99Ms));
  await clock.advance(300_000);
  equal(latencies.recent("plays")?.reads, 102);
  latencies.note("plays", 10);
  await clock.advance(300_000);
  deepEqual(latencies.recent("plays")?.reads, 1);
  await clock.advance(600_000);
  equal(latencies.recent("plays"), undefined);
});
