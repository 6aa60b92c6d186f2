/**
 * The format of an event, or a block of events, in a slice's store.
 *
 * Key: series id, 0xFF (which no UTF-8 has, so no series is a prefix of another's keys), time
 * bucket and event bucket (u32), event time (u64), event id; numbers big-endian, so that bytes sort
 * as events do. Value: a checksum (u32) and the event's frame in the format of a response. The
 * checksum covers the frame, which repeats series, time and id, and by its seed the buckets: so it
 * covers the whole key.
 *
 * A block has the key of its oldest event. This file does not read the content of a block, so the
 * block's checksum covers the whole key too. Blocks are large enough to be worth a call into native
 * code.
 */
import { crc32c } from "@node-rs/crc32";
import { hash32 } from "../../lib/hash.ts";
import type { PartitionKey } from "../../model/partition.ts";
import type { PlacedEvent, StoredBlock } from "../../ports/event-store.ts";
import { frameLength, locateFrame, writeFrame } from "../../wire/frames.ts";
import type { Position } from "../../wire/frames.ts";
import { newLocatedEvent } from "../../wire/event-record.ts";
import type { EventBytes, LocatedEvent } from "../../wire/event-record.ts";
import type { LevelBatch } from "./level.ts";

const SEPARATOR = 0xff;
/** Separator, two buckets and the time. */
const FIXED_BYTES = 1 + 4 + 4 + 8;
export const CHECKSUM_BYTES = 4;
const TWO_32 = 0x1_0000_0000;
/** Longer than any key. Few values are longer, and a view costs little beside them. */
const VIEWS_UP_TO = 4096;

/**
 * Buffers to build keys and values in. The batch copies its input, so one buffer of each serves
 * every event. Views of them are cached by length: this code runs for each event, and similar
 * events have only a few sizes.
 */
const keyScratch = Buffer.allocUnsafeSlow(VIEWS_UP_TO);
const valueScratch = Buffer.allocUnsafeSlow(VIEWS_UP_TO);
const keyViews: Buffer[] = [];
const valueViews: Buffer[] = [];
const frameViews: Buffer[] = [];

/** Puts one event into a batch and returns the bytes of its key and value. */
export function putEvent(batch: LevelBatch, placed: PlacedEvent): number {
  const { event, timeBucket, eventBucket } = placed;
  const seriesLength = event.seriesEnd - event.seriesStart;
  copy(keyScratch, 0, event.bytes, event.seriesStart, event.seriesEnd);
  const idAt = writeFixed(keyScratch, seriesLength, timeBucket, eventBucket, event.time);
  copy(keyScratch, idAt, event.bytes, event.idStart, event.idEnd);
  const keyLength = idAt + event.idEnd - event.idStart;
  const key = (keyViews[keyLength] ??= keyScratch.subarray(0, keyLength));

  const length = CHECKSUM_BYTES + frameLength(event.end - event.start);
  const { value, frame } = valueOf(length);
  writeFrame(value, CHECKSUM_BYTES, event);
  writeU32(value, 0, hash32(frame, partitionSeed(timeBucket, eventBucket)));
  batch.put(key, value);
  return keyLength + length;
}

function valueOf(length: number): { value: Buffer; frame: Buffer } {
  if (length > VIEWS_UP_TO) {
    const value = Buffer.allocUnsafeSlow(length);
    return { value, frame: value.subarray(CHECKSUM_BYTES) };
  }
  const value = (valueViews[length] ??= valueScratch.subarray(0, length));
  const frame = (frameViews[length] ??= valueScratch.subarray(CHECKSUM_BYTES, length));
  return { value, frame };
}

/**
 * The key of a place in a partition: an event's, or without an id the place before all events of
 * that time.
 */
export function placeKey(
  series: Uint8Array,
  partition: Pick<PartitionKey, "timeBucket" | "eventBucket">,
  time: number,
  id: Uint8Array | undefined,
): Buffer {
  const key = Buffer.allocUnsafe(series.length + FIXED_BYTES + (id?.length ?? 0));
  key.set(series, 0);
  const idAt = writeFixed(key, series.length, partition.timeBucket, partition.eventBucket, time);
  if (id !== undefined) key.set(id, idAt);
  return key;
}

export function partitionSeed(timeBucket: number, eventBucket: number): number {
  return (Math.imul(timeBucket, 0x9e3779b1) ^ Math.imul(eventBucket, 0x85ebca77)) >>> 0;
}

/**
 * The event of a stored value, or undefined if the value was not stored in a partition with this
 * seed. `frame` is the value without its checksum.
 */
export function readValue(
  value: Uint8Array,
  frame: Uint8Array,
  seed: number,
): EventBytes | undefined {
  const event = newLocatedEvent();
  return readValueAgain(event, value, frame, seed) ? event : undefined;
}

/** As `readValue`, into an event that is there already. */
export function readValueAgain(
  event: LocatedEvent,
  value: Uint8Array,
  frame: Uint8Array,
  seed: number,
): boolean {
  if (value.length <= CHECKSUM_BYTES || readU32(value, 0) !== hash32(frame, seed)) return false;
  return locateFrame(event, frame, 0) && event.end === frame.length;
}

/** Puts one block into a batch and returns the bytes of its key and value. */
export function putBlock(
  batch: LevelBatch,
  series: Uint8Array,
  partition: PartitionKey,
  block: StoredBlock,
): number {
  const key = placeKey(series, partition, block.key.time, block.key.id);
  const value = Buffer.allocUnsafeSlow(CHECKSUM_BYTES + block.bytes.length);
  value.set(block.bytes, CHECKSUM_BYTES);
  writeU32(value, 0, crc32c(block.bytes, crc32c(key)));
  batch.put(key, value);
  return key.length + value.length;
}

/** The block's bytes, as a view, or undefined if the value was not stored under the key. */
export function readBlockValue(key: Uint8Array, value: Buffer): Buffer | undefined {
  if (value.length < CHECKSUM_BYTES) return undefined;
  const bytes = value.subarray(CHECKSUM_BYTES);
  return readU32(value, 0) === crc32c(bytes, crc32c(key)) ? bytes : undefined;
}

/** The partition that a key of the series encodes. */
export function partitionOfKey(
  key: Buffer,
  series: Uint8Array,
): Pick<PartitionKey, "timeBucket" | "eventBucket"> {
  const at = series.length + 1;
  return { timeBucket: readU32(key, at), eventBucket: readU32(key, at + 4) };
}

/** The position that a key of the series encodes; its id is a view. */
export function positionOfKey(key: Buffer, series: Uint8Array): Position {
  const timeAt = series.length + FIXED_BYTES - 8;
  const time = readU32(key, timeAt) * TWO_32 + readU32(key, timeAt + 4);
  return { time, id: key.subarray(timeAt + 8) };
}

/**
 * The part of a key that all events of its partition share: series and buckets. A view; undefined
 * if the key is not an event's.
 */
export function partitionPrefixOf(key: Buffer): Buffer | undefined {
  const separator = key.indexOf(SEPARATOR);
  if (separator < 1 || key.length < separator + FIXED_BYTES) return undefined;
  return key.subarray(0, separator + 1 + 4 + 4);
}

function writeFixed(
  target: Uint8Array,
  at: number,
  timeBucket: number,
  eventBucket: number,
  time: number,
): number {
  target[at] = SEPARATOR;
  writeU32(target, at + 1, timeBucket);
  writeU32(target, at + 5, eventBucket);
  writeU32(target, at + 9, Math.floor(time / TWO_32));
  writeU32(target, at + 13, time % TWO_32);
  return at + FIXED_BYTES;
}

function copy(target: Uint8Array, at: number, from: Uint8Array, start: number, end: number): void {
  // Ids are short: a loop is faster than a call with a new view.
  for (let i = start, to = at; i < end; i++, to++) target[to] = from[i] as number;
}

function writeU32(target: Uint8Array, at: number, value: number): void {
  target[at] = value >>> 24;
  target[at + 1] = value >>> 16;
  target[at + 2] = value >>> 8;
  target[at + 3] = value;
}

function readU32(bytes: Uint8Array, at: number): number {
  return (
    (((bytes[at] as number) << 24) |
      ((bytes[at + 1] as number) << 16) |
      ((bytes[at + 2] as number) << 8) |
      (bytes[at + 3] as number)) >>>
    0
  );
}
