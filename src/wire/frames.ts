/**
 * Events framed as an answer needs them, and runs of them.
 *
 * A frame is the tag and length of `ReadEventRecordsResponse.records` (field 1) followed by one
 * canonical event. Frames put one after another are a valid answer, so they pass from an engine to
 * a gRPC caller unparsed.
 */
import { compareBytes } from "../lib/bytes.ts";
import { assert } from "../lib/errors.ts";
import { locateAgain, newLocatedEvent } from "./event-record.ts";
import type { EventBytes, LocatedEvent } from "./event-record.ts";
import { VarintReader, varintLength, writeVarint } from "./varint.ts";

export const TAG_FRAME = 0x0a;

/** Where an event stands in the total order of a time series. */
export interface Position {
  /** Event time in microseconds. */
  readonly time: number;
  /** Event id as bytes, because ids are compared as bytes. */
  readonly id: Uint8Array;
}

export function comparePositions(a: Position, b: Position): number {
  return a.time - b.time || compareBytes(a.id, b.id);
}

/** Consecutive events of one partition, in the order of the scan. Never empty. */
export interface Run {
  /** Each holds one or more whole frames. */
  readonly chunks: readonly Uint8Array[];
  readonly count: number;
  /** Length of all frames: this is what counts as the size of these events, on every engine. */
  readonly bytes: number;
  readonly first: Position;
  readonly last: Position;
}

const reader = new VarintReader();

/**
 * Copies like Buffer, from any bytes: a view for `set` would cost one more object for each event.
 */
const copyBytes = Buffer.alloc(0).copy;

/** The frame's length for an event of this many canonical bytes. */
export function frameLength(eventLength: number): number {
  return 1 + varintLength(eventLength) + eventLength;
}

/** Writes an event's frame at `at` and returns the position behind it. */
export function writeFrame(target: Uint8Array, at: number, event: EventBytes): number {
  target[at] = TAG_FRAME;
  const body = writeVarint(target, at + 1, event.end - event.start);
  copyBytes.call(event.bytes, target, body, event.start, event.end);
  return body + (event.end - event.start);
}

/**
 * The event of the frame at `at`, or undefined if no whole canonical one is there. The next frame
 * begins at its `end`.
 */
export function eventOfFrame(bytes: Uint8Array, at: number): EventBytes | undefined {
  const event = newLocatedEvent();
  return locateFrame(event, bytes, at) ? event : undefined;
}

/** As `eventOfFrame`, into an event that is there already. */
export function locateFrame(event: LocatedEvent, bytes: Uint8Array, at: number): boolean {
  if (bytes[at] !== TAG_FRAME) return false;
  reader.position = at + 1;
  const length = reader.read(bytes, bytes.length);
  const start = reader.position;
  if (length < 0 || start + length > bytes.length) return false;
  return locateAgain(event, bytes, start, start + length);
}

/** Every event of a run, in order. */
export function* eventsOfRun(run: Pick<Run, "chunks">): Generator<EventBytes, void, undefined> {
  for (const chunk of run.chunks) {
    for (let at = 0; at < chunk.length;) {
      const event = eventOfFrame(chunk, at);
      assert(event !== undefined, "a run holds whole frames");
      yield event;
      at = event.end;
    }
  }
}

export function positionOf(event: EventBytes): Position {
  return { time: event.time, id: event.bytes.subarray(event.idStart, event.idEnd) };
}
