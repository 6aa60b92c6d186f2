/**
 * Events that a test can make again from a writer and a number, and so recognise when it reads
 * them.
 */
import assert from "node:assert/strict";
import type { LevelOptions } from "../../../src/engines/embedded/level-options.ts";
import type { SliceRef } from "../../../src/model/partition.ts";
import type { EventStore, PlacedEvent } from "../../../src/ports/event-store.ts";
import { encodeEvent } from "../../../src/wire/event-record.ts";
import { eventsOfRun } from "../../../src/wire/frames.ts";

export const SLICE: SliceRef = { namespaceId: "ns1", slice: "data_20260328" };
export const WRITERS = ["ann", "bob", "cat", "dan"];
/**
 * The smallest LevelDB allows: a few hundred events already make tables, compactions and new logs.
 */
export const smallLevel: Partial<LevelOptions> = {
  writeBufferSize: 64 << 10,
  maxFileSize: 1 << 20,
};

const START = 1_774_656_000_000_000;

export function eventOf(writer: string, number: number): PlacedEvent {
  // About 300 bytes that do not compress to nothing.
  const value = Buffer.from(Array.from({ length: 250 }, (_, i) => (number * 31 + i * i * 7) % 251));
  const items = [{ key: Buffer.from("value"), value }];
  const id = Buffer.from(`${writer}-${number}`);
  const event = encodeEvent(Buffer.from(writer), START + number, id, items);
  return { event, timeBucket: 0, eventBucket: 0 };
}

/** The numbers a writer's events have, in order; fails if an event is not what was written. */
export async function readNumbers(
  store: EventStore,
  writer: string,
  slice = SLICE,
): Promise<number[]> {
  const range = {
    from: 0,
    to: Number.MAX_SAFE_INTEGER,
    order: "OLDEST_FIRST",
    after: undefined,
    runEventsMax: 1000,
    runBytesMax: 1 << 20,
  } as const;
  const partition = { ...slice, seriesId: writer, timeBucket: 0, eventBucket: 0 };
  const numbers: number[] = [];
  for await (const run of store.scan(partition, range, new AbortController().signal)) {
    for (const found of eventsOfRun(run)) {
      const number = found.time - START;
      const { event } = eventOf(writer, number);
      const wanted = Buffer.from(event.bytes.subarray(event.start, event.end));
      assert.ok(wanted.equals(found.bytes.subarray(found.start, found.end)), `${writer} ${number}`);
      numbers.push(number);
    }
  }
  return numbers;
}
