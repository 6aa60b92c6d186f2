/**
 * Assembles events of one time series from their stored parts, as the frames of an answer.
 *
 * For storage that keeps time, id and items apart. It copies the items unchanged and writes the
 * canonical encoding around them, so the frames are byte for byte those of the event that was
 * written.
 */
import { assert } from "../lib/errors.ts";
import { TAG_ID, TAG_SERIES, timeFieldLength, writeTimeField } from "./event-record.ts";
import { TAG_FRAME } from "./frames.ts";
import type { Position, Run } from "./frames.ts";
import { varintLength, writeVarint } from "./varint.ts";

interface Parts {
  readonly time: number;
  readonly id: string;
  readonly items: Buffer;
  /** Of the event, without the head of its frame. */
  readonly length: number;
}

export class EventFrames {
  /** The first field, the same for all events. */
  readonly #series: Buffer;
  #events: Parts[] = [];
  #bytes = 0;
  /** Length of the event last passed to `fits`. */
  #asked = 0;

  constructor(series: Uint8Array) {
    this.#series = Buffer.allocUnsafe(1 + varintLength(series.length) + series.length);
    this.#series[0] = TAG_SERIES;
    this.#series.set(series, writeVarint(this.#series, 1, series.length));
  }

  get count(): number {
    return this.#events.length;
  }

  /** Whether the run stays within the limit with this event; the first event always fits. */
  fits(time: number, id: string, items: Buffer, bytesMax: number): boolean {
    this.#asked = this.#lengthOf(time, id, items);
    return this.#events.length === 0 || this.#bytes + framed(this.#asked) <= bytesMax;
  }

  /** Adds the event last passed to `fits`. */
  add(time: number, id: string, items: Buffer): void {
    this.#events.push({ time, id, items, length: this.#asked });
    this.#bytes += framed(this.#asked);
  }

  /**
   * The events added since the last call, as one chunk of their own. There must be at least one.
   */
  take(): Run {
    const events = this.#events;
    const bytes = Buffer.allocUnsafeSlow(this.#bytes);
    const [firstParts, lastParts] = [events.at(0), events.at(-1)];
    let at = 0;
    let first: Position | undefined;
    let last: Position | undefined;
    for (const parts of events) {
      const idEnd = this.#writeHead(bytes, at, parts);
      if (parts === firstParts) first = positionAt(bytes, idEnd, parts);
      if (parts === lastParts) last = positionAt(bytes, idEnd, parts);
      at = idEnd + parts.items.copy(bytes, idEnd);
    }
    assert(first !== undefined && last !== undefined, "a run has events");
    assert(at === bytes.length, "frames fill their run");
    this.#events = [];
    this.#bytes = 0;
    return { chunks: [bytes], count: events.length, bytes: at, first, last };
  }

  #writeHead(bytes: Buffer, start: number, { time, id, length }: Parts): number {
    bytes[start] = TAG_FRAME;
    let at = writeVarint(bytes, start + 1, length);
    at += this.#series.copy(bytes, at);
    at = writeTimeField(bytes, at, time);
    bytes[at++] = TAG_ID;
    at = writeVarint(bytes, at, Buffer.byteLength(id));
    return at + bytes.write(id, at);
  }

  #lengthOf(time: number, id: string, items: Buffer): number {
    const idLength = Buffer.byteLength(id);
    return (
      this.#series.length +
      timeFieldLength(time) +
      1 +
      varintLength(idLength) +
      idLength +
      items.length
    );
  }
}

function positionAt(bytes: Buffer, idEnd: number, { time, id }: Parts): Position {
  return { time, id: bytes.subarray(idEnd - Buffer.byteLength(id), idEnd) };
}

function framed(length: number): number {
  return 1 + varintLength(length) + length;
}
