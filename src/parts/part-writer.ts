/**
 * Writes one part of a split, whole: events come newest first, and blocks are stored as they fill.
 *
 * It holds a bounded amount: the block being filled, the blocks of the next append, and a few
 * appends under way; the caller waits while there is no room. An unfinished part is not listed, so
 * no reader sees it (rule C8).
 */
import { assert } from "../lib/errors.ts";
import type { PartitionKey } from "../model/partition.ts";
import { partKey } from "../model/split.ts";
import type { PartRecord } from "../model/split.ts";
import { LAYOUTS } from "../model/layouts.ts";
import type { SplitLayout } from "../model/layouts.ts";
import type { EventStore, PlacedEvent, ServiceLevel, StoredBlock } from "../ports/event-store.ts";
import { comparePositions, eventsOfRun, frameLength } from "../wire/frames.ts";
import type { Position, Run } from "../wire/frames.ts";
import { BLOCK_BYTES_TARGET } from "../wire/packed-block.ts";
import { BlockBuilder } from "./block-builder.ts";
import type { TakeBlock } from "./block-builder.ts";
import { RangeDigest } from "./range-digest.ts";

/** Each append is made durable, so a small one costs as much as a large one. */
const APPEND_BYTES = 256 * 1024;
const APPENDS_MAX = 3;

export interface PartTarget {
  readonly store: EventStore;
  /** The original. */
  readonly partition: PartitionKey;
  readonly part: number;
  readonly generation: number;
  readonly layout: SplitLayout;
  readonly level?: ServiceLevel;
  /** Bytes of events in one block; not given for parts that are read one after another. */
  readonly blockBytes?: number;
}

/** A page from parts that are all read at once fetches about this much, or a block of each. */
const MERGED_BLOCKS_BYTES = 192 * 1024;
const BLOCK_BYTES_MIN = 3 * 1024;

/**
 * How large the blocks of a part are, if every read merges so many parts: each of them is asked for
 * a block, however few events the read wants.
 */
export function mergedBlockBytes(parts: number): number {
  const share = Math.floor(MERGED_BLOCKS_BYTES / Math.max(1, parts));
  return Math.min(BLOCK_BYTES_TARGET, Math.max(BLOCK_BYTES_MIN, share));
}

export class PartWriter {
  readonly #target: PartTarget;
  readonly #location: PartitionKey;
  readonly #digest = new RangeDigest();
  readonly #blocks: BlockBuilder | undefined;
  #rows: PlacedEvent[] = [];
  #ready: StoredBlock[] = [];
  /** Of `#rows` or `#ready`. */
  #readyBytes = 0;
  readonly #appends = new Set<Promise<void>>();
  /** Why an append failed: the part can no longer be finished. */
  #failure: { readonly error: unknown } | undefined;
  #ended = false;
  #newest: Position | undefined;
  #oldest: Position | undefined;
  #bytes = 0;
  #events = 0;

  constructor(target: PartTarget) {
    this.#target = target;
    this.#location = partKey(target.partition, target.part);
    if (LAYOUTS[target.layout].blocks) {
      const take: TakeBlock = (block, frames, count) => {
        this.#digest.add(frames, count);
        this.#ready.push(block);
        this.#readyBytes += block.bytes.length;
      };
      const { generation, blockBytes } = target;
      this.#blocks = new BlockBuilder(this.#location, generation, take, blockBytes);
    }
  }

  /** Of the frames added so far. */
  get bytes(): number {
    return this.#bytes;
  }

  get events(): number {
    return this.#events;
  }

  /**
   * The `count` events whose whole frames are `chunk[start..end)`, newest first, all older than
   * those added before. Resolves when more may come; rejects if an append has failed. The chunk
   * must not change until the part is finished.
   */
  async add(
    chunk: Uint8Array,
    start: number,
    end: number,
    count: number,
    first: Position,
    last: Position,
  ): Promise<void> {
    const whole = start === 0 && end === chunk.length;
    const chunks = [whole ? chunk : chunk.subarray(start, end)];
    await this.addRun({ chunks, count, bytes: end - start, first, last });
  }

  /** The same for a run of a scan NEWEST_FIRST. */
  async addRun(run: Run): Promise<void> {
    this.#throwIfOver();
    assert(
      this.#oldest === undefined || comparePositions(run.first, this.#oldest) < 0,
      "events come newest first",
    );
    this.#newest ??= run.first;
    this.#oldest = run.last;
    this.#bytes += run.bytes;
    this.#events += run.count;
    if (this.#blocks === undefined) this.#addRows(run);
    else this.#blocks.add(run);
    if (this.#readyBytes < APPEND_BYTES) return;
    await this.#append();
    this.#throwIfOver();
  }

  /** The record to list for the event time from `from` up to `to`, when all of it is durable. */
  async finish(from: number, to: number): Promise<PartRecord> {
    this.#throwIfOver();
    const inside =
      this.#newest === undefined ||
      (this.#newest.time < to && (this.#oldest?.time ?? from) >= from);
    assert(inside, "a part's events lie in its range");
    this.#blocks?.flush();
    if (this.#readyBytes > 0) await this.#append();
    await Promise.all(this.#appends);
    this.#throwIfOver();
    this.#ended = true;
    const { part } = this.#target;
    const { events, bytes, digest } = this.#digest.sum();
    assert(events === this.#events && bytes === this.#bytes, "what was added was written");
    const blocks = this.#blocks?.count ?? 0;
    const blockBytesMax = this.#blocks?.bytesMax ?? 0;
    return { part, from, to, bytes, events, blocks, blockBytesMax, digest };
  }

  /** Resolves when nothing is under way any more. */
  async abort(): Promise<void> {
    this.#ended = true;
    this.#rows = [];
    this.#ready = [];
    await Promise.all(this.#appends);
  }

  #throwIfOver(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
    assert(!this.#ended, "the part is still being written");
  }

  #addRows(run: Run): void {
    const { timeBucket, eventBucket } = this.#location;
    this.#digest.addRun(run);
    for (const event of eventsOfRun(run)) this.#rows.push({ event, timeBucket, eventBucket });
    this.#readyBytes += run.bytes;
  }

  /** Sends what is ready, in appends of bounded size, while there is room for appends. */
  async #append(): Promise<void> {
    const { store, level } = this.#target;
    const [rows, blocks] = [this.#rows, this.#ready];
    this.#rows = [];
    this.#ready = [];
    this.#readyBytes = 0;
    for (const some of inLots(rows, ({ event }) => frameLength(event.end - event.start))) {
      await this.#begin(() => store.append(this.#location, some, level));
    }
    for (const some of inLots(blocks, ({ bytes }) => bytes.length)) {
      await this.#begin(() => store.appendBlocks(this.#location, some, level));
    }
  }

  /** Begins an append when there is room for it; not at all once one has failed. */
  async #begin(append: () => Promise<void>): Promise<void> {
    while (this.#appends.size >= APPENDS_MAX) await Promise.race(this.#appends);
    if (this.#failure !== undefined || this.#ended) return;
    const appended: Promise<void> = append()
      .catch((error: unknown) => {
        this.#failure ??= { error };
      })
      .finally(() => this.#appends.delete(appended));
    this.#appends.add(appended);
  }
}

/** Consecutive items, in groups of one append each; the remainder goes with the last. */
function* inLots<T>(items: readonly T[], bytesOf: (item: T) => number): Generator<readonly T[]> {
  let left = items.reduce((sum, item) => sum + bytesOf(item), 0);
  let start = 0;
  let bytes = 0;
  for (const [i, item] of items.entries()) {
    bytes += bytesOf(item);
    left -= bytesOf(item);
    if (bytes < APPEND_BYTES || left < APPEND_BYTES) continue;
    yield items.slice(start, i + 1);
    start = i + 1;
    bytes = 0;
  }
  if (start < items.length) yield start === 0 ? items : items.slice(start);
}
