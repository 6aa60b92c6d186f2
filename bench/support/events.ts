/**
 * Events of a bench: 250 bytes each by default, with payloads that compress like real ones.
 */
import { utf8 } from "../../src/lib/bytes.ts";
import { encodeEvent } from "../../src/wire/event-record.ts";
import type { EventBytes } from "../../src/wire/event-record.ts";
import { formatTime } from "../../src/wire/time-text.ts";
import { varintLength, writeVarint } from "../../src/wire/varint.ts";
import type { RawEntry } from "./raw-engine.ts";

export interface BenchEvent {
  readonly series: string;
  readonly time: number;
  readonly id: string;
  readonly payload: Uint8Array;
}

const EVENT_BYTES = 250;

/** A small generator with a fixed seed: every run has the same events. */
let seed = 0x2545_f491;
export function nextRandom(): number {
  seed ^= seed << 13;
  seed ^= seed >>> 17;
  seed ^= seed << 5;
  return (seed >>> 0) / 0x1_0000_0000;
}

/** `bytes` are those of the whole event, and no fewer than its ids need. */
export function makeEvent(
  series: string,
  time: number,
  number: number,
  bytes = EVENT_BYTES,
): BenchEvent {
  const id = `e-${String(number).padStart(12, "0")}`;
  const payload = Buffer.allocUnsafe(payloadBytes(series, time, id, bytes));
  // Half random, half text: about what real events compress to.
  for (let i = 0; i < payload.length; i++) {
    payload[i] = i % 2 === 0 ? 97 + (i % 7) : Math.floor(nextRandom() * 256);
  }
  return { series, time, id, payload };
}

const KEY = utf8("payload");
/** By series: what everything but the payload takes. Times of one bench are of one length. */
const headBytes = new Map<string, number>();

function payloadBytes(series: string, time: number, id: string, bytes: number): number {
  const known = `${series} ${bytes}`;
  let head = headBytes.get(known);
  if (head === undefined) {
    // Encoded with a payload of about the length it will have, whose own length then takes as many
    // bytes.
    const value = new Uint8Array(Math.max(1, bytes - 50));
    const { end } = encodeEvent(utf8(series), time, utf8(id), [{ key: KEY, value }]);
    head = end - value.length;
    if (headBytes.size > 1_000) headBytes.clear();
    headBytes.set(known, head);
  }
  return Math.max(0, bytes - head);
}

export function encodeBenchEvent(event: BenchEvent): EventBytes {
  return encodeEvent(utf8(event.series), event.time, utf8(event.id), [
    { key: KEY, value: event.payload },
  ]);
}

/** Field 1 the namespace, field 2 each event: a write request. */
export function writeRequest(namespace: string, events: readonly BenchEvent[]): Uint8Array {
  const parts: Uint8Array[] = [Uint8Array.of(0x0a, namespace.length), utf8(namespace)];
  for (const event of events) {
    const { bytes } = encodeBenchEvent(event);
    const head = Buffer.allocUnsafe(1 + varintLength(bytes.length));
    head[0] = 0x12;
    writeVarint(head, 1, bytes.length);
    parts.push(head, bytes);
  }
  return Buffer.concat(parts);
}

export function writeJson(namespace: string, events: readonly BenchEvent[]): string {
  return JSON.stringify({
    namespace,
    events: events.map((event) => ({
      timeSeriesId: event.series,
      eventTime: formatTime(event.time),
      eventId: event.id,
      eventItems: [
        {
          eventItemKey: "payload",
          eventItemValue: Buffer.from(event.payload).toString("base64"),
        },
      ],
    })),
  });
}

/** Ordered by series, time and id, as a sensible direct use would order them. */
export function rawEntry(event: BenchEvent): RawEntry {
  return {
    type: "put",
    key: rawKey(event.series, event.time, event.id),
    value: encodeBenchEvent(event).bytes,
  };
}

export function rawKey(series: string, time: number, id: string): Uint8Array {
  const key = Buffer.alloc(series.length + 1 + 8 + id.length);
  key.write(series, 0);
  key[series.length] = 0xff;
  key.writeBigUInt64BE(BigInt(time), series.length + 1);
  key.write(id, series.length + 9);
  return key;
}
