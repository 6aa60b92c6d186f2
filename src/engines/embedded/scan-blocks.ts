/**
 * Reads the blocks of one part in order, fetch by fetch, and verifies each: it is what was stored
 * under its key, and its key lies in the range and after the previous key. Anything else is
 * DATA_LOSS.
 */
import { utf8 } from "../../lib/bytes.ts";
import { ServiceError } from "../../lib/errors.ts";
import { FetchAhead } from "../../lib/fetch-ahead.ts";
import type { PartitionKey } from "../../model/partition.ts";
import type { BlockRange, StoredBlock } from "../../ports/event-store.ts";
import type { Position } from "../../wire/frames.ts";
import type { CheckedLevel } from "./checked-level.ts";
import type { LevelIteratorOptions } from "./level.ts";
import { placeKey, positionOfKey, readBlockValue } from "./key-codec.ts";
import { SteadyIterator } from "./steady-iterator.ts";

/**
 * Blocks of one fetch: without this bound, a fetch of blocks smaller than any writer makes could
 * hold very many.
 */
const FETCH_BLOCKS_MAX = 1024;
/** Event times are below this. */
const TIME_END = Number.MAX_SAFE_INTEGER;

export async function* scanBlocks(
  level: CheckedLevel,
  partition: PartitionKey,
  range: BlockRange,
  signal: AbortSignal,
): AsyncGenerator<readonly StoredBlock[], void, undefined> {
  signal.throwIfAborted();
  const series = utf8(partition.seriesId);
  const spans = spansOf(series, partition, range);
  const fetcher = new Fetcher(level, partition, series, range, spans, signal);
  try {
    const fetches = new FetchAhead(fetcher);
    do {
      const blocks = await fetches.next();
      if (blocks.length > 0) yield blocks;
    } while (!fetches.ended);
  } finally {
    await fetcher.close();
  }
}

/** A range of keys: includes `low`, excludes `high`. */
interface Span {
  readonly low: Buffer;
  readonly high: Buffer;
}

interface Spans {
  /** OLDEST_FIRST: the last block in here comes before those of `all`, unless they end before it. */
  readonly floor?: Span | undefined;
  readonly all: Span;
  /** NEWEST_FIRST: the first block with a key at or before this is the last one. */
  readonly until?: Buffer | undefined;
}

function spansOf(
  series: Uint8Array,
  partition: PartitionKey,
  { order, at, until, keyTimeMin = 0 }: BlockRange,
): Spans {
  const keyOf = ({ time, id }: Position): Buffer => {
    // Outside the possible times, whatever the id: no block lies after or before them.
    const inside = time >= 0 && time < TIME_END;
    return placeKey(
      series,
      partition,
      Math.min(Math.max(time, 0), TIME_END),
      inside ? id : undefined,
    );
  };
  const low = placeKey(series, partition, Math.max(0, keyTimeMin), undefined);
  const high = placeKey(series, partition, TIME_END, undefined);
  // The least key after another key is that key and a zero byte.
  const behindAt = at === undefined ? undefined : Buffer.concat([keyOf(at), Buffer.of(0)]);
  const untilKey = until && keyOf(until);
  if (order === "NEWEST_FIRST") return { all: { low, high: behindAt ?? high }, until: untilKey };
  const end = untilKey ?? high;
  if (behindAt === undefined) return { all: { low, high: end } };
  return {
    floor: { low, high: behindAt },
    all: { low: behindAt.compare(low) < 0 ? low : behindAt, high: end },
  };
}

async function lastEntry(
  level: CheckedLevel,
  { low, high }: Span,
  signal: AbortSignal,
): Promise<[Buffer, Buffer] | undefined> {
  const bounds = { gte: low, lt: high, reverse: true };
  const iterator = new SteadyIterator(level, () => bounds, signal);
  try {
    return (await iterator.next(1))[0];
  } finally {
    await iterator.close();
  }
}

class Fetcher {
  readonly #level: CheckedLevel;
  readonly #signal: AbortSignal;
  readonly #iterator: SteadyIterator;
  readonly #partition: PartitionKey;
  readonly #series: Uint8Array;
  readonly #spans: Spans;
  readonly #forward: boolean;
  /** A fetch ends when it has more bytes than this: the block that exceeds it still fits. */
  readonly #fullBytes: number;
  #count: number;
  #isFirst = true;
  #last: Buffer | undefined;
  #ended = false;

  constructor(
    level: CheckedLevel,
    partition: PartitionKey,
    series: Uint8Array,
    range: BlockRange,
    spans: Spans,
    signal: AbortSignal,
  ) {
    const { order, firstBlocks, fetchBytesMax, blockBytesMax } = range;
    this.#level = level;
    this.#signal = signal;
    this.#iterator = new SteadyIterator(level, () => this.#bounds(), signal);
    this.#partition = partition;
    this.#series = series;
    this.#spans = spans;
    this.#forward = order === "OLDEST_FIRST";
    this.#fullBytes = Math.max(0, fetchBytesMax - blockBytesMax);
    this.#count = Math.max(1, Math.min(firstBlocks, FETCH_BLOCKS_MAX));
    // The floor comes on top of what the iterator counts.
    if (spans.floor !== undefined) {
      this.#count = Math.max(1, Math.min(this.#count, Math.floor(fetchBytesMax / blockBytesMax)));
    }
  }

  get ended(): boolean {
    return this.#ended;
  }

  async fetch(): Promise<readonly StoredBlock[]> {
    const { floor, all } = this.#spans;
    const isFirst = this.#isFirst;
    this.#isFirst = false;
    if (!isFirst || floor === undefined) return this.#fetchNext(this.#count, []);
    // Both at once: the floor and what follows it are looked for in different places.
    const others = this.#count - 1;
    const [entry, next] = await Promise.all([
      lastEntry(this.#level, floor, this.#signal),
      others > 0 ? this.#iterator.next(others) : undefined,
    ]);
    const isWanted = entry !== undefined && entry[0].compare(all.high) < 0;
    const first = isWanted ? [this.#vouch(entry[0], entry[1], floor)] : [];
    if (next !== undefined) return this.#take(next, others, first);
    return first.length > 0 ? first : this.#fetchNext(this.#count, []);
  }

  close(): Promise<void> {
    return this.#iterator.close();
  }

  async #fetchNext(count: number, blocks: StoredBlock[]): Promise<readonly StoredBlock[]> {
    return this.#take(await this.#iterator.next(count), count, blocks);
  }

  /** Adds what was fetched to `blocks`. */
  #take(
    entries: readonly [Buffer, Buffer][],
    count: number,
    blocks: StoredBlock[],
  ): readonly StoredBlock[] {
    const { all, until } = this.#spans;
    let bytes = 0;
    for (const [key, value] of entries) {
      bytes += key.length + value.length;
      blocks.push(this.#vouch(key, value, all));
      if (until !== undefined && key.compare(until) <= 0) {
        this.#ended = true;
        return blocks;
      }
    }
    if (entries.length < count && bytes <= this.#fullBytes) this.#ended = true;
    // A page that its first fetch did not fill needs a little more; a long read soon has full ones.
    this.#count = Math.min(2 * this.#count, FETCH_BLOCKS_MAX);
    return blocks;
  }

  #vouch(key: Buffer, value: Buffer, { low, high }: Span): StoredBlock {
    if (key.compare(low) < 0 || key.compare(high) >= 0) {
      throw this.#loss("a block lies out of its place");
    }
    const before = this.#last;
    if (before !== undefined && key.compare(before) * (this.#forward ? 1 : -1) <= 0) {
      throw this.#loss("its blocks are out of order");
    }
    const bytes = readBlockValue(key, value);
    if (bytes === undefined) throw this.#loss("a block does not match its checksum");
    this.#last = key;
    return { key: positionOfKey(key, this.#series), bytes, checked: true };
  }

  #bounds(): LevelIteratorOptions {
    const { low, high } = this.#spans.all;
    const last = this.#last;
    // The floor lies before all others.
    const behind = this.#forward && last !== undefined && last.compare(low) >= 0;
    return {
      reverse: !this.#forward,
      highWaterMarkBytes: this.#fullBytes,
      ...(behind ? { gt: last } : { gte: low }),
      lt: this.#forward ? high : (last ?? high),
    };
  }

  #loss(what: string): ServiceError {
    const { namespaceId, slice, timeBucket, eventBucket } = this.#partition;
    return new ServiceError(
      "DATA_LOSS",
      `a part of a split in ${slice} (time bucket ${timeBucket}, event bucket ${eventBucket}) ` +
        `is damaged: ${what}`,
      { details: { namespaceId, slice, timeBucket, eventBucket } },
    );
  }
}
