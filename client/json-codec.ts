/**
 * Plain HTTP with proto3 JSON: for all control calls, for servers that do not speak Connect, and for
 * programs that ask for it. Streams are lines of JSON.
 *
 * Events that arrive as JSON become the same views as binary ones, on bytes that the client encodes.
 */
import { fromBase64, toBase64 } from "./base64.ts";
import { BraidError } from "./braid-error.ts";
import type { Codec } from "./codec.ts";
import { encodeEvent } from "./encode-request.ts";
import type { EventPage, ReadQuery } from "./read-query.ts";
import { entriesOf, timeText } from "./events.ts";
import type { NewEvent } from "./events.ts";
import type { ReadEventRecordsRequest } from "./generated/messages.ts";
import type { HttpAnswer } from "./http.ts";
import { joined } from "./http.ts";
import {
  asErrorBody,
  errorFromBody,
  isObject,
  parseJson,
  retryAfterOf,
  unknownError,
} from "./json-error.ts";
import type { EventRecordJson, ResponseContext, WriteResult, WriteSyncResult } from "./messages.ts";
import { readLines } from "./read-lines.ts";
import { receivedEvent } from "./received-event.ts";
import type { ReceivedEvent } from "./received-event.ts";
import { decodeText } from "./utf8.ts";

const HEADERS = { "content-type": "application/json" };

export const jsonCodec: Codec = {
  unaryHeaders: HEADERS,
  streamHeaders: HEADERS,
  timeoutHeader: "braid-timeout-ms",
  // A page has at most 3 MiB of events, and base64 and field names make that less than ten times
  // as much.
  bytesMax: 64 * 1024 * 1024,

  encodeWrite: (namespace, events) => JSON.stringify({ namespace, events: events.map(eventJson) }),
  encodeEvent: (event) => encoder.encode(JSON.stringify(eventJson(event))),
  joinWrite(namespace, events) {
    const parts = [encoder.encode(`{"namespace":${JSON.stringify(namespace)},"events":[`)];
    for (const [index, event] of events.entries()) {
      if (index > 0) parts.push(COMMA);
      parts.push(event as Uint8Array<ArrayBuffer>);
    }
    parts.push(TAIL);
    return joined(
      parts,
      parts.reduce((sum, { length }) => sum + length, 0),
    );
  },
  encodeRead,
  encodeStream: encodeRead,

  // The contract fixes the shape of an answer, so the client does not check it field by field.
  decodeWriteSync: (bytes) => answerJson(bytes) as WriteSyncResult,
  decodeWrite: (bytes) => answerJson(bytes) as WriteResult,
  decodePage: (bytes) => pageOf(answerJson(bytes)),
  streamedPages,

  checkAnswer: () => undefined,
  errorOf(answer, bytes) {
    const body = asErrorBody(parseJson(decodeText(bytes, 0, bytes.length)));
    const retryAfterMs = retryAfterOf(answer);
    return body === undefined
      ? unknownError(answer.status, retryAfterMs)
      : errorFromBody(body, answer.status, retryAfterMs);
  },
};

/** An answer, parsed. */
export function answerJson(bytes: Uint8Array): unknown {
  const parsed = parseJson(decodeText(bytes, 0, bytes.length));
  if (parsed !== undefined) return parsed;
  throw new BraidError("ANSWER_INVALID", "the answer is not JSON; is this a Braid server?", {
    outcome: "unknown",
  });
}

function encodeRead(namespace: string, query: ReadQuery, pageToken: string): string {
  return JSON.stringify({ ...readRequest(namespace, query), pageToken });
}

/** The request without its page token. */
export function readRequest(namespace: string, query: ReadQuery): ReadEventRecordsRequest {
  const filters = Object.entries(query.filters ?? {});
  return {
    namespace,
    timeSeriesId: query.timeSeriesId,
    timeInterval: { start: timeText(query.start), end: timeText(query.end) },
    eventFilters: filters.map(([key, value]) => ({
      matchEventItemKey: key,
      matchEventItemValue: toBase64(value),
    })),
    ...(query.order !== undefined && { order: query.order }),
    ...(query.pageSize !== undefined && { pageSize: query.pageSize }),
    ...(query.totalRecordLimit !== undefined && {
      totalRecordLimit: String(query.totalRecordLimit),
    }),
    ...(query.allowPartial !== undefined && { allowPartial: query.allowPartial }),
  };
}

function eventJson({ timeSeriesId, eventTime, eventId, items = {} }: NewEvent): EventRecordJson {
  const eventItems = entriesOf(items).map(([key, value]) => ({
    eventItemKey: key,
    eventItemValue: toBase64(value),
  }));
  return { timeSeriesId, eventTime: timeText(eventTime), eventId, eventItems };
}

async function* streamedPages(answer: HttpAnswer): AsyncGenerator<EventPage, void, undefined> {
  for await (const result of streamedResults(answer)) yield pageOf(result);
}

/** The messages of a stream, parsed. Throws the error at its end, if there is one. */
export async function* streamedResults(
  answer: HttpAnswer,
): AsyncGenerator<unknown, void, undefined> {
  for await (const line of readLines(answer.chunks(), jsonCodec.bytesMax)) {
    if (line?.length === 0) continue;
    if (line === undefined) throw invalid("a line of the stream is too long");
    const answered = parseJson(decodeText(line, 0, line.length));
    if (!isObject(answered)) throw invalid("a line of the stream is not an object of JSON");
    const error = asErrorBody(answered["error"]);
    if (error !== undefined) throw errorFromBody(error, undefined, undefined);
    yield answered["result"];
  }
}

function pageOf(answer: unknown): EventPage {
  if (!isObject(answer) || !Array.isArray(answer["records"])) {
    throw invalid("the answer has no records");
  }
  const { records, nextPageToken, responseContext } = answer;
  const contexts = (responseContext ?? []) as readonly ResponseContext[];
  return {
    events: (records as EventRecordJson[]).map(eventOf),
    nextPageToken: typeof nextPageToken === "string" ? nextPageToken : "",
    context: contexts[0],
  };
}

function eventOf({ timeSeriesId, eventTime, eventId, eventItems }: EventRecordJson): ReceivedEvent {
  try {
    const items = new Map(
      eventItems.map(({ eventItemKey, eventItemValue }) => [
        eventItemKey,
        fromBase64(eventItemValue),
      ]),
    );
    const bytes = encodeEvent({ timeSeriesId, eventTime, eventId, items });
    return receivedEvent(bytes, 0, bytes.length);
  } catch (cause) {
    throw new BraidError("ANSWER_INVALID", "the answer has an event that is not one", { cause });
  }
}

function invalid(message: string): BraidError {
  return new BraidError("ANSWER_INVALID", `${message}; is this a Braid server of this version?`);
}

const encoder = new TextEncoder();
const COMMA = encoder.encode(",");
const TAIL = encoder.encode("]}");
