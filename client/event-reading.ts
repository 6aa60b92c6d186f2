/**
 * A read as a program sees it: events one by one, or page by page with the cost of each page and
 * the token that continues after it.
 *
 * A page is fetched when the loop asks for it, and leaving the loop cancels the request. If the
 * connection fails, the client fetches the page again by its token, so that no event comes twice
 * and none is left out. CONFLICT ends a read: its earlier pages may lack events, so the caller
 * starts it again.
 */
import { BraidError } from "./braid-error.ts";
import { CallSignal } from "./call-signal.ts";
import { toBase64 } from "./base64.ts";
import { ReceivedEvent, timeText } from "./events.ts";
import type { ItemValue } from "./events.ts";
import type { ReadEventRecordsRequest } from "./generated/messages.ts";
import type { EventRecordJson, ResponseContext } from "./messages.ts";
import { readLines } from "./read-lines.ts";
import { asErrorBody, errorFromBody, isObject } from "./transport.ts";
import type { CallOptions, Method, Transport } from "./transport.ts";

export interface ReadQuery extends CallOptions {
  readonly timeSeriesId: string;
  /** The interval includes it. */
  readonly start: Date | string;
  /** The interval excludes it. */
  readonly end: Date | string;
  /** Items an event must have, with exactly these values. */
  readonly filters?: Readonly<Record<string, ItemValue>>;
  readonly order?: "NEWEST_FIRST" | "OLDEST_FIRST";
  readonly pageSize?: number;
  /** Events of all pages together. */
  readonly totalRecordLimit?: number;
  readonly allowPartial?: boolean;
  /** Continues after a page of the same query. */
  readonly pageToken?: string;
}

export interface EventPage {
  readonly events: readonly ReceivedEvent[];
  /** Continues after this page, also in another process; empty at the end. */
  readonly nextPageToken: string;
  /** What the page cost and whether it is partial. */
  readonly context: ResponseContext | undefined;
}

export class EventReading implements AsyncIterable<ReceivedEvent> {
  readonly #open: () => AsyncGenerator<EventPage, void, undefined>;

  constructor(open: () => AsyncGenerator<EventPage, void, undefined>) {
    this.#open = open;
  }

  /** From the beginning of the query (or its `pageToken`), each time it is called. */
  pages(): AsyncGenerator<EventPage, void, undefined> {
    return this.#open();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ReceivedEvent, void, undefined> {
    for await (const page of this.#open()) {
      // Not `yield*`, which takes nearly twice as long for each event.
      for (const event of page.events) yield event;
    }
  }
}

/** The request's JSON without its page token. */
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

/** Sends a request for each page. */
export async function* readPages(
  transport: Transport,
  namespace: string,
  query: ReadQuery,
): AsyncGenerator<EventPage, void, undefined> {
  const request = readRequest(namespace, query);
  let pageToken = query.pageToken ?? "";
  do {
    const body = JSON.stringify({ ...request, pageToken });
    const page = parsePage(await transport.call(READ, body, query));
    yield page;
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
}

/** Sends one request for all pages, and another from the last token if the connection breaks. */
export async function* streamPages(
  transport: Transport,
  namespace: string,
  query: ReadQuery,
): AsyncGenerator<EventPage, void, undefined> {
  const request = readRequest(namespace, query);
  let pageToken = query.pageToken ?? "";
  for (let attempt = 1; ; attempt++) {
    const scope = new CallSignal(transport.timing, query.signal);
    try {
      scope.arm(transport.deadlineMs(query));
      const body = JSON.stringify({ ...request, pageToken });
      const response = await transport.open(STREAM, body, scope);
      for await (const line of readLines(chunksOf(response), LINE_BYTES_MAX)) {
        if (line?.length === 0) continue;
        const page = parseLine(line);
        // The deadline does not run while the caller works on a page.
        scope.disarm();
        transport.retries.succeeded();
        yield page;
        pageToken = page.nextPageToken;
        if (pageToken === "") return;
        attempt = 1;
        scope.arm(transport.deadlineMs(query));
      }
      throw new BraidError("SERVER_UNREACHABLE", "the stream stopped before its end");
    } catch (thrown) {
      const error = transport.explain(thrown, query.signal).withOutcome("failed");
      await transport.waitToRepeat(error, STREAM, attempt, scope);
    } finally {
      scope.end();
    }
  }
}

const READ: Method = { path: "braid.v1.TimeSeriesService/ReadEventRecords", effect: "reads" };
const STREAM: Method = { path: "braid.v1.TimeSeriesService/StreamEventRecords", effect: "reads" };

/**
 * A page has at most 3 MiB of events, and base64 and field names make that less than ten times as
 * much.
 */
const LINE_BYTES_MAX = 64 * 1024 * 1024;

async function* chunksOf(response: Response): AsyncGenerator<Uint8Array, void, undefined> {
  if (response.body === null) return;
  // Not `for await` over the body: some browsers cannot.
  const reader: ReadableStreamDefaultReader<Uint8Array> = response.body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    // Makes the server stop. It fails if the connection has failed, and then nothing is left to
    // stop.
    reader.cancel().catch(() => undefined);
  }
}

const decoder = new TextDecoder();

function parseLine(line: Uint8Array | undefined): EventPage {
  if (line === undefined) throw invalid("a line of the stream is too long");
  let answer: unknown;
  try {
    answer = JSON.parse(decoder.decode(line));
  } catch (cause) {
    throw new BraidError("ANSWER_INVALID", "a line of the stream is not JSON", { cause });
  }
  if (!isObject(answer)) throw invalid("a line of the stream is not an object");
  const error = asErrorBody(answer["error"]);
  if (error !== undefined) throw errorFromBody(error, STREAM_ERROR_STATUS[error.code], undefined);
  return parsePage(answer["result"]);
}

/**
 * The server sent its status before the stream failed, so the code alone decides about a repeat.
 * CONFLICT has no status here: it is never repeated.
 */
const STREAM_ERROR_STATUS: Readonly<Record<string, number>> = {
  OVERLOADED: 429,
  STORAGE_UNAVAILABLE: 503,
  DEADLINE_EXCEEDED: 504,
};

function parsePage(answer: unknown): EventPage {
  if (!isObject(answer) || !Array.isArray(answer["records"])) {
    throw invalid("the answer has no records");
  }
  const { records, nextPageToken, responseContext } = answer;
  // The contract fixes the shape of the server's answer, so it is not checked field by field.
  const contexts = (responseContext ?? []) as readonly ResponseContext[];
  return {
    events: (records as EventRecordJson[]).map((record) => new ReceivedEvent(record)),
    nextPageToken: typeof nextPageToken === "string" ? nextPageToken : "",
    context: contexts[0],
  };
}

function invalid(message: string): BraidError {
  return new BraidError("ANSWER_INVALID", `${message}; is this a Braid server of this version?`);
}
