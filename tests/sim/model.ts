/**
 * What was written, as the writers know it: acknowledged, or possibly stored. And what a read may
 * return.
 *
 * An event's bytes follow from its identity, so a read that returns it must return these bytes.
 */
import { compareBytes, utf8 } from "../../src/lib/bytes.ts";
import { encodeEvent } from "../../src/wire/event-record.ts";
import type { EventBytes } from "../../src/wire/event-record.ts";
import { frameLength, writeFrame } from "../../src/wire/frames.ts";

export interface SimEvent {
  readonly series: string;
  readonly time: number;
  readonly id: string;
  readonly padding: number;
}

export interface ReadAsked {
  readonly series: string;
  readonly start: number;
  readonly end: number;
  readonly newestFirst: boolean;
}

interface Known extends SimEvent {
  /** When it was acknowledged, in the order of everything; undefined: possibly stored. */
  acknowledged: number | undefined;
}

export class Model {
  readonly #events = new Map<string, Known>();
  #moment = 0;

  /** A time later than all earlier ones. */
  moment(): number {
    return ++this.#moment;
  }

  get size(): number {
    return this.#events.size;
  }

  get acknowledged(): number {
    let count = 0;
    for (const event of this.#events.values()) if (event.acknowledged !== undefined) count++;
    return count;
  }

  /** Before it is sent. */
  begin(event: SimEvent): void {
    const key = keyOf(event);
    if (!this.#events.has(key)) this.#events.set(key, { ...event, acknowledged: undefined });
  }

  acknowledge(event: SimEvent): void {
    const known = this.#events.get(keyOf(event));
    if (known !== undefined) known.acknowledged ??= this.moment();
  }

  /** The fault of an answer to a read that began at a moment; undefined if it has none. */
  problemOf(asked: ReadAsked, began: number, frames: readonly Uint8Array[]): string | undefined {
    const returned = new Set<string>();
    let before: SimEvent | undefined;
    for (const frame of frames) {
      const known = this.#byFrame(frame);
      if (known === undefined)
        return "an event that no writer has written, or with different bytes";
      const text = JSON.stringify([known.series, known.time, known.id]);
      if (known.series !== asked.series || known.time < asked.start || known.time >= asked.end) {
        return `${text} was not requested`;
      }
      if (before !== undefined) {
        const order = compareEvents(known, before) * (asked.newestFirst ? -1 : 1);
        if (order === 0) return `${text} came twice`;
        if (order < 0) return `${text} is out of order`;
      }
      before = known;
      returned.add(keyOf(known));
    }
    for (const [key, event] of this.#events) {
      if (event.series !== asked.series || event.time < asked.start || event.time >= asked.end)
        continue;
      if (event.acknowledged === undefined || event.acknowledged > began) continue;
      if (!returned.has(key)) return `${key} was acknowledged before the read and is missing`;
    }
    return undefined;
  }

  #byFrame(frame: Uint8Array): Known | undefined {
    return this.#byBytes.get(Buffer.from(frame).toString("latin1"));
  }

  readonly #byBytes = new Map<string, Known>();

  /** The bytes of an event, encoded once. */
  encode(event: SimEvent): EventBytes {
    this.begin(event);
    const encoded = encodeSimEvent(event);
    const frame = new Uint8Array(frameLength(encoded.end - encoded.start));
    writeFrame(frame, 0, encoded);
    const known = this.#events.get(keyOf(event));
    if (known !== undefined) this.#byBytes.set(Buffer.from(frame).toString("latin1"), known);
    return encoded;
  }
}

function encodeSimEvent({ series, time, id, padding }: SimEvent): EventBytes {
  const value = Buffer.alloc(padding, `${series}/${time}/${id};`);
  return encodeEvent(utf8(series), time, utf8(id), [{ key: utf8("p"), value }]);
}

function compareEvents(a: SimEvent, b: SimEvent): number {
  return a.time - b.time || compareBytes(utf8(a.id), utf8(b.id));
}

function keyOf({ series, time, id }: SimEvent): string {
  return JSON.stringify([series, time, id]);
}
