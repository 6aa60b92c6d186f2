/**
 * Prints stored frames as proto3 JSON: bytes ready for the socket, without an object for each
 * event.
 */
import { assert } from "../lib/errors.ts";
import type { EventBytes } from "./event-record.ts";
import { eventOfFrame } from "./frames.ts";
import type { JsonBytes } from "./json-bytes.ts";
import { formatTime } from "./time-text.ts";
import { VarintReader } from "./varint.ts";

/** Writes the events of whole frames as JSON objects with commas between them. */
export function writeFramesJson(target: JsonBytes, chunks: readonly Uint8Array[]): void {
  // Neighbours usually share their series and their minute: each is converted once and copied.
  let before: EventBytes | undefined;
  let head = "";
  let minute = -1;
  let minuteText = "";
  for (const chunk of chunks) {
    for (let at = 0; at < chunk.length;) {
      const event = eventOfFrame(chunk, at);
      assert(event !== undefined, "a page holds whole frames");
      at = event.end;
      if (before !== undefined) target.ascii(",");
      if (before === undefined || !sameSeries(before, event)) head = headOf(event);
      before = event;
      target.text(head);
      const eventMinute = Math.floor(event.time / MINUTE_MICROS);
      if (eventMinute !== minute) {
        minute = eventMinute;
        minuteText = formatTime(minute * MINUTE_MICROS).slice(0, -3);
      }
      target.ascii(minuteText);
      writeSeconds(target, event.time - minute * MINUTE_MICROS);
      target.ascii('Z","eventId":"');
      target.escaped(event.bytes, event.idStart, event.idEnd);
      target.ascii('","eventItems":[');
      writeItems(target, event);
      target.ascii("]}");
    }
  }
}

const MINUTE_MICROS = 60_000_000;

function headOf(event: EventBytes): string {
  const series = Buffer.from(event.bytes.subarray(event.seriesStart, event.seriesEnd)).toString();
  return `{"timeSeriesId":${JSON.stringify(series)},"eventTime":"`;
}

/** The seconds of a minute, with a fraction of three digits where they are enough, else six. */
function writeSeconds(target: JsonBytes, micros: number): void {
  const seconds = Math.floor(micros / 1_000_000);
  const rest = micros - seconds * 1_000_000;
  target.digits(seconds, 2);
  if (rest === 0) return;
  target.ascii(".");
  if (rest % 1000 === 0) target.digits(rest / 1000, 3);
  else target.digits(rest, 6);
}

const items = new VarintReader();

/**
 * The items of a canonical event. Walked here, because views of each key and value would be most of
 * the cost.
 */
function writeItems(target: JsonBytes, { bytes, itemsStart, end }: EventBytes): void {
  for (let at = itemsStart; at < end;) {
    items.position = at + 1;
    const length = items.read(bytes, end);
    const itemStart = items.position;
    const itemEnd = itemStart + length;
    items.position = itemStart + 1;
    const keyLength = items.read(bytes, itemEnd);
    const keyStart = items.position;
    const keyEnd = keyStart + keyLength;
    target.ascii(at === itemsStart ? '{"eventItemKey":"' : ',{"eventItemKey":"');
    target.escaped(bytes, keyStart, keyEnd);
    target.ascii('","eventItemValue":"');
    if (keyEnd < itemEnd) {
      items.position = keyEnd + 1;
      items.read(bytes, itemEnd);
      target.base64(bytes, items.position, itemEnd);
    }
    target.ascii('"}');
    at = itemEnd;
  }
}

function sameSeries(a: EventBytes, b: EventBytes): boolean {
  const length = a.seriesEnd - a.seriesStart;
  if (length !== b.seriesEnd - b.seriesStart) return false;
  for (let i = 0; i < length; i++) {
    if (a.bytes[a.seriesStart + i] !== b.bytes[b.seriesStart + i]) return false;
  }
  return true;
}
