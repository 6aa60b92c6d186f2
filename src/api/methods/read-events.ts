/** ReadEventRecords, StreamEventRecords and ExplainRead: one request, three kinds of answer. */
import {
  ExplainedPartition_Route,
  ExplainReadResponseSchema,
  ReadEventRecordsRequest_Order,
  ReadEventRecordsRequestSchema,
  TimeSeriesService,
} from "../../gen/braid/v1/time_series_service_pb.js";
import type { ReadEventRecordsRequest } from "../../gen/braid/v1/time_series_service_pb.js";
import { utf8 } from "../../lib/bytes.ts";
import { Problems } from "../../lib/problems.ts";
import type { Order } from "../../ports/event-store.ts";
import type { ReadExplanation, ReadPage } from "../../read/read-page.ts";
import { checkQuery } from "../../read/read-query.ts";
import type { ReadQuery } from "../../read/read-query.ts";
import type { ReadLimits } from "../../read/read-limits.ts";
import { writeFramesJson } from "../../wire/event-json.ts";
import { JsonBytes } from "../../wire/json-bytes.ts";
import { varintLength, writeVarint } from "../../wire/varint.ts";
import { messageAnswer, messageFromBinary, messageFromJson } from "./method.ts";
import type { Answer, CopiedBytes, Method } from "./method.ts";
import { contextField, contextJson } from "./response-context.ts";
import { microsOfTime } from "./times.ts";

/** The interface of `EventReader`. */
export interface ReadMethods {
  readonly limits: ReadLimits;
  readPage(query: ReadQuery, signal: AbortSignal): Promise<ReadPage>;
  stream(query: ReadQuery, signal: AbortSignal): AsyncIterable<ReadPage>;
  explain(query: ReadQuery, signal: AbortSignal): Promise<ReadExplanation>;
}

/** Only filters can make it long. */
const REQUEST_BYTES_MAX = 2 * 1024 * 1024;
const REQUEST_VALUES_MAX = 1_000;

export function readMethods(reading: ReadMethods): Method[] {
  const { limits } = reading;
  const schema = ReadEventRecordsRequestSchema;
  const fromBinary = (bytes: Uint8Array, problems = new Problems()): ReadQuery =>
    queryOf(messageFromBinary(schema, bytes, REQUEST_VALUES_MAX, problems), limits, problems);
  const fromJson = (body: Buffer, problems = new Problems()): ReadQuery =>
    queryOf(messageFromJson(schema, body, REQUEST_VALUES_MAX, problems), limits, problems);

  const read = (query: ReadQuery) => ({
    namespace: query.namespace,
    run: async (signal: AbortSignal) => pageAnswer(await reading.readPage(query, signal)),
  });
  const stream = (query: ReadQuery) => ({
    namespace: query.namespace,
    run: (signal: AbortSignal) => pageAnswers(reading.stream(query, signal)),
  });
  const explain = (query: ReadQuery) => ({
    namespace: query.namespace,
    run: async (signal: AbortSignal) => explainAnswer(await reading.explain(query, signal)),
  });
  return [
    {
      kind: "unary",
      desc: TimeSeriesService.method.readEventRecords,
      changes: false,
      reads: true,
      requestBytesMax: REQUEST_BYTES_MAX,
      fromBinary: (bytes, _caller, problems) => read(fromBinary(bytes, problems)),
      fromJson: (body, _caller, problems) => read(fromJson(body, problems)),
    },
    {
      kind: "stream",
      desc: TimeSeriesService.method.streamEventRecords,
      changes: false,
      reads: true,
      requestBytesMax: REQUEST_BYTES_MAX,
      fromBinary: (bytes, _caller, problems) => stream(fromBinary(bytes, problems)),
      fromJson: (body, _caller, problems) => stream(fromJson(body, problems)),
    },
    {
      kind: "unary",
      desc: TimeSeriesService.method.explainRead,
      changes: false,
      reads: true,
      requestBytesMax: REQUEST_BYTES_MAX,
      fromBinary: (bytes, _caller, problems) => explain(fromBinary(bytes, problems)),
      fromJson: (body, _caller, problems) => explain(fromJson(body, problems)),
    },
  ];
}

function queryOf(
  request: ReadEventRecordsRequest,
  limits: ReadLimits,
  problems: Problems,
): ReadQuery {
  const { start: first, end: last } = request.timeInterval ?? {};
  for (const [time, field] of [
    [first, "timeInterval.start"],
    [last, "timeInterval.end"],
  ] as const) {
    if (time === undefined) problems.add(`${field} is missing`, field);
  }
  const start = microsOfTime(first, "timeInterval.start", problems);
  const end = microsOfTime(last, "timeInterval.end", problems);
  if (request.totalRecordLimit > BigInt(Number.MAX_SAFE_INTEGER)) {
    const field = "totalRecordLimit";
    problems.add(`${field} is too large; leave it out for no limit`, field);
  }
  const query: ReadQuery = {
    namespace: request.namespace,
    seriesId: request.timeSeriesId,
    start: start ?? 0,
    end: end ?? 0,
    filters: request.eventFilters.map((filter) => ({
      key: utf8(filter.matchEventItemKey),
      value: filter.matchEventItemValue,
    })),
    order: orderOf(request.order, problems),
    pageSize: request.pageSize,
    totalLimit: Number(request.totalRecordLimit),
    pageToken: request.pageToken,
    allowPartial: request.allowPartial,
  };
  checkQuery(query, limits, problems);
  problems.throwIfAny("REQUEST_INVALID");
  return query;
}

function orderOf(order: ReadEventRecordsRequest_Order, problems: Problems): Order {
  switch (order) {
    case ReadEventRecordsRequest_Order.OLDEST_FIRST:
      return "OLDEST_FIRST";
    case ReadEventRecordsRequest_Order.NEWEST_FIRST:
    case ReadEventRecordsRequest_Order.UNSPECIFIED:
      return "NEWEST_FIRST";
    // Any number can arrive over gRPC.
    default:
      problems.add(
        `order ${String(order)} is not known; use NEWEST_FIRST or OLDEST_FIRST`,
        "order",
      );
      return "NEWEST_FIRST";
  }
}

async function* pageAnswers(pages: AsyncIterable<ReadPage>): AsyncGenerator<Answer> {
  for await (const page of pages) yield pageAnswer(page);
}

function pageAnswer(page: ReadPage): Answer {
  return { binary: () => pageBinary(page), json: () => pageJson(page) };
}

/**
 * Encodes an answer: the frames are its records unchanged, and the other fields follow them.
 * Nothing is joined here: the sender copies each frame once, into what it sends.
 */
function pageBinary(page: ReadPage): CopiedBytes {
  const chunks = [...page.chunks, tokenField(page.nextPageToken), contextField(page.context)];
  return {
    byteLength: chunks.reduce((sum, chunk) => sum + chunk.length, 0),
    copy: (target, at) => {
      let to = at;
      for (const chunk of chunks) {
        target.set(chunk, to);
        to += chunk.length;
      }
    },
  };
}

/** Field 2 of an answer. A token is ASCII. */
function tokenField(token: string): Uint8Array {
  if (token === "") return NO_BYTES;
  const head = 1 + varintLength(token.length);
  const bytes = Buffer.allocUnsafe(head + token.length);
  bytes[0] = TAG_TOKEN;
  writeVarint(bytes, 1, token.length);
  bytes.write(token, head, "latin1");
  return bytes;
}

const TAG_TOKEN = 0x12;
const NO_BYTES = new Uint8Array(0);

function pageJson(page: ReadPage): Uint8Array {
  const frameBytes = page.chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  // Field names and base64 make JSON about twice as long; a wrong guess costs a copy.
  const target = new JsonBytes(512 + frameBytes * 2);
  target.ascii('{"records":[');
  writeFramesJson(target, page.chunks);
  // A token is base64url: nothing in it needs escaping.
  target.ascii(`],"nextPageToken":"${page.nextPageToken}","responseContext":[`);
  target.text(contextJson(page.context));
  target.ascii("]}");
  return target.written();
}

function explainAnswer({ slices, partitions, totals }: ReadExplanation): Answer {
  return messageAnswer(ExplainReadResponseSchema, {
    slices: slices.map((slice) => ({ ...slice })),
    partitions: partitions.map((partition) => ({
      ...partition,
      route: ExplainedPartition_Route[partition.route],
      bytes: BigInt(partition.bytes),
      events: BigInt(partition.events),
    })),
    totals: {
      ...totals,
      partitions: BigInt(totals.partitions),
      bytes: BigInt(totals.bytes),
      events: BigInt(totals.events),
      eventsReturned: BigInt(totals.eventsReturned),
    },
  });
}
