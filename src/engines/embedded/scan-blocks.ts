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
  const span = await spanOf(level, series, partition, range, signal);
  const fetcher = new Fetcher(level, partition, series, range, span, signal);
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
  /** NEWEST_FIRST: the first block with a key at or before this is the last one. */
  readonly until?: Buffer | undefined;
}

async function spanOf(
  level: CheckedLevel,
  series: Uint8Array,
  partition: PartitionKey,
  { order, at, until, keyTimeMin = 0 }: BlockRange,
  signal: AbortSignal,
): Promise<Span> {
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
  const behindAt = at === undefined ? high : Buffer.concat([keyOf(at), Buffer.of(0)]);
  const untilKey = until && keyOf(until);
  if (order === "NEWEST_FIRST") return { low, high: behindAt, until: untilKey };
  const floor = at && (await lastKey(level, { low, high: behindAt }, signal));
  return { low: floor ?? low, high: untilKey ?? high };
}

async function lastKey(
  level: CheckedLevel,
  { low, high }: Span,
  signal: AbortSignal,
): Promise<Buffer | undefined> {
  const bounds = { gte: low, lt: high, reverse: true, values: false };
  const iterator = new SteadyIterator(level, () => bounds, signal);
  try {
    return (await iterator.next(1))[0]?.[0];
  } finally {
    await iterator.close();
  }
}

class Fetcher {
  readonly #iterator: SteadyIterator;
  readonly #partition: PartitionKey;
  readonly #series: Uint8Array;
  readonly #span: Span;
  readonly #forward: boolean;
  /** A fetch ends when it has more bytes than this: the block that exceeds it still fits. */
  readonly #fullBytes: number;
  #count: number;
  #last: Buffer | undefined;
  #ended = false;

  constructor(
    level: CheckedLevel,
    partition: PartitionKey,
    series: Uint8Array,
    range: BlockRange,
    span: Span,
    signal: AbortSignal,
  ) {
    this.#iterator = new SteadyIterator(level, () => this.#bounds(), signal);
    this.#partition = partition;
    this.#series = series;
    this.#span = span;
    this.#forward = range.order === "OLDEST_FIRST";
    this.#fullBytes = Math.max(0, range.fetchBytesMax - range.blockBytesMax);
    this.#count = Math.max(1, Math.min(range.firstBlocks, FETCH_BLOCKS_MAX));
  }

  get ended(): boolean {
    return this.#ended;
  }

  async fetch(): Promise<readonly StoredBlock[]> {
    const entries = await this.#iterator.next(this.#count);
    const { until } = this.#span;
    const blocks: StoredBlock[] = [];
    let bytes = 0;
    for (const [key, value] of entries) {
      bytes += key.length + value.length;
      blocks.push(this.#vouch(key, value));
      if (until !== undefined && key.compare(until) <= 0) {
        this.#ended = true;
        return blocks;
      }
    }
    if (entries.length < this.#count && bytes <= this.#fullBytes) this.#ended = true;
    // A page that its first fetch did not fill needs a little more; a long read soon has full ones.
    this.#count = Math.min(2 * this.#count, FETCH_BLOCKS_MAX);
    return blocks;
  }

  close(): Promise<void> {
    return this.#iterator.close();
  }

  #vouch(key: Buffer, value: Buffer): StoredBlock {
    const { low, high } = this.#span;
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
    const { low, high } = this.#span;
    const last = this.#last;
    return {
      reverse: !this.#forward,
      highWaterMarkBytes: this.#fullBytes,
      ...(this.#forward && last !== undefined ? { gt: last } : { gte: low }),
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
