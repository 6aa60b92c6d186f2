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
import { malformed } from "./message-reader.ts";
import type { EventPage, ReadQuery } from "./read-query.ts";
import type { ReceivedEvent } from "./received-event.ts";
import type { Method, Transport } from "./transport.ts";

export class EventReading implements AsyncIterable<ReceivedEvent> {
  readonly #open: () => AsyncGenerator<EventPage, void, undefined>;

  constructor(open: () => AsyncGenerator<EventPage, void, undefined>) {
    this.#open = open;
  }

  /** From the beginning of the query (or its `pageToken`), each time it is called. */
  pages(): AsyncGenerator<EventPage, void, undefined> {
    return this.#open();
  }

  [Symbol.asyncIterator](): AsyncIterableIterator<ReceivedEvent, void, undefined> {
    return new EventIterator(this.#open());
  }
}

/**
 * The events of pages one by one. Not an async generator: that takes three times as long for each
 * event, because it waits for every value it yields.
 */
class EventIterator implements AsyncIterableIterator<ReceivedEvent, void, undefined> {
  readonly #pages: AsyncGenerator<EventPage, void, undefined>;
  #events: readonly ReceivedEvent[] = [];
  #next = 0;
  /** The last call that had to wait: later calls follow it. */
  #waiting: Promise<IteratorResult<ReceivedEvent, void>> | undefined;

  constructor(pages: AsyncGenerator<EventPage, void, undefined>) {
    this.#pages = pages;
  }

  next(): Promise<IteratorResult<ReceivedEvent, void>> {
    if (this.#waiting === undefined) {
      const value = this.#events[this.#next];
      if (value !== undefined) {
        this.#next++;
        return Promise.resolve({ value, done: false });
      }
    }
    return this.#inTurn(() => this.#fromNextPage());
  }

  return(): Promise<IteratorResult<ReceivedEvent, void>> {
    return this.#inTurn(async () => {
      this.#events = [];
      await this.#pages.return();
      return { value: undefined, done: true };
    });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async #fromNextPage(): Promise<IteratorResult<ReceivedEvent, void>> {
    for (;;) {
      const value = this.#events[this.#next];
      this.#next++;
      if (value !== undefined) return { value, done: false };
      this.#events = [];
      const page = await this.#pages.next();
      if (page.done === true) return { value: undefined, done: true };
      this.#events = page.value.events;
      this.#next = 0;
    }
  }

  #inTurn(
    run: () => Promise<IteratorResult<ReceivedEvent, void>>,
  ): Promise<IteratorResult<ReceivedEvent, void>> {
    const result = this.#waiting === undefined ? run() : this.#waiting.then(run, run);
    const done = (): void => {
      if (this.#waiting === result) this.#waiting = undefined;
    };
    this.#waiting = result;
    result.then(done, done);
    return result;
  }
}

/** Sends a request for each page. */
export async function* readPages(
  transport: Transport,
  namespace: string,
  query: ReadQuery,
): AsyncGenerator<EventPage, void, undefined> {
  let pageToken = query.pageToken ?? "";
  do {
    const page = await transport.inCodec(async (codec) => {
      const body = codec.encodeRead(namespace, query, pageToken);
      return transport.call(READ, codec, body, codec.decodePage, query);
    });
    yield page;
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
}

/**
 * Sends one request for all pages, and another from the last token if the connection breaks. The
 * last page comes when the stream has ended as it should, so that an error after it is not lost.
 */
export async function* streamPages(
  transport: Transport,
  namespace: string,
  query: ReadQuery,
): AsyncGenerator<EventPage, void, undefined> {
  let pageToken = query.pageToken ?? "";
  for (let attempt = 1; ; attempt++) {
    const scope = new CallSignal(transport.timing, query.signal);
    try {
      scope.arm(transport.deadlineMs(query));
      const { codec } = transport;
      const body = codec.encodeStream(namespace, query, pageToken);
      const answer = await transport.open(STREAM, codec, body, scope);
      let last: EventPage | undefined;
      for await (const page of codec.streamedPages(answer)) {
        if (last !== undefined) throw malformed("a page follows the last one");
        if (page.nextPageToken === "") {
          last = page;
          continue;
        }
        // The deadline does not run while the caller works on a page.
        scope.disarm();
        transport.retries.succeeded();
        yield page;
        pageToken = page.nextPageToken;
        attempt = 1;
        scope.arm(transport.deadlineMs(query));
      }
      if (last === undefined) {
        throw new BraidError("SERVER_UNREACHABLE", "the stream stopped before its end");
      }
      scope.disarm();
      transport.retries.succeeded();
      yield last;
      return;
    } catch (thrown) {
      if (transport.fallsBack(thrown)) continue;
      const error = transport.explain(thrown, query.signal).withOutcome("failed");
      await transport.waitToRepeat(error, STREAM, attempt, scope);
    } finally {
      scope.end();
    }
  }
}

const READ: Method = { path: "braid.v1.TimeSeriesService/ReadEventRecords", effect: "reads" };
const STREAM: Method = {
  path: "braid.v1.TimeSeriesService/StreamEventRecords",
  effect: "reads",
  stream: true,
};
