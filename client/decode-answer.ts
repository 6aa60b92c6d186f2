/**
 * Decodes the binary answers of reads and writes: pages, as views on their bytes, and what became of
 * a batch. Every value but an event is what the same answer has in JSON.
 *
 * An answer says last what it cost: one that does not is not the server's, or not all of it, and
 * would read as the end of an interval or as a batch without failures.
 */
import type { EventPage } from "./read-query.ts";
import { malformed, MessageReader } from "./message-reader.ts";
import type { EventFailure, ResponseContext, WriteSyncResult } from "./messages.ts";
import { receivedEvent } from "./received-event.ts";
import type { ReceivedEvent } from "./received-event.ts";

/** A `ReadEventRecordsResponse`. Its events are views on `bytes`. */
export function decodePage(bytes: Uint8Array): EventPage {
  const reader = new MessageReader(bytes);
  const events: ReceivedEvent[] = [];
  let nextPageToken = "";
  let context: ResponseContext | undefined;
  for (let tag = reader.next(); tag !== 0; tag = reader.next()) {
    if (tag === TAG_RECORDS) events.push(receivedEvent(bytes, reader.start, reader.end));
    else if (tag === TAG_NEXT_PAGE_TOKEN) nextPageToken = reader.text();
    else if (tag === TAG_CONTEXT) context ??= decodeContext(reader.message());
  }
  if (context === undefined) throw notWhole();
  return { events, nextPageToken, context };
}

/** The answer of either write; `accepted` is the same number as `written`. */
export function decodeWritten(
  bytes: Uint8Array,
): Pick<WriteSyncResult, "failures" | "responseContext"> & { readonly count: number } {
  const reader = new MessageReader(bytes);
  const failures: EventFailure[] = [];
  const responseContext: ResponseContext[] = [];
  let count = 0;
  for (let tag = reader.next(); tag !== 0; tag = reader.next()) {
    if (tag === TAG_COUNT) count = reader.value;
    else if (tag === TAG_FAILURES) failures.push(decodeFailure(reader.message()));
    else if (tag === TAG_CONTEXT) responseContext.push(decodeContext(reader.message()));
  }
  if (responseContext.length === 0) throw notWhole();
  return { count, failures, responseContext };
}

function notWhole(): Error {
  return malformed("it does not say what it cost, so it is not whole");
}

function decodeFailure(reader: MessageReader): EventFailure {
  let index = 0;
  let code = "";
  let message = "";
  for (let tag = reader.next(); tag !== 0; tag = reader.next()) {
    if (tag === 0x08) index = reader.value;
    else if (tag === 0x12) code = reader.text();
    else if (tag === 0x1a) message = reader.text();
  }
  return { index, code, message };
}

function decodeContext(reader: MessageReader): ResponseContext {
  let namespace = "";
  let timeTaken = "0s";
  let partitionsRead = 0;
  let splitPartitionsRead = 0;
  let bytesRead = 0;
  let partial = false;
  let partialReason = "";
  for (let tag = reader.next(); tag !== 0; tag = reader.next()) {
    if (tag === 0x0a) namespace = reader.text();
    else if (tag === 0x12) timeTaken = durationText(reader.message());
    else if (tag === 0x18) partitionsRead = reader.value;
    else if (tag === 0x20) splitPartitionsRead = reader.value;
    else if (tag === 0x28) bytesRead = reader.value;
    else if (tag === 0x30) partial = reader.value !== 0;
    else if (tag === 0x3a) partialReason = reader.text();
  }
  return {
    namespace,
    timeTaken,
    partitionsRead,
    splitPartitionsRead,
    bytesRead: String(bytesRead),
    partial,
    partialReason,
  };
}

/** As in JSON: seconds with 0, 3, 6 or 9 digits after the point. */
function durationText(reader: MessageReader): string {
  const { seconds, nanos } = decodeDuration(reader);
  if (nanos === 0) return `${seconds}s`;
  const sign = seconds < 0 || nanos < 0 ? "-" : "";
  const digits = String(Math.abs(nanos))
    .padStart(9, "0")
    .replace(/(?:000){1,2}$/, "");
  return `${sign}${Math.abs(seconds)}.${digits}s`;
}

export function decodeDuration(reader: MessageReader): { seconds: number; nanos: number } {
  let seconds = 0;
  let nanos = 0;
  for (let tag = reader.next(); tag !== 0; tag = reader.next()) {
    if (tag === 0x08) seconds = reader.value;
    else if (tag === 0x10) nanos = reader.value;
  }
  return { seconds, nanos };
}

const TAG_RECORDS = 0x0a;
const TAG_NEXT_PAGE_TOKEN = 0x12;
const TAG_CONTEXT = 0x1a;
const TAG_COUNT = 0x08;
const TAG_FAILURES = 0x12;
