/**
 * The event store's contract in memory, for tests of code that uses it, with a hook to inject
 * faults.
 */
import { utf8 } from "../../src/lib/bytes.ts";
import { ServiceError } from "../../src/lib/errors.ts";
import type { PartitionKey, SliceRef } from "../../src/model/partition.ts";
import type {
  BlockRange,
  EventStore,
  PlacedEvent,
  ScanRange,
  SliceStats,
  StoredBlock,
} from "../../src/ports/event-store.ts";
import { estimateSize } from "../../src/model/estimate-size.ts";
import type {
  PartitionInSlice,
  WalkedSize,
  WalkPage,
  WalkRequest,
} from "../../src/ports/partition-walk.ts";
import { locateEvent } from "../../src/wire/event-record.ts";
import type { EventBytes } from "../../src/wire/event-record.ts";
import { comparePositions, frameLength, positionOf, writeFrame } from "../../src/wire/frames.ts";
import type { Position, Run } from "../../src/wire/frames.ts";

interface StoredSlice {
  /** By partition; each by position, oldest first. */
  readonly partitions: Map<string, EventBytes[]>;
  /** By part; each by key, oldest first. */
  readonly parts: Map<string, StoredBlock[]>;
  written: number;
}

export type StoreCall =
  | "createSlice"
  | "dropSlice"
  | "dropNamespace"
  | "append"
  | "scan"
  | "appendBlocks"
  | "scanBlocks"
  | "walkPartitions"
  | "sliceStats"
  | "isEmpty";

export class MemoryStore implements EventStore {
  readonly #slices = new Map<string, StoredSlice>();
  readonly #dropped = new Set<string>();
  #closed = false;
  /**
   * Called before each operation; if it throws, the operation rejects with that error and has no
   * effect.
   */
  before: (call: StoreCall, slice: SliceRef) => void | Promise<void> = () => undefined;

  async createSlice(slice: SliceRef): Promise<void> {
    await this.#begin("createSlice", slice);
    const name = nameOf(slice);
    if (this.#dropped.has(name)) {
      throw new ServiceError("CONFLICT", `slice ${name} was dropped; its name is not used again`);
    }
    if (!this.#slices.has(name)) {
      this.#slices.set(name, { partitions: new Map(), parts: new Map(), written: 0 });
    }
  }

  async dropSlice(slice: SliceRef): Promise<void> {
    await this.#begin("dropSlice", slice);
    this.#slices.delete(nameOf(slice));
    this.#dropped.add(nameOf(slice));
  }

  async dropNamespace(namespaceId: string): Promise<void> {
    await this.#begin("dropNamespace", { namespaceId, slice: "" });
    for (const name of this.#dropped) {
      if (name.startsWith(`${namespaceId}/`)) this.#dropped.delete(name);
    }
  }

  async append(slice: SliceRef, events: readonly PlacedEvent[]): Promise<void> {
    await this.#begin("append", slice);
    const stored = this.#sliceThere(slice);
    for (const placed of events) put(stored, placed);
  }

  async *scan(partition: PartitionKey, range: ScanRange, signal: AbortSignal): AsyncIterable<Run> {
    await this.#begin("scan", partition);
    const all =
      this.#slices.get(nameOf(partition))?.partitions.get(nameOfPartition(partition)) ?? [];
    const ordered = range.order === "OLDEST_FIRST" ? [...all] : all.toReversed();
    const sign = range.order === "OLDEST_FIRST" ? 1 : -1;
    const { after } = range;
    const wanted = ordered.filter(
      (event) =>
        event.time >= range.from &&
        event.time < range.to &&
        (after === undefined || sign * comparePositions(positionOf(event), after) > 0),
    );
    for (let at = 0; at < wanted.length;) {
      signal.throwIfAborted();
      const events = nextRun(wanted, at, range);
      at += events.length;
      yield runOf(events);
    }
  }

  async appendBlocks(partition: PartitionKey, blocks: readonly StoredBlock[]): Promise<void> {
    await this.#begin("appendBlocks", partition);
    const { parts } = this.#sliceThere(partition);
    const name = nameOfPartition(partition);
    const stored = parts.get(name) ?? [];
    parts.set(name, stored);
    for (const block of blocks) putBlock(stored, block);
  }

  async *scanBlocks(
    partition: PartitionKey,
    range: BlockRange,
    signal: AbortSignal,
  ): AsyncIterable<readonly StoredBlock[]> {
    await this.#begin("scanBlocks", partition);
    const all = this.#slices.get(nameOf(partition))?.parts.get(nameOfPartition(partition)) ?? [];
    const { keyTimeMin = -Infinity } = range;
    const wanted = blocksIn(all, range).filter(({ key }) => key.time >= keyTimeMin);
    const later = Math.max(1, Math.floor(range.fetchBytesMax / range.blockBytesMax));
    let count = Math.min(range.firstBlocks, later);
    for (let at = 0; at < wanted.length; count = later) {
      signal.throwIfAborted();
      const fetched = wanted.slice(at, at + count);
      at += fetched.length;
      yield fetched;
    }
  }

  /** By name; a position is the name of the last partition. Time does not pass here. */
  async walkPartitions(slice: SliceRef, walk: WalkRequest, signal: AbortSignal): Promise<WalkPage> {
    await this.#begin("walkPartitions", slice);
    signal.throwIfAborted();
    const stored = this.#slices.get(nameOf(slice))?.partitions ?? new Map<string, EventBytes[]>();
    const names = [...stored.keys()].toSorted().filter((name) => name > (walk.after ?? ""));
    const partitions = [];
    let bytesRead = 0;
    for (const name of names) {
      const partition = partitionNamed(name);
      const size: WalkedSize = walk.counts(partition)
        ? sizeOf(stored.get(name) ?? [], walk.countBytesMax)
        : { kind: "not counted" };
      signal.throwIfAborted();
      partitions.push({ ...partition, size });
      if (size.kind === "counted") bytesRead += Math.min(size.bytes, walk.countBytesMax);
      const full = partitions.length >= walk.partitionsMax || bytesRead > walk.bytesMax;
      if (full && name !== names.at(-1))
        return { partitions, next: name, idsTogether: false, bytesRead };
    }
    return { partitions, next: undefined, idsTogether: false, bytesRead };
  }

  async isEmpty(slice: SliceRef): Promise<boolean> {
    await this.#begin("isEmpty", slice);
    const stored = this.#slices.get(nameOf(slice));
    return [...(stored?.partitions.values() ?? [])].every((events) => events.length === 0);
  }

  async sliceStats(slice: SliceRef): Promise<SliceStats> {
    await this.#begin("sliceStats", slice);
    const stored = this.#slices.get(nameOf(slice));
    let bytes = 0;
    for (const events of stored?.partitions.values() ?? []) {
      for (const event of events) bytes += frameLength(event.end - event.start);
    }
    for (const blocks of stored?.parts.values() ?? []) {
      for (const block of blocks) bytes += block.bytes.length;
    }
    return { bytes, events: stored?.written ?? 0 };
  }

  async close(): Promise<void> {
    this.#closed = true;
  }

  async #begin(call: StoreCall, slice: SliceRef): Promise<void> {
    if (this.#closed) throw new ServiceError("STORAGE_UNAVAILABLE", "the store is closed");
    await this.before(call, slice);
  }

  #sliceThere(slice: SliceRef): StoredSlice {
    const stored = this.#slices.get(nameOf(slice));
    if (stored !== undefined) return stored;
    throw new ServiceError("STORAGE_UNAVAILABLE", `slice ${nameOf(slice)} does not exist`);
  }

  /** The existing slices, for assertions. */
  sliceNames(): string[] {
    return [...this.#slices.keys()].toSorted();
  }

  /** The same data, open again. */
  reopen(): this {
    this.#closed = false;
    return this;
  }
}

function put(stored: StoredSlice, { event, timeBucket, eventBucket }: PlacedEvent): void {
  stored.written++;
  const series = event.bytes.subarray(event.seriesStart, event.seriesEnd);
  const key = partitionName(series, timeBucket, eventBucket);
  const events = stored.partitions.get(key) ?? [];
  stored.partitions.set(key, events);
  // The store may keep its arguments only until the call ends.
  const bytes = Uint8Array.from(event.bytes.subarray(event.start, event.end));
  const copy = locateEvent(bytes, 0, bytes.length);
  if (copy === undefined) throw new Error("an event is not canonical");
  const at = firstNotBefore(events, positionOf(copy));
  const next = events[at];
  const same = next !== undefined && comparePositions(positionOf(next), positionOf(copy)) === 0;
  events.splice(at, same ? 1 : 0, copy);
}

function firstNotBefore(events: readonly EventBytes[], position: Position): number {
  let low = 0;
  let high = events.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (comparePositions(positionOf(events[middle] as EventBytes), position) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

function putBlock(stored: StoredBlock[], { key, bytes }: StoredBlock): void {
  const at = stored.findIndex((other) => comparePositions(other.key, key) >= 0);
  const index = at < 0 ? stored.length : at;
  const next = stored[index];
  const same = next !== undefined && comparePositions(next.key, key) === 0;
  // As above. A Buffer's `slice` would be a view.
  const id = Uint8Array.from(key.id);
  stored.splice(index, same ? 1 : 0, {
    key: { time: key.time, id },
    bytes: Uint8Array.from(bytes),
  });
}

/** In the order of the range. */
function blocksIn(all: readonly StoredBlock[], range: BlockRange): readonly StoredBlock[] {
  const { at, until } = range;
  const isBehind = (key: Position, limit: Position): boolean => comparePositions(key, limit) > 0;
  const floor = at === undefined ? -1 : all.findLastIndex(({ key }) => !isBehind(key, at));
  if (range.order === "OLDEST_FIRST") {
    return all
      .slice(Math.max(0, floor))
      .filter(({ key }) => until === undefined || comparePositions(key, until) < 0);
  }
  const newestFirst = (at === undefined ? all : all.slice(0, floor + 1)).toReversed();
  const last = until === undefined ? -1 : newestFirst.findIndex(({ key }) => !isBehind(key, until));
  return last < 0 ? newestFirst : newestFirst.slice(0, last + 1);
}

function nextRun(wanted: readonly EventBytes[], at: number, range: ScanRange): EventBytes[] {
  const events: EventBytes[] = [];
  let bytes = 0;
  for (const event of wanted.slice(at, at + range.runEventsMax)) {
    bytes += frameLength(event.end - event.start);
    if (events.length > 0 && bytes > range.runBytesMax) break;
    events.push(event);
  }
  return events;
}

function runOf(events: readonly EventBytes[]): Run {
  const chunks = events.map((event) => {
    const frame = new Uint8Array(frameLength(event.end - event.start));
    writeFrame(frame, 0, event);
    return frame;
  });
  const first = positionOf(events[0] as EventBytes);
  const last = positionOf(events.at(-1) as EventBytes);
  const bytes = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  return { chunks, count: events.length, bytes, first, last };
}

function nameOf({ namespaceId, slice }: SliceRef): string {
  return `${namespaceId}/${slice}`;
}

function nameOfPartition({ seriesId, timeBucket, eventBucket }: PartitionKey): string {
  return partitionName(utf8(seriesId), timeBucket, eventBucket);
}

function partitionName(series: Uint8Array, timeBucket: number, eventBucket: number): string {
  return `${timeBucket}/${eventBucket}/${Buffer.from(series).toString("hex")}`;
}

function partitionNamed(name: string): PartitionInSlice {
  const [timeBucket = "", eventBucket = "", series = ""] = name.split("/");
  return {
    seriesId: Buffer.from(series, "hex").toString(),
    timeBucket: Number(timeBucket),
    eventBucket: Number(eventBucket),
  };
}

function sizeOf(events: readonly EventBytes[], countBytesMax: number): WalkedSize {
  const count = { bytes: 0, events: 0, from: events[0]?.time ?? 0, to: 0 };
  for (const event of events) {
    if (count.bytes > countBytesMax) {
      const end = events.at(-1)?.time ?? 0;
      return { kind: "counted", ...estimateSize(count, end), exact: false };
    }
    count.bytes += frameLength(event.end - event.start);
    count.events++;
    count.to = event.time;
  }
  return { kind: "counted", bytes: count.bytes, events: count.events, exact: true };
}
