/**
 * The events of an original or of a split's parts, newest first, one at a time, with a bounded
 * fetch in memory.
 *
 * The caller fills a cursor when it is empty, and reads the current event otherwise: a promise for
 * each event would cost more than the comparison.
 */
import { ServiceError } from "../../lib/errors.ts";
import { LAYOUTS } from "../../model/layouts.ts";
import type { PartitionKey } from "../../model/partition.ts";
import { partKey } from "../../model/split.ts";
import type { PartRecord, RouteSegment } from "../../model/split.ts";
import type { EventStore, ServiceLevel } from "../../ports/event-store.ts";
import { comparePlain, Damage, decodeBlock, decodeFrames } from "./plain-decoder.ts";
import type { PlainEvent, PlainPosition } from "./plain-decoder.ts";

export interface EventCursor {
  /** Whether `fill` has to come before anything else. */
  readonly isEmpty: boolean;
  fill(): Promise<void>;
  /** Undefined at the end. */
  readonly current: PlainEvent | undefined;
  advance(): void;
  close(): Promise<void>;
}

/** What is read, and how. */
export interface CursorRead {
  readonly store: EventStore;
  readonly partition: PartitionKey;
  readonly level: ServiceLevel;
  readonly signal: AbortSignal;
}

/** A range of event time. */
export interface CursorRange {
  readonly from: number;
  readonly to: number;
}

const FETCH_BYTES_MAX = 1 << 20;
const FETCH_EVENTS_MAX = 10_000;

export function originalCursor(reading: CursorRead, splitRange: CursorRange): EventCursor {
  return new FetchedCursor(scanEvents(reading, reading.partition, splitRange, FETCH_BYTES_MAX));
}

/** One part, or all parts of a segment that is not in order. */
export function splitCursor(
  reading: CursorRead,
  segment: RouteSegment,
  parts: readonly PartRecord[],
): EventCursor {
  const bytesMax = Math.ceil(FETCH_BYTES_MAX / Math.max(1, parts.length));
  const cursors = parts.map(
    (part) => new FetchedCursor(partEvents(reading, segment, part, bytesMax)),
  );
  const [only] = cursors;
  return only !== undefined && cursors.length === 1 ? only : new MergedCursor(cursors);
}

type Fetches = AsyncGenerator<readonly PlainEvent[], void, undefined>;

class FetchedCursor implements EventCursor {
  readonly #fetches: Fetches;
  #events: readonly PlainEvent[] = [];
  #at = 0;
  #ended = false;

  constructor(fetches: Fetches) {
    this.#fetches = fetches;
  }

  get isEmpty(): boolean {
    return this.#at >= this.#events.length && !this.#ended;
  }

  async fill(): Promise<void> {
    while (this.isEmpty) {
      const next = await this.#fetches.next();
      this.#at = 0;
      this.#events = next.value ?? [];
      if (next.done === true) this.#ended = true;
    }
  }

  get current(): PlainEvent | undefined {
    return this.#events[this.#at];
  }

  advance(): void {
    this.#at++;
  }

  async close(): Promise<void> {
    await this.#fetches.return();
  }
}

/** The newest of several, each in order. */
class MergedCursor implements EventCursor {
  readonly #cursors: readonly EventCursor[];

  constructor(cursors: readonly EventCursor[]) {
    this.#cursors = cursors;
  }

  get isEmpty(): boolean {
    return this.#cursors.some((cursor) => cursor.isEmpty);
  }

  async fill(): Promise<void> {
    for (const cursor of this.#cursors) if (cursor.isEmpty) await cursor.fill();
  }

  get current(): PlainEvent | undefined {
    return this.#newest()?.current;
  }

  advance(): void {
    this.#newest()?.advance();
  }

  async close(): Promise<void> {
    for (const cursor of this.#cursors) await cursor.close();
  }

  #newest(): EventCursor | undefined {
    let newest: EventCursor | undefined;
    for (const cursor of this.#cursors) {
      const { current } = cursor;
      if (current === undefined) continue;
      const best = newest?.current;
      if (best === undefined || comparePlain(current, best) > 0) newest = cursor;
    }
    return newest;
  }
}

async function* partEvents(
  reading: CursorRead,
  segment: RouteSegment,
  part: PartRecord,
  bytesMax: number,
): Fetches {
  let events = 0;
  const location = partKey(reading.partition, part.part);
  const fetches = LAYOUTS[segment.layout].blocks
    ? blockEvents(reading, location, segment.generation, part, bytesMax)
    : scanEvents(reading, location, part, bytesMax);
  for await (const fetched of fetches) {
    events += fetched.length;
    yield fetched;
  }
  if (events !== part.events) {
    throw new Damage(`part ${part.part} is listed with ${part.events} events and has ${events}`);
  }
}

async function* scanEvents(
  { store, level, signal }: CursorRead,
  location: PartitionKey,
  { from, to }: CursorRange,
  bytesMax: number,
): Fetches {
  if (from >= to) return;
  const range = {
    from,
    to,
    order: "NEWEST_FIRST",
    after: undefined,
    runEventsMax: FETCH_EVENTS_MAX,
    runBytesMax: bytesMax,
    level,
  } as const;
  try {
    for await (const run of store.scan(location, range, signal)) {
      for (const chunk of run.chunks) yield decodeFrames(chunk, location.seriesId);
    }
  } catch (error) {
    throw asDamage(error);
  }
}

async function* blockEvents(
  { store, level, signal }: CursorRead,
  location: PartitionKey,
  generation: number,
  { part, blocks, blockBytesMax }: PartRecord,
  bytesMax: number,
): Fetches {
  if (blocks === 0) return;
  const range = {
    order: "NEWEST_FIRST",
    at: undefined,
    until: undefined,
    firstBlocks: 4,
    fetchBytesMax: bytesMax,
    blockBytesMax,
    level,
  } as const;
  let found = 0;
  let before: PlainPosition | undefined;
  try {
    for await (const fetch of store.scanBlocks(location, range, signal)) {
      for (const { key, bytes } of fetch) {
        const block = decodeBlock(location, generation, bytes);
        if (block.sequence !== found) {
          throw new Damage(`part ${part} has block ${block.sequence} where ${found} belongs`);
        }
        const followsOn =
          before === undefined
            ? block.before === undefined
            : block.before !== undefined && comparePlain(block.before, before) === 0;
        if (!followsOn) throw new Damage(`part ${part}: block ${found} does not follow the last`);
        if (comparePlain(block.last, { time: key.time, id: Buffer.from(key.id) }) !== 0) {
          throw new Damage(`part ${part}: block ${found} is stored under another key than its own`);
        }
        before = block.last;
        found++;
        yield block.events;
      }
    }
  } catch (error) {
    throw asDamage(error);
  }
  if (found !== blocks)
    throw new Damage(`part ${part} is listed with ${blocks} blocks and has ${found}`);
}

/** Storage that cannot vouch for its bytes is a finding, not a failure to look. */
function asDamage(error: unknown): unknown {
  if (!(error instanceof ServiceError) || error.code !== "DATA_LOSS") return error;
  return new Damage(error.message, { cause: error });
}
