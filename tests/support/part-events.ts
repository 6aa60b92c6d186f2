/**
 * Events, parts and their reads, for tests of split parts: everything newest first, as in parts.
 */
import { ok } from "node:assert/strict";
import fc from "fast-check";
import { utf8 } from "../../src/lib/bytes.ts";
import type { PartitionKey } from "../../src/model/partition.ts";
import { partKey, splitTableOf } from "../../src/model/split.ts";
import type { PartRecord } from "../../src/model/split.ts";
import type { SplitLayout } from "../../src/model/layouts.ts";
import { IntegrityError } from "../../src/parts/part-reader.ts";
import type { PartReadRange } from "../../src/parts/part-reader.ts";
import { PartWriter } from "../../src/parts/part-writer.ts";
import type { Order, StoredBlock } from "../../src/ports/event-store.ts";
import { encodeEvent } from "../../src/wire/event-record.ts";
import {
  comparePositions,
  eventsOfRun,
  frameLength,
  positionOf,
  writeFrame,
} from "../../src/wire/frames.ts";
import type { Position, Run } from "../../src/wire/frames.ts";
import { MemoryStore } from "./memory-store.ts";

export const ORIGINAL: PartitionKey = {
  namespaceId: "ns-1",
  slice: "data_20260328_0",
  seriesId: "profile:123",
  timeBucket: 7,
  eventBucket: 2,
};
export const GENERATION = 3;
export const PART = 5;
/** The time of every test event lies in [FROM, TO). */
export const FROM = 1_000;
export const TO = 1_100;

export class TestEvent {
  readonly position: Position;
  /** Hidden: a counterexample should show which events there were, not their contents. */
  readonly #frame: Uint8Array;

  constructor(position: Position, frame: Uint8Array) {
    this.position = position;
    this.#frame = frame;
  }

  get frame(): Uint8Array {
    return this.#frame;
  }
}

export function testEvent(time: number, id: string, valueBytes: number): TestEvent {
  const value = new Uint8Array(valueBytes).fill(time + id.length);
  const item = { key: utf8("k"), value };
  const event = encodeEvent(utf8(ORIGINAL.seriesId), time, utf8(id), [item]);
  const frame = new Uint8Array(frameLength(event.end));
  writeFrame(frame, 0, event);
  return new TestEvent({ time, id: utf8(id) }, frame);
}

export function newestFirst(events: readonly TestEvent[]): TestEvent[] {
  return events.toSorted((a, b) => comparePositions(b.position, a.position));
}

/** Few to a block, so that a few dozen make many blocks. */
export const anyEvents: fc.Arbitrary<TestEvent[]> = fc
  .uniqueArray(
    fc.tuple(
      fc.integer({ min: FROM, max: TO - 1 }),
      fc.constantFrom("a", "b", "ab", "\u{1F600}", "\uFFFD", "event-id-that-is-longer"),
      fc.oneof(fc.nat(50), fc.integer({ min: 3_000, max: 9_000 }), fc.constant(20_000)),
    ),
    { maxLength: 40, selector: ([time, id]) => `${time} ${id}` },
  )
  .map((all) => newestFirst(all.map(([time, id, bytes]) => testEvent(time, id, bytes))));

/** Positions near the events' positions, and ranges in their time. */
export const anyRange: fc.Arbitrary<PartReadRange> = fc
  .record({
    order: fc.constantFrom<Order>("NEWEST_FIRST", "OLDEST_FIRST"),
    from: fc.oneof(fc.constant(FROM), fc.integer({ min: FROM - 5, max: TO + 5 })),
    to: fc.oneof(fc.constant(TO), fc.integer({ min: FROM - 5, max: TO + 5 })),
    after: fc.option(
      fc.tuple(fc.integer({ min: FROM - 5, max: TO + 5 }), fc.constantFrom("", "a", "ab", "zz")),
      { nil: undefined },
    ),
    runBytesMax: fc.constantFrom(1, 20_000, 70_000, 1_000_000),
    firstBytes: fc.constantFrom(1, 20_000, 1_000_000),
  })
  .map(({ after, ...range }) => ({
    ...range,
    after: after === undefined ? undefined : { time: after[0], id: utf8(after[1]) },
  }));

export const WHOLE: PartReadRange = {
  from: FROM,
  to: TO,
  order: "NEWEST_FIRST",
  after: undefined,
  runBytesMax: 64 * 1024,
  firstBytes: 64 * 1024,
};

/** The answer of a plain list. */
export function expected(events: readonly TestEvent[], range: PartReadRange): TestEvent[] {
  const { from, to, order, after } = range;
  const sign = order === "OLDEST_FIRST" ? 1 : -1;
  return (order === "OLDEST_FIRST" ? events.toReversed() : events).filter(
    ({ position }) =>
      position.time >= from &&
      position.time < to &&
      (after === undefined || sign * comparePositions(position, after) > 0),
  );
}

/** Runs as an engine returns them: `runEvents` events each, `chunkEvents` to a chunk. */
export function runsOf(
  events: readonly TestEvent[],
  runEvents: number,
  chunkEvents: number,
): Run[] {
  return inGroups(events, runEvents).map((group) => {
    const frames = group.map(({ frame }) => frame);
    return {
      chunks: inGroups(frames, chunkEvents).map((some) => Buffer.concat(some)),
      count: group.length,
      bytes: frames.reduce((sum, frame) => sum + frame.length, 0),
      first: (group[0] as TestEvent).position,
      last: (group.at(-1) as TestEvent).position,
    };
  });
}

function inGroups<T>(items: readonly T[], size: number): T[][] {
  const groups: T[][] = [];
  for (let i = 0; i < items.length; i += size) groups.push(items.slice(i, i + size));
  return groups;
}

export async function storeWithTable(): Promise<MemoryStore> {
  const store = new MemoryStore();
  await store.createSlice(splitTableOf(ORIGINAL));
  return store;
}

export interface Written {
  readonly store: MemoryStore;
  readonly record: PartRecord;
}

export async function writeEvents(
  events: readonly TestEvent[],
  layout: SplitLayout,
  runs: readonly Run[] = runsOf(events, 10, 4),
): Promise<Written> {
  const store = await storeWithTable();
  const target = { store, partition: ORIGINAL, part: PART, generation: GENERATION, layout };
  const writer = new PartWriter(target);
  for (const run of runs) await writer.addRun(run);
  return { store, record: await writer.finish(FROM, TO) };
}

/** The blocks of a part as they are stored, newest first. */
export async function storedBlocks(store: MemoryStore, part = PART): Promise<StoredBlock[]> {
  const all: StoredBlock[] = [];
  const range = {
    order: "NEWEST_FIRST" as const,
    at: undefined,
    until: undefined,
    firstBlocks: 1,
    fetchBytesMax: 1,
    blockBytesMax: 1,
  };
  const never = new AbortController().signal;
  for await (const blocks of store.scanBlocks(partKey(ORIGINAL, part), range, never)) {
    all.push(...blocks);
  }
  return all;
}

/** A store that has exactly these blocks of the part. */
export async function storeOfBlocks(blocks: readonly StoredBlock[]): Promise<MemoryStore> {
  const store = await storeWithTable();
  await store.appendBlocks(partKey(ORIGINAL, PART), blocks);
  return store;
}

export interface Seen {
  readonly frames: Buffer;
  readonly runs: readonly Run[];
  readonly integrityError: IntegrityError | undefined;
}

/** Everything until the end, or until an integrity error; any other error is thrown. */
export async function readToEnd(next: () => Promise<Run | undefined>): Promise<Seen> {
  const runs: Run[] = [];
  let integrityError: IntegrityError | undefined;
  try {
    for (let run = await next(); run !== undefined; run = await next()) runs.push(run);
  } catch (error) {
    if (!(error instanceof IntegrityError)) throw error;
    integrityError = error;
  }
  return { frames: Buffer.concat(runs.flatMap((run) => run.chunks)), runs, integrityError };
}

export function framesOf(events: readonly TestEvent[]): Buffer {
  return Buffer.concat(events.map(({ frame }) => frame));
}

/** Reports in one line: a difference between large buffers, shown byte by byte, takes minutes. */
export function sameBytes(actual: Uint8Array, right: Uint8Array): void {
  const at = actual.findIndex((byte, i) => byte !== right[i]);
  const same = at < 0 && actual.length === right.length;
  const where = at < 0 ? "the end of the shorter one" : `byte ${at}`;
  ok(same, `${actual.length} bytes instead of ${right.length}, different from ${where} on`);
}

/** Whether the fields of a run match its contents. */
export function isHonest(run: Run): boolean {
  const positions = [...eventsOfRun(run)].map(positionOf);
  const bytes = run.chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  const [first, last] = [positions.at(0), positions.at(-1)];
  return (
    first !== undefined &&
    last !== undefined &&
    positions.length === run.count &&
    bytes === run.bytes &&
    comparePositions(first, run.first) === 0 &&
    comparePositions(last, run.last) === 0
  );
}
