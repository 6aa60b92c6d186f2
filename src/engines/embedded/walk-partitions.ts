/**
 * Walks the partitions of a slice's store in the order of its keys: by series, time bucket and
 * event bucket. It passes over counted partitions entry by entry and seeks behind the others.
 *
 * A position is the key prefix of the last partition walked.
 */
import { fromUtf8, isUtf8Range } from "../../lib/bytes.ts";
import type { Clock } from "../../lib/clock.ts";
import { ServiceError } from "../../lib/errors.ts";
import { estimateSize } from "../../model/estimate-size.ts";
import type {
  PartitionInSlice,
  WalkedPartition,
  WalkedSize,
  WalkPage,
  WalkRequest,
} from "../../ports/partition-walk.ts";
import type { EventBytes } from "../../wire/event-record.ts";
import type { CheckedLevel } from "./checked-level.ts";
import { CHECKSUM_BYTES, partitionPrefixOf, readValue, partitionSeed } from "./key-codec.ts";
import type { LevelIteratorOptions } from "./level.ts";
import { SteadyIterator } from "./steady-iterator.ts";

/** The store's own keys begin here. */
const EVENTS_END = Buffer.of(0xff);
/** Behind every time of a partition: times begin with smaller bytes. */
const BEHIND_PARTITION = Buffer.of(0xff);
const FETCH_ENTRIES = 512;
const FETCH_BYTES_MAX = 256 << 10;

export async function walkPartitions(
  level: CheckedLevel,
  clock: Clock,
  walk: WalkRequest,
  signal: AbortSignal,
): Promise<WalkPage> {
  signal.throwIfAborted();
  const untilMs = clock.monotonicMs() + walk.msMax;
  await using entries = new Entries(level, signal, behindPosition(walk.after));
  const partitions: WalkedPartition[] = [];
  let bytesRead = 0;
  for (;;) {
    const first = await entries.peek();
    if (first === undefined) return { partitions, next: undefined, idsTogether: true, bytesRead };
    const { prefix, partition } = partitionOf(first.key);
    const wanted = walk.counts(partition);
    const { size, bytes } = wanted
      ? await countPartition(level, entries, prefix, partition, walk.countBytesMax, signal)
      : { size: NOT_COUNTED, bytes: 0 };
    await entries.skip(behind(prefix));
    partitions.push({ ...partition, size });
    bytesRead += bytes;
    const full = partitions.length >= walk.partitionsMax || bytesRead > walk.bytesMax;
    if (full || clock.monotonicMs() >= untilMs) {
      return { partitions, next: prefix.toString("base64url"), idsTogether: true, bytesRead };
    }
  }
}

const NOT_COUNTED: WalkedSize = { kind: "not counted" };
const DAMAGED: WalkedSize = { kind: "damaged" };

/** From the entry that `entries` is at; leaves it behind the last entry counted. */
async function countPartition(
  level: CheckedLevel,
  entries: Entries,
  prefix: Buffer,
  { timeBucket, eventBucket }: PartitionInSlice,
  countBytesMax: number,
  signal: AbortSignal,
): Promise<{ readonly size: WalkedSize; readonly bytes: number }> {
  const seed = partitionSeed(timeBucket, eventBucket);
  const count = { bytes: 0, events: 0, from: 0, to: 0 };
  for (;;) {
    const entry = await entries.peek();
    if (entry === undefined || !startsWith(entry.key, prefix)) {
      const { bytes, events } = count;
      return { size: { kind: "counted", bytes, events, exact: true }, bytes };
    }
    if (count.bytes > countBytesMax) {
      const last = await lastEntry(level, prefix, signal);
      const time = last && readValue(last.value, frameIn(last.value), seed)?.time;
      if (time === undefined) return { size: DAMAGED, bytes: count.bytes };
      const size = { kind: "counted", ...estimateSize(count, time), exact: false } as const;
      return { size, bytes: count.bytes };
    }
    const frame = frameIn(entry.value);
    const event = readValue(entry.value, frame, seed);
    if (event === undefined || !isOfSeries(event, prefix)) {
      return { size: DAMAGED, bytes: count.bytes };
    }
    if (count.events === 0) count.from = event.time;
    count.to = event.time;
    count.events++;
    count.bytes += frame.length;
    entries.pass();
  }
}

async function lastEntry(
  level: CheckedLevel,
  prefix: Buffer,
  signal: AbortSignal,
): Promise<Entry | undefined> {
  const bounds = { gte: prefix, lt: behind(prefix), reverse: true };
  const iterator = new SteadyIterator(level, () => bounds, signal);
  try {
    const [last] = await iterator.next(1);
    return last && { key: last[0], value: last[1] };
  } finally {
    await iterator.close();
  }
}

interface Entry {
  readonly key: Buffer;
  readonly value: Buffer;
}

/** The entries of events in the order of their keys, fetched a few at a time. */
class Entries {
  readonly #level: CheckedLevel;
  readonly #signal: AbortSignal;
  #iterator: SteadyIterator;
  /** The first key that is still wanted. */
  #from: Buffer;
  #fetched: [Buffer, Buffer][] = [];
  #at = 0;
  #ended = false;

  constructor(level: CheckedLevel, signal: AbortSignal, from: Buffer) {
    this.#level = level;
    this.#signal = signal;
    this.#from = from;
    this.#iterator = this.#newIterator();
  }

  /** The next entry; undefined at the end. */
  async peek(): Promise<Entry | undefined> {
    if (this.#at === this.#fetched.length && !this.#ended) {
      this.#fetched = await this.#iterator.next(FETCH_ENTRIES);
      this.#at = 0;
      this.#ended = this.#fetched.length === 0;
      const last = this.#fetched.at(-1);
      // The least key after another is that key and a zero byte.
      if (last !== undefined) this.#from = Buffer.concat([last[0], Buffer.of(0)]);
    }
    const entry = this.#fetched[this.#at];
    return entry && { key: entry[0], value: entry[1] };
  }

  pass(): void {
    this.#at++;
  }

  /** To the first entry at or behind the key: within what was fetched, or by a seek. */
  async skip(key: Buffer): Promise<void> {
    for (; this.#at < this.#fetched.length; this.#at++) {
      // The loop ends before the end of the array.
      if ((this.#fetched[this.#at] as [Buffer, Buffer])[0].compare(key) >= 0) return;
    }
    this.#fetched = [];
    this.#at = 0;
    if (this.#ended || this.#from.compare(key) >= 0) return;
    this.#from = key;
    await this.#iterator.close();
    this.#iterator = this.#newIterator();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#iterator.close();
  }

  #newIterator(): SteadyIterator {
    return new SteadyIterator(this.#level, () => this.#bounds(), this.#signal);
  }

  #bounds(): LevelIteratorOptions {
    // A walk must not push what readers use out of the cache.
    const fill = { fillCache: false, highWaterMarkBytes: FETCH_BYTES_MAX };
    return { gte: this.#from, lt: EVENTS_END, ...fill };
  }
}

/** The prefix begins with the series, and its separator and buckets follow. */
function isOfSeries(event: EventBytes, prefix: Buffer): boolean {
  const length = prefix.length - 9;
  if (event.seriesEnd - event.seriesStart !== length) return false;
  for (let i = 0; i < length; i++) {
    if (event.bytes[event.seriesStart + i] !== prefix[i]) return false;
  }
  return true;
}

function frameIn(value: Buffer): Buffer {
  return value.subarray(CHECKSUM_BYTES);
}

function startsWith(key: Buffer, prefix: Buffer): boolean {
  if (key.length < prefix.length) return false;
  for (let i = 0; i < prefix.length; i++) if (key[i] !== prefix[i]) return false;
  return true;
}

function behind(prefix: Buffer): Buffer {
  return Buffer.concat([prefix, BEHIND_PARTITION]);
}

function behindPosition(after: string | undefined): Buffer {
  return after === undefined ? Buffer.alloc(0) : behind(Buffer.from(after, "base64url"));
}

function partitionOf(key: Buffer): { prefix: Buffer; partition: PartitionInSlice } {
  const prefix = partitionPrefixOf(key);
  if (prefix === undefined || !isUtf8Range(prefix, 0, prefix.length - 9)) {
    throw new ServiceError("DATA_LOSS", "a key of the slice is damaged");
  }
  const at = prefix.length - 8;
  const seriesId = fromUtf8(prefix.subarray(0, at - 1));
  const timeBucket = prefix.readUInt32BE(at);
  return { prefix, partition: { seriesId, timeBucket, eventBucket: prefix.readUInt32BE(at + 4) } };
}
