/**
 * Decodes events and blocks plainly, to check what the rest of the code has written.
 *
 * It shares nothing with the readers and writers of parts, so that one mistake cannot hide in both.
 * It follows `docs/specs/packed-parts.md`, and says what is wrong where they only say that
 * something is.
 */
import { createHash } from "node:crypto";
import { crc32c } from "@node-rs/crc32";
import type { PartitionKey } from "../../model/partition.ts";

/** An event as it lies in its frame. */
export interface PlainEvent {
  /** Microseconds. */
  readonly time: number;
  readonly id: Buffer;
  /** Its encoding, without the head of the frame. */
  readonly bytes: Buffer;
  /** With it: what counts as the event's size. */
  readonly frameBytes: number;
}

export interface PlainPosition {
  readonly time: number;
  readonly id: Buffer;
}

export interface PlainBlock {
  readonly sequence: number;
  /** Newest first. */
  readonly events: readonly PlainEvent[];
  readonly first: PlainPosition;
  readonly last: PlainPosition;
  readonly before: PlainPosition | undefined;
}

/** Bytes that are not what they should be: with what is wrong, for people. */
export class Damage extends Error {
  override readonly name = "Damage";
}

const VERSION = 1;
const HEAD_BYTES = 29;
const BINDING_BYTES = 8;
const LENGTH_DELIMITED = 2;
const VARINT = 0;

/** The frames of some events of a series, one after another. */
export function decodeFrames(chunk: Uint8Array, seriesId: string): PlainEvent[] {
  const bytes = bufferOf(chunk);
  const events: PlainEvent[] = [];
  for (const field of fieldsOf(bytes, "a frame")) {
    if (field.number !== 1 || field.body === undefined) throw new Damage("a frame is no event");
    events.push(decodeEvent(field.body, seriesId, field.size));
  }
  return events;
}

/** A block that was stored for a part under a copy's generation. */
export function decodeBlock(
  part: PartitionKey,
  generation: number,
  stored: Uint8Array,
): PlainBlock {
  const bytes = bufferOf(stored);
  if (bytes.length < HEAD_BYTES) throw new Damage(`a block has ${bytes.length} bytes only`);
  if (bytes.readUInt32BE(0) !== crc32c(bytes.subarray(4))) {
    throw new Damage("a block does not match its checksum");
  }
  const version = bytes.readUInt8(4);
  if (version !== VERSION) throw new Damage(`a block has version ${version}`);
  const binding = bytes.subarray(5, 5 + BINDING_BYTES);
  if (!binding.equals(bindingOf(part))) throw new Damage("a block belongs to another partition");
  checkNumber("generation", bytes.readUInt32BE(13), generation);
  checkNumber("part", bytes.readUInt32BE(17), part.eventBucket);
  const sequence = bytes.readUInt32BE(21);
  const count = bytes.readUInt32BE(25);
  const first = readPosition(bytes, HEAD_BYTES);
  const last = readPosition(bytes, first.end);
  const before = sequence === 0 ? undefined : readPosition(bytes, last.end);
  const framesAt = before?.end ?? last.end;
  const events = decodeFrames(bytes.subarray(framesAt), part.seriesId);
  if (events.length !== count) {
    throw new Damage(`block ${sequence} says ${count} events and has ${events.length}`);
  }
  checkEnd(sequence, "first", first, events.at(0));
  checkEnd(sequence, "last", last, events.at(-1));
  return { sequence, events, first, last, before };
}

/** By time, then by the bytes of the id. */
export function comparePlain(a: PlainPosition, b: PlainPosition): number {
  return a.time === b.time ? Buffer.compare(a.id, b.id) : a.time - b.time;
}

function decodeEvent(bytes: Buffer, seriesId: string, frameBytes: number): PlainEvent {
  let series: Buffer | undefined;
  let time: number | undefined;
  let id: Buffer | undefined;
  for (const { number, body } of fieldsOf(bytes, "an event")) {
    if (body === undefined) throw new Damage("an event has a field of an unknown kind");
    if (number === 1) series = body;
    if (number === 2) time = decodeTime(body);
    if (number === 3) id = body;
  }
  if (series === undefined || time === undefined || id === undefined) {
    throw new Damage("an event lacks its series, time or id");
  }
  if (series.toString("utf8") !== seriesId) throw new Damage("an event belongs to another series");
  return { time, id, bytes, frameBytes };
}

/** Seconds and nanoseconds, to microseconds. */
function decodeTime(bytes: Buffer): number {
  let [seconds, nanos] = [0, 0];
  for (const { number, value } of fieldsOf(bytes, "an event's time")) {
    if (number === 1) seconds = value;
    if (number === 2) nanos = value;
  }
  return seconds * 1_000_000 + nanos / 1_000;
}

interface Field {
  readonly number: number;
  /** Of a field with a length. */
  readonly body: Buffer | undefined;
  /** Of a field that is a number. */
  readonly value: number;
  /** With its tag. */
  readonly size: number;
}

function fieldsOf(bytes: Buffer, what: string): Field[] {
  const fields: Field[] = [];
  for (let at = 0; at < bytes.length;) {
    const tag = readVarint(bytes, at, what);
    const value = readVarint(bytes, tag.end, what);
    const number = Math.floor(tag.value / 8);
    const start = at;
    at = value.end;
    if (tag.value % 8 === VARINT) {
      fields.push({ number, body: undefined, value: value.value, size: at - start });
    } else if (tag.value % 8 === LENGTH_DELIMITED) {
      at += value.value;
      if (at > bytes.length) throw new Damage(`${what} is cut off`);
      const body = bytes.subarray(value.end, at);
      fields.push({ number, body, value: 0, size: at - start });
    } else {
      throw new Damage(`${what} has a field of an unknown kind`);
    }
  }
  return fields;
}

function readVarint(bytes: Buffer, start: number, what: string): { value: number; end: number } {
  let value = 0;
  for (let at = start; at < bytes.length && at < start + 8; at++) {
    const byte = bytes.readUInt8(at);
    value += (byte % 128) * 128 ** (at - start);
    if (byte < 128) return { value, end: at + 1 };
  }
  throw new Damage(`${what} is cut off, or has a number that is too large`);
}

function readPosition(bytes: Buffer, at: number): PlainPosition & { readonly end: number } {
  if (at + 10 > bytes.length) throw new Damage("a block's head is cut off");
  const time = Number(bytes.readBigUInt64BE(at));
  const end = at + 10 + bytes.readUInt16BE(at + 8);
  if (end > bytes.length) throw new Damage("a block's head is cut off");
  return { time, id: bytes.subarray(at + 10, end), end };
}

function bindingOf({ namespaceId, slice, timeBucket, seriesId }: PartitionKey): Buffer {
  const text = `${namespaceId}\0${slice}\0${timeBucket}\0${seriesId}`;
  return createHash("sha256").update(text, "utf8").digest().subarray(0, BINDING_BYTES);
}

function checkNumber(what: string, found: number, expected: number): void {
  if (found !== expected) throw new Damage(`a block has ${what} ${found} instead of ${expected}`);
}

function checkEnd(
  sequence: number,
  which: string,
  stated: PlainPosition,
  event: PlainEvent | undefined,
): void {
  if (event === undefined) throw new Damage(`block ${sequence} has no events`);
  if (comparePlain(stated, event) !== 0) {
    throw new Damage(`block ${sequence} does not begin or end where it says: its ${which} event`);
  }
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
