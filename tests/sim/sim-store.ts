/**
 * The event store of a simulated world, on one replica or on three.
 *
 * Each event is kept once, as the frame that readers get: a scan copies nothing. With three
 * replicas a call asks as many as its level requires, any of those it can reach; what a replica
 * missed reaches it later as a hint, or never.
 */
import { fromUtf8 } from "../../src/lib/bytes.ts";
import { ServiceError } from "../../src/lib/errors.ts";
import type { PartitionKey, SliceRef } from "../../src/model/partition.ts";
import type {
  BlockRange,
  EventStore,
  PlacedEvent,
  ScanRange,
  ServiceLevel,
  SliceStats,
  StoredBlock,
} from "../../src/ports/event-store.ts";
import { estimateSize } from "../../src/model/estimate-size.ts";
import type {
  CountedSize,
  PartitionInSlice,
  WalkPage,
  WalkRequest,
} from "../../src/ports/partition-walk.ts";
import { locateEvent } from "../../src/wire/event-record.ts";
import { comparePositions, frameLength, positionOf, writeFrame } from "../../src/wire/frames.ts";
import type { Position, Run } from "../../src/wire/frames.ts";
import type { Replicas } from "./replicas.ts";

/** An event or a block, at its place. */
interface Cell {
  readonly key: Position;
  readonly bytes: Uint8Array;
  /** Of two cells with the same key the later one wins. */
  readonly written: number;
}

/** By slice, then by partition; each by key, oldest first. */
type Tables = Map<string, Map<string, Cell[]>>;

interface Mutation {
  readonly table: string;
  readonly partition: string;
  readonly cells: readonly Cell[];
}

/** What an engine may do to the blocks that it returns. */
export type BlockFault = "damaged" | "missing";

export class SimStore implements EventStore {
  readonly #replicas: Replicas;
  readonly #rows: readonly Tables[];
  readonly #blocks: readonly Tables[];
  /** Slices that exist; the schema is the same for every replica. */
  readonly #slices = new Set<string>();
  readonly #dropped = new Set<string>();
  #written = 0;
  #closed = false;
  /** Called for each fetch of blocks. */
  blockFault: () => BlockFault | undefined = () => undefined;

  constructor(replicas: Replicas) {
    this.#replicas = replicas;
    this.#rows = Array.from({ length: replicas.count }, () => new Map());
    this.#blocks = Array.from({ length: replicas.count }, () => new Map());
  }

  async createSlice(slice: SliceRef): Promise<void> {
    const name = nameOf(slice);
    if (this.#dropped.has(name)) {
      throw new ServiceError("CONFLICT", `slice ${name} was dropped; its name is not used again`);
    }
    this.#slices.add(name);
  }

  async dropSlice(slice: SliceRef): Promise<void> {
    const name = nameOf(slice);
    this.#slices.delete(name);
    this.#dropped.add(name);
    for (const tables of [...this.#rows, ...this.#blocks]) tables.delete(name);
  }

  async dropNamespace(namespaceId: string): Promise<void> {
    for (const name of this.#dropped) {
      if (name.startsWith(`${namespaceId}/`)) this.#dropped.delete(name);
    }
  }

  async append(
    slice: SliceRef,
    events: readonly PlacedEvent[],
    level?: ServiceLevel,
  ): Promise<void> {
    this.#mustExist(slice);
    const byPartition = new Map<string, Cell[]>();
    for (const { event, timeBucket, eventBucket } of events) {
      const series = fromUtf8(event.bytes.subarray(event.seriesStart, event.seriesEnd));
      const partition = partitionName(series, timeBucket, eventBucket);
      const cells = byPartition.get(partition) ?? [];
      byPartition.set(partition, cells);
      cells.push(this.#cellOf(event));
    }
    const table = nameOf(slice);
    const mutations = [...byPartition].map(([partition, cells]) => ({ table, partition, cells }));
    this.#write(this.#rows, mutations, level);
  }

  #cellOf(event: PlacedEvent["event"]): Cell {
    const frame = new Uint8Array(frameLength(event.end - event.start));
    writeFrame(frame, 0, event);
    const located = locateEvent(frame, frame.length - (event.end - event.start), frame.length);
    if (located === undefined) throw new Error("an event is not canonical");
    return { key: positionOf(located), bytes: frame, written: ++this.#written };
  }

  async appendBlocks(
    partition: PartitionKey,
    blocks: readonly StoredBlock[],
    level?: ServiceLevel,
  ): Promise<void> {
    this.#mustExist(partition);
    const cells = blocks.map(({ key, bytes }) => ({
      key: { time: key.time, id: Uint8Array.from(key.id) },
      bytes: Uint8Array.from(bytes),
      written: ++this.#written,
    }));
    const mutation = { table: nameOf(partition), partition: nameOfPartition(partition), cells };
    this.#write(this.#blocks, [mutation], level);
  }

  #write(
    replicas: readonly Tables[],
    mutations: readonly Mutation[],
    level: ServiceLevel | undefined,
  ): void {
    const apply = (replica: number): void => {
      for (const mutation of mutations) {
        // A hint of a table that was dropped is for nobody.
        if (this.#slices.has(mutation.table)) put(replicas[replica] as Tables, mutation);
      }
    };
    this.#replicas.write(level?.consistency, apply);
  }

  async *scan(partition: PartitionKey, range: ScanRange, signal: AbortSignal): AsyncIterable<Run> {
    const [table, name] = [nameOf(partition), nameOfPartition(partition)];
    const oldestFirst = range.order === "OLDEST_FIRST";
    for (let { after } = range; ;) {
      signal.throwIfAborted();
      // Each fetch asks again, and sees what was written since.
      const cells = this.#read(this.#rows, table, name, range.level);
      const from = firstAtTime(cells, range.from);
      const to = firstAtTime(cells, range.to);
      let cursor = oldestFirst ? from : to - 1;
      if (after !== undefined) {
        const at = firstNotBefore(cells, after);
        const same = at < cells.length && comparePositions((cells[at] as Cell).key, after) === 0;
        cursor = oldestFirst ? Math.max(from, same ? at + 1 : at) : Math.min(to - 1, at - 1);
      }
      const run = oldestFirst
        ? runOf(cells, cursor, to, 1, range)
        : runOf(cells, cursor, from - 1, -1, range);
      if (run === undefined) return;
      yield run;
      after = run.last;
    }
  }

  async *scanBlocks(
    partition: PartitionKey,
    range: BlockRange,
    signal: AbortSignal,
  ): AsyncIterable<readonly StoredBlock[]> {
    const [table, name] = [nameOf(partition), nameOfPartition(partition)];
    const all = this.#read(this.#blocks, table, name, range.level);
    const { keyTimeMin = -Infinity } = range;
    const wanted = blocksIn(all, range).filter(({ key }) => key.time >= keyTimeMin);
    const later = Math.max(1, Math.floor(range.fetchBytesMax / range.blockBytesMax));
    let count = Math.min(range.firstBlocks, later);
    for (let at = 0; at < wanted.length; count = later) {
      signal.throwIfAborted();
      const fetched = wanted.slice(at, at + count);
      at += fetched.length;
      yield this.#withFault(fetched);
    }
  }

  #withFault(blocks: readonly Cell[]): readonly StoredBlock[] {
    const fault = this.blockFault();
    const [first, ...others] = blocks;
    if (fault === undefined || first === undefined) return blocks;
    if (fault === "missing") return others;
    const bytes = Uint8Array.from(first.bytes);
    const at = Math.floor(bytes.length / 2);
    bytes[at] = (bytes[at] ?? 0) ^ 1;
    return [{ key: first.key, bytes }, ...others];
  }

  async walkPartitions(slice: SliceRef, walk: WalkRequest, signal: AbortSignal): Promise<WalkPage> {
    signal.throwIfAborted();
    const table = nameOf(slice);
    const names = this.#partitionsOf(table).filter((name) => name > (walk.after ?? ""));
    const partitions = [];
    let bytesRead = 0;
    for (const name of names) {
      signal.throwIfAborted();
      const partition = partitionNamed(name);
      if (!walk.counts(partition)) partitions.push({ ...partition, size: NOT_COUNTED });
      else {
        const cells = this.#read(this.#rows, table, name, undefined);
        const size = sizeOf(cells, walk.countBytesMax);
        partitions.push({ ...partition, size });
        bytesRead += Math.min(size.bytes, walk.countBytesMax);
      }
      const full = partitions.length >= walk.partitionsMax || bytesRead > walk.bytesMax;
      if (full && name !== names.at(-1)) {
        return { partitions, next: name, idsTogether: false, bytesRead };
      }
    }
    return { partitions, next: undefined, idsTogether: false, bytesRead };
  }

  async isEmpty(slice: SliceRef): Promise<boolean> {
    const table = nameOf(slice);
    return this.#partitionsOf(table).length === 0;
  }

  async sliceStats(slice: SliceRef): Promise<SliceStats> {
    const table = nameOf(slice);
    const stats = { bytes: 0, events: 0 };
    for (const cells of this.#rows[0]?.get(table)?.values() ?? []) {
      stats.events += cells.length;
      for (const { bytes } of cells) stats.bytes += bytes.length;
    }
    for (const cells of this.#blocks[0]?.get(table)?.values() ?? []) {
      for (const { bytes } of cells) stats.bytes += bytes.length;
    }
    return stats;
  }

  async close(): Promise<void> {
    this.#closed = true;
  }

  /** The same data, open again. */
  reopen(): this {
    this.#closed = false;
    return this;
  }

  /** Brings every replica up to date, as a repair does. */
  repair(): void {
    for (const replicas of [this.#rows, this.#blocks]) {
      for (const [from, tables] of replicas.entries()) {
        for (const [table, partitions] of tables) {
          for (const [partition, cells] of partitions) {
            const others = replicas.filter((_, nth) => nth !== from);
            for (const other of others) put(other, { table, partition, cells: [...cells] });
          }
        }
      }
    }
  }

  /** What was stored and has not been dropped, for assertions. */
  sliceNames(): ReadonlySet<string> {
    return this.#slices;
  }

  /** Takes one stored block away from every replica; false if there is none. */
  loseBlock(choose: (count: number) => number): boolean {
    const tables = [...(this.#blocks[0]?.keys() ?? [])];
    const table = tables[choose(tables.length)] ?? "";
    const names = [...(this.#blocks[0]?.get(table)?.keys() ?? [])];
    const name = names[choose(names.length)] ?? "";
    const cells = this.#blocks[0]?.get(table)?.get(name) ?? [];
    if (cells.length === 0) return false;
    const at = choose(cells.length);
    for (const replica of this.#blocks) replica.get(table)?.get(name)?.splice(at, 1);
    return true;
  }

  #read(
    replicas: readonly Tables[],
    table: string,
    partition: string,
    level: ServiceLevel | undefined,
  ): readonly Cell[] {
    if (this.#closed) throw new ServiceError("STORAGE_UNAVAILABLE", "the store is closed");
    const asked = this.#replicas.read(level?.consistency);
    let merged: readonly Cell[] = NO_CELLS;
    for (const replica of asked) {
      const cells = replicas[replica]?.get(table)?.get(partition) ?? NO_CELLS;
      merged = mergeCells(merged, cells);
    }
    return merged;
  }

  #partitionsOf(table: string): string[] {
    const names = new Set<string>();
    for (const replica of this.#replicas.read(undefined)) {
      for (const name of this.#rows[replica]?.get(table)?.keys() ?? []) names.add(name);
    }
    return [...names].toSorted();
  }

  #mustExist(slice: SliceRef): void {
    if (this.#closed) throw new ServiceError("STORAGE_UNAVAILABLE", "the store is closed");
    if (this.#slices.has(nameOf(slice))) return;
    throw new ServiceError("STORAGE_UNAVAILABLE", `slice ${nameOf(slice)} does not exist`);
  }
}

const NO_CELLS: readonly Cell[] = [];
const NOT_COUNTED = { kind: "not counted" } as const;

function put(tables: Tables, { table, partition, cells }: Mutation): void {
  const partitions = tables.get(table) ?? new Map<string, Cell[]>();
  tables.set(table, partitions);
  const stored = partitions.get(partition) ?? [];
  partitions.set(partition, stored);
  for (const cell of cells) {
    const at = firstNotBefore(stored, cell.key);
    const next = stored[at];
    if (next === undefined || comparePositions(next.key, cell.key) !== 0) {
      stored.splice(at, 0, cell);
    } else if (next.written < cell.written) stored[at] = cell;
  }
}

/** One of them, where they are the same. */
function mergeCells(a: readonly Cell[], b: readonly Cell[]): readonly Cell[] {
  if (a.length === 0) return b;
  if (b.length === 0) return a;
  let same = 0;
  while (same < a.length && a[same] === b[same]) same++;
  if (same === a.length && same === b.length) return a;
  const merged = a.slice(0, same);
  for (let i = same, j = same; i < a.length || j < b.length;) {
    const [x, y] = [a[i], b[j]];
    const order = x === undefined ? 1 : y === undefined ? -1 : comparePositions(x.key, y.key);
    if (order < 0) merged.push(x as Cell);
    else if (order > 0) merged.push(y as Cell);
    else merged.push((x as Cell).written >= (y as Cell).written ? (x as Cell) : (y as Cell));
    if (order <= 0) i++;
    if (order >= 0) j++;
  }
  return merged;
}

function firstNotBefore(cells: readonly Cell[], position: Position): number {
  let low = 0;
  let high = cells.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (comparePositions((cells[middle] as Cell).key, position) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

function firstAtTime(cells: readonly Cell[], time: number): number {
  let low = 0;
  let high = cells.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((cells[middle] as Cell).key.time < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** From `at` up to `end`, excluded; undefined if there is nothing. */
function runOf(
  cells: readonly Cell[],
  start: number,
  end: number,
  step: 1 | -1,
  { runEventsMax, runBytesMax }: ScanRange,
): Run | undefined {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  let at = start;
  for (; step > 0 ? at < end : at > end; at += step) {
    const { length } = (cells[at] as Cell).bytes;
    if (chunks.length > 0 && (chunks.length === runEventsMax || bytes + length > runBytesMax)) {
      break;
    }
    chunks.push((cells[at] as Cell).bytes);
    bytes += length;
  }
  if (chunks.length === 0) return undefined;
  const [first, last] = [cells[start] as Cell, cells[at - step] as Cell];
  return { chunks, count: chunks.length, bytes, first: first.key, last: last.key };
}

/** In the order of the range. */
function blocksIn(all: readonly Cell[], range: BlockRange): readonly Cell[] {
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

function sizeOf(cells: readonly Cell[], countBytesMax: number): CountedSize {
  const count = { bytes: 0, events: 0, from: cells[0]?.key.time ?? 0, to: 0 };
  for (const { key, bytes } of cells) {
    if (count.bytes > countBytesMax) {
      const end = cells.at(-1)?.key.time ?? 0;
      return { kind: "counted", ...estimateSize(count, end), exact: false };
    }
    count.bytes += bytes.length;
    count.events++;
    count.to = key.time;
  }
  return { kind: "counted", bytes: count.bytes, events: count.events, exact: true };
}

function nameOf({ namespaceId, slice }: SliceRef): string {
  return `${namespaceId}/${slice}`;
}

function nameOfPartition({ seriesId, timeBucket, eventBucket }: PartitionKey): string {
  return partitionName(seriesId, timeBucket, eventBucket);
}

function partitionName(seriesId: string, timeBucket: number, eventBucket: number): string {
  return `${timeBucket}/${eventBucket}/${seriesId}`;
}

function partitionNamed(name: string): PartitionInSlice {
  const [timeBucket = "", eventBucket = ""] = name.split("/", 2);
  const seriesId = name.slice(timeBucket.length + eventBucket.length + 2);
  return { seriesId, timeBucket: Number(timeBucket), eventBucket: Number(eventBucket) };
}
