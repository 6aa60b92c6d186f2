import { equal, ok } from "node:assert/strict";
import { test } from "node:test";
import cassandra from "cassandra-driver";
import { partWriteLevel, readLevel, writeLevel } from "./service-level.ts";

const { consistencies } = cassandra.types;

test("R20: reads and writes overlap in a majority unless less or more is requested", () => {
  for (const level of [readLevel(), writeLevel(10_000)]) {
    equal(level.consistency, consistencies.localQuorum);
  }
  const eventual = { consistency: "EVENTUAL", targetMs: 50, maxMs: 500 } as const;
  equal(readLevel(eventual).consistency, consistencies.localOne);
  equal(writeLevel(10_000, eventual).consistency, consistencies.localOne);
  const all = { ...eventual, consistency: "ALL" } as const;
  equal(readLevel(all).consistency, consistencies.all);
  equal(writeLevel(10_000, all).consistency, consistencies.all);
});

test("timeouts and second attempts follow from the namespace's latency targets", () => {
  const strict = { consistency: "READ_YOUR_WRITES", targetMs: 20, maxMs: 500 } as const;
  const loose = { ...strict, targetMs: 2_000, maxMs: 5_000 };
  ok(readLevel(strict).readTimeout < readLevel(loose).readTimeout);
  equal(readLevel(strict).speculateMs, 20);
  equal(readLevel(loose).speculateMs, 2_000);
  equal(writeLevel(60_000, strict).speculateMs, 500);
});

test("C1: a write that waits, and its repeats, end before the longest a write may be in flight", () => {
  const patient = { consistency: "READ_YOUR_WRITES", targetMs: 50_000, maxMs: 60_000 } as const;
  for (const writeMaxMs of [300, 3_000, 10_000, 60_000]) {
    const { waitMs, readTimeout } = writeLevel(writeMaxMs, patient);
    ok(waitMs + 3 * readTimeout <= writeMaxMs);
  }
});

test("a write of a part may take longer than the longest a write of events may be in flight", () => {
  const level = { consistency: "READ_YOUR_WRITES", targetMs: 5, maxMs: 10 } as const;
  const { consistency, readTimeout, waitMs } = partWriteLevel(level);
  equal(consistency, consistencies.localQuorum);
  equal(readTimeout, 30_000);
  equal(waitMs, 120_000);
});
