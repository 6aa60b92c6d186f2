import { deepEqual, equal, rejects } from "node:assert/strict";
import { test } from "node:test";
import cassandra from "cassandra-driver";
import { VirtualClock } from "../../../tests/support/virtual-clock.ts";
import type { ScanRange } from "../../ports/event-store.ts";
import { eventsOfRun, positionOf } from "../../wire/frames.ts";
import { scanPartition } from "./scan-partition.ts";
import type { ScanSource } from "./scan-partition.ts";
import { readLevel } from "./service-level.ts";
import type { Result } from "./session.ts";
import { Speculation } from "./speculation.ts";

const PARTITION = {
  namespaceId: "plays-1",
  slice: "data_20260328",
  seriesId: "a",
  timeBucket: 0,
  eventBucket: 0,
};
const RANGE: ScanRange = {
  from: 0,
  to: 1_000,
  order: "NEWEST_FIRST",
  after: undefined,
  runEventsMax: 64,
  runBytesMax: 1 << 20,
};
const never = new AbortController().signal;

/** A partition with an event at each time from 1 to `events`, and how many rows were asked for. */
function partitionOf(events: number, before: (nth: number) => void) {
  const limits: number[] = [];
  const execute = async (_kind: string, _query: string, params: unknown[]): Promise<Result> => {
    const limit = params.at(-1) as number;
    limits.push(limit);
    before(limits.length);
    // Newest first, a bound is a time and an id; all events have the id "e".
    const [upper, id] = params.slice(5, 7) as [Buffer, Buffer];
    const end = Number(upper.readBigInt64BE(0)) - (id.toString() > "e" ? 0 : 1);
    const times = Array.from(
      { length: Math.min(events, end) },
      (_, i) => Math.min(events, end) - i,
    );
    const rows = times.slice(0, limit).map((time) => ({
      event_time: cassandra.types.Long.fromNumber(time),
      event_id: "e",
      items: Buffer.alloc(0),
    }));
    return { rows, more: false };
  };
  const clock = new VirtualClock(0);
  const source: ScanSource = {
    session: { execute, speculation: new Speculation() },
    inFlight: (work) => work(),
    clock,
    table: "k.t",
    level: readLevel(),
    eventBytesMax: async () => 100,
  };
  return { limits, clock, source };
}

async function timesOf(source: ScanSource): Promise<number[]> {
  const runs = await Array.fromAsync(scanPartition(source, PARTITION, RANGE, never));
  return runs.flatMap((run) => [...eventsOfRun(run)].map((event) => positionOf(event).time));
}

function timedOut(): Error {
  return new cassandra.errors.OperationTimedOutError("no answer", "host");
}

test("P8: a node that runs out of time is asked for fewer events, and for more again when it answers", async () => {
  const { limits, clock, source } = partitionOf(300, (nth) => {
    if (nth === 2 || nth === 3) throw timedOut();
  });
  const reading = timesOf(source);
  for (let waits = 0; waits < 20; waits++) await clock.advance(100);
  deepEqual(
    await reading,
    Array.from({ length: 300 }, (_, i) => 300 - i),
  );
  deepEqual(limits.slice(0, 7), [64, 64, 16, 4, 8, 16, 32]);
});

test("a node that never answers in time is not asked for ever", async () => {
  const { limits, clock, source } = partitionOf(300, () => {
    throw timedOut();
  });
  const reading = rejects(timesOf(source), { code: "STORAGE_UNAVAILABLE" });
  for (let waits = 0; waits < 20; waits++) await clock.advance(100);
  await reading;
  equal(limits.length, 6);
});
