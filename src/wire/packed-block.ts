/**
 * A block: many events of a split's part in one stored value, in the form of an answer.
 *
 * A head binds the block to its location. The frames of its events follow, newest first, so that a
 * whole block passes to a caller unparsed. One checksum covers all of it.
 * `docs/specs/packed-parts.md` specifies it byte by byte.
 */
import { hash } from "node:crypto";
import { crc32c } from "@node-rs/crc32";
import { assert } from "../lib/errors.ts";
import { comparePositions, TAG_FRAME } from "./frames.ts";
import type { Position } from "./frames.ts";
import { VarintReader } from "./varint.ts";

/**
 * The approximate size of a block's frames; a larger event has a block of its own. With its row it
 * fits into one of the 16 KiB chunks that Cassandra compresses (docs/decisions/0011).
 */
export const BLOCK_BYTES_TARGET = 12 * 1024;

const VERSION = 1;
const BINDING_BYTES = 8;
/** Offsets of the fields of fixed length. */
const AT_VERSION = 4;
const AT_BINDING = 5;
const AT_GENERATION = 13;
const AT_PART = 17;
const AT_SEQUENCE = 21;
const AT_COUNT = 25;
const AT_POSITIONS = 29;
/** Of a position: its time, and the length of its id. */
const POSITION_BYTES = 10;

const U16_END = 2 ** 16;
const U32_END = 2 ** 32;

/** What a block must state of itself to be the requested one. */
export interface BlockContext {
  /** Of the part: see `bindingOf`. */
  readonly binding: Uint8Array;
  readonly generation: number;
  /** The part's event bucket in the split table. */
  readonly part: number;
}

export interface BlockFields {
  /** Counts the blocks of a part from 0, the newest. */
  readonly sequence: number;
  /** The number of events. */
  readonly count: number;
  /** The positions of its newest event and of its oldest; the latter is its key in storage. */
  readonly first: Position;
  readonly last: Position;
  /** `last` of the block with the previous sequence number; undefined for sequence 0. */
  readonly before: Position | undefined;
}

export interface BlockHead extends BlockFields {
  /** The frames are `bytes[framesStart..framesEnd)`. */
  readonly framesStart: number;
  readonly framesEnd: number;
}

/** Where a part lies, as the store addresses it. */
interface PartLocation {
  readonly namespaceId: string;
  readonly slice: string;
  readonly seriesId: string;
  readonly timeBucket: number;
}

/** 64 bits of a part's location without its number, which a block holds in full. */
export function bindingOf({ namespaceId, slice, seriesId, timeBucket }: PartLocation): Uint8Array {
  // Only the series id, which comes last, can contain a zero byte.
  const text = [namespaceId, slice, timeBucket, seriesId].join("\0");
  return hash("sha256", text, "buffer").subarray(0, BINDING_BYTES);
}

/** `frames`: each holds one or more whole frames, newest first. */
export function encodeBlock(
  context: BlockContext,
  fields: BlockFields,
  frames: readonly Uint8Array[],
): Buffer {
  const { sequence, count, first, last, before } = fields;
  assert(
    (before === undefined) === (sequence === 0),
    "every block but the first has one before it",
  );
  let length = AT_POSITIONS + lengthOf(first) + lengthOf(last) + (before ? lengthOf(before) : 0);
  for (const chunk of frames) length += chunk.length;
  const block = Buffer.allocUnsafeSlow(length);
  block[AT_VERSION] = VERSION;
  block.set(context.binding, AT_BINDING);
  writeU32(block, AT_GENERATION, context.generation);
  writeU32(block, AT_PART, context.part);
  writeU32(block, AT_SEQUENCE, sequence);
  writeU32(block, AT_COUNT, count);
  let at = writePosition(block, AT_POSITIONS, first);
  at = writePosition(block, at, last);
  if (before !== undefined) at = writePosition(block, at, before);
  for (const chunk of frames) {
    block.set(chunk, at);
    at += chunk.length;
  }
  writeU32(block, 0, crc32c(block.subarray(AT_VERSION)));
  return block;
}

/**
 * The head of a block, or undefined if it is damaged or not of this context. The checksum vouches
 * for the frames, which are not parsed. `checked`: the store has compared every byte already.
 */
export function readBlock(
  context: BlockContext,
  bytes: Uint8Array,
  checked = false,
): BlockHead | undefined {
  if (bytes.length < AT_POSITIONS || bytes[AT_VERSION] !== VERSION) return undefined;
  if (readU32(bytes, AT_GENERATION) !== context.generation) return undefined;
  if (readU32(bytes, AT_PART) !== context.part) return undefined;
  for (let i = 0; i < BINDING_BYTES; i++) {
    if (bytes[AT_BINDING + i] !== context.binding[i]) return undefined;
  }
  if (!checked && readU32(bytes, 0) !== crc32c(bytes.subarray(AT_VERSION))) return undefined;
  const sequence = readU32(bytes, AT_SEQUENCE);
  const count = readU32(bytes, AT_COUNT);
  const first = readPosition(bytes, AT_POSITIONS);
  if (first === undefined) return undefined;
  let at = AT_POSITIONS + lengthOf(first);
  const last = readPosition(bytes, at);
  if (last === undefined) return undefined;
  at += lengthOf(last);
  const before = sequence === 0 ? undefined : readPosition(bytes, at);
  if (sequence > 0 && before === undefined) return undefined;
  if (before !== undefined) at += lengthOf(before);
  const ordered =
    comparePositions(last, first) <= 0 &&
    (before === undefined || comparePositions(first, before) < 0);
  if (!ordered || count === 0 || at >= bytes.length) return undefined;
  return { sequence, count, first, last, before, framesStart: at, framesEnd: bytes.length };
}

const varint = new VarintReader();

/** Where the frame at `at` ends, or -1 if no whole one is there. Does not parse its event. */
export function frameEnd(bytes: Uint8Array, at: number, end: number): number {
  if (bytes[at] !== TAG_FRAME) return -1;
  varint.position = at + 1;
  const length = varint.read(bytes, end);
  const behind = varint.position + length;
  return length < 0 || behind > end ? -1 : behind;
}

function lengthOf(position: Position): number {
  return POSITION_BYTES + position.id.length;
}

function writePosition(bytes: Uint8Array, at: number, { time, id }: Position): number {
  assert(id.length < U16_END, "the length of an event id takes two bytes");
  writeU32(bytes, at, Math.floor(time / U32_END));
  writeU32(bytes, at + 4, time % U32_END);
  bytes[at + 8] = id.length >>> 8;
  bytes[at + 9] = id.length;
  bytes.set(id, at + POSITION_BYTES);
  return at + POSITION_BYTES + id.length;
}

function readPosition(bytes: Uint8Array, at: number): Position | undefined {
  const idStart = at + POSITION_BYTES;
  if (idStart > bytes.length) return undefined;
  const time = readU32(bytes, at) * U32_END + readU32(bytes, at + 4);
  const idEnd = idStart + (((bytes[at + 8] as number) << 8) | (bytes[at + 9] as number));
  return idEnd > bytes.length ? undefined : { time, id: bytes.subarray(idStart, idEnd) };
}

function writeU32(bytes: Uint8Array, at: number, value: number): void {
  assert(value >= 0 && value < U32_END, "a number of a block takes four bytes");
  bytes[at] = value >>> 24;
  bytes[at + 1] = value >>> 16;
  bytes[at + 2] = value >>> 8;
  bytes[at + 3] = value;
}

function readU32(bytes: Uint8Array, at: number): number {
  const high = (bytes[at] as number) * 2 ** 24;
  return (
    high +
    (((bytes[at + 1] as number) << 16) |
      ((bytes[at + 2] as number) << 8) |
      (bytes[at + 3] as number))
  );
}
