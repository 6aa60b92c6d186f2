/**
 * Records which events were sent and acknowledged, and checks reads against them: a read returns
 * every event that was acknowledged before it began, none that was never sent, in order, byte for
 * byte.
 *
 * The payload of an event follows from its id, so that the ledger need not keep it.
 */
import { createHash } from "node:crypto";
import { ok } from "node:assert/strict";
import type { BraidClient, EventFailure, NewEvent, ReceivedEvent } from "../../client/connect.ts";
import { formatTime } from "../../src/wire/time-text.ts";

export interface JudgedQuery {
  readonly series: string;
  /** Event time in microseconds: `from` inclusive, `to` exclusive. */
  readonly from: number;
  readonly to: number;
  readonly order: "NEWEST_FIRST" | "OLDEST_FIRST";
  /** Only events of this device. */
  readonly device?: Device;
  /** A stream is one request to the first server; pages rotate over all servers. */
  readonly over: number | "stream";
}

type Device = "ios" | "tv";

interface SentEvent {
  readonly series: string;
  readonly micros: number;
  readonly bytes: number;
  acknowledged: boolean;
}

const BATCH = 400;
/** Of events that a repeated write can still get acknowledged. */
const UNDECIDED: ReadonlySet<string> = new Set(["OVERLOADED", "OUTCOME_UNKNOWN"]);
/** Enough to describe one mistake; more would repeat it. */
const WRONG_MAX = 50;

export class Ledger {
  /** By event id. */
  readonly #sent = new Map<string, SentEvent>();
  readonly #bySeries = new Map<string, string[]>();
  /** Violations; must stay empty. */
  readonly wrong: string[] = [];
  readsJudged = 0;
  eventsJudged = 0;

  /** Makes an event to send, with `bytes` of payload, at a time in microseconds. */
  event(series: string, micros: number, bytes: number): NewEvent {
    const ids = this.#bySeries.get(series) ?? [];
    this.#bySeries.set(series, ids);
    const eventId = `${series}/${ids.length}`;
    ids.push(eventId);
    this.#sent.set(eventId, { series, micros, bytes, acknowledged: false });
    const items = { device: deviceOf(eventId), payload: payloadOf(eventId, bytes) };
    return { timeSeriesId: series, eventTime: formatTime(micros), eventId, items };
  }

  /** `refused`: indexes in `events` of those that were not written. */
  acknowledge(events: readonly NewEvent[], refused: ReadonlySet<number> = new Set()): void {
    for (const [index, { eventId }] of events.entries()) {
      const sent = this.#sent.get(eventId);
      if (sent !== undefined && !refused.has(index)) sent.acknowledged = true;
    }
  }

  /**
   * Writes events until the server has acknowledged all of them. It repeats those that a machine
   * that stood still left undecided: a repeated write changes nothing.
   */
  async write(client: BraidClient, namespace: string, events: readonly NewEvent[]): Promise<void> {
    for (let at = 0; at < events.length; at += BATCH) {
      let batch = events.slice(at, at + BATCH);
      while (batch.length > 0) {
        const failures = await this.#send(client, namespace, batch);
        for (const { code, message } of failures) ok(UNDECIDED.has(code), `${code}: ${message}`);
        const missing = new Set(failures.map(({ index }) => index));
        batch = batch.filter((_, index) => missing.has(index));
      }
    }
  }

  /** Writes current events once. A machine that stood still may refuse them or leave them undecided. */
  async offer(client: BraidClient, namespace: string, events: readonly NewEvent[]): Promise<void> {
    for (const { code, message } of await this.#send(client, namespace, events)) {
      ok(code === "EVENT_TOO_OLD" || UNDECIDED.has(code), `${code}: ${message}`);
    }
  }

  /** Returns the events that were not acknowledged. */
  async #send(
    client: BraidClient,
    namespace: string,
    events: readonly NewEvent[],
  ): Promise<readonly EventFailure[]> {
    const { failures } = await client.writeSync(namespace, events, { failures: "return" });
    this.acknowledge(events, new Set(failures.map(({ index }) => index)));
    return failures;
  }

  get acknowledged(): number {
    return this.#sent.values().reduce((count, event) => count + (event.acknowledged ? 1 : 0), 0);
  }

  /** Reads and checks; adds each violation to `wrong`. Returns the number of events. */
  async read(
    clients: readonly BraidClient[],
    namespace: string,
    query: JudgedQuery,
  ): Promise<number> {
    const must = this.#acknowledgedIn(query);
    const found: ReceivedEvent[] = [];
    for await (const event of eventsOf(clients, namespace, query)) found.push(event);
    this.#judge(query, must, found);
    this.readsJudged++;
    this.eventsJudged += found.length;
    return found.length;
  }

  #acknowledgedIn({ series, from, to, device }: JudgedQuery): Set<string> {
    const ids = (this.#bySeries.get(series) ?? []).filter((id) => {
      const sent = this.#sent.get(id);
      if (sent?.acknowledged !== true || sent.micros < from || sent.micros >= to) return false;
      return device === undefined || deviceOf(id) === device;
    });
    return new Set(ids);
  }

  /** `must` were acknowledged before the read began. */
  #judge(query: JudgedQuery, must: Set<string>, found: readonly ReceivedEvent[]): void {
    const where = `${query.series} ${query.order} over ${query.over}`;
    const sign = query.order === "OLDEST_FIRST" ? 1 : -1;
    let before: ReceivedEvent | undefined;
    for (const event of found) {
      const { eventId, eventTime } = event;
      must.delete(eventId);
      if (!this.#isAsSent(event, query)) {
        this.#isWrong(`${where}: ${eventId} at ${eventTime} was never sent so`);
      }
      if (before !== undefined && compare(before, event) * sign >= 0) {
        this.#isWrong(`${where}: ${eventId} at ${eventTime} comes behind ${before.eventId}`);
      }
      before = event;
    }
    for (const id of must) this.#isWrong(`${where}: ${id} was acknowledged and is not there`);
  }

  #isAsSent(event: ReceivedEvent, { series, from, to, device }: JudgedQuery): boolean {
    const { eventId, timeMicros, timeSeriesId, items } = event;
    const sent = this.#sent.get(eventId);
    return (
      sent?.series === series &&
      timeSeriesId === series &&
      sent.micros === timeMicros &&
      timeMicros >= from &&
      timeMicros < to &&
      items.length === 2 &&
      (device === undefined || deviceOf(eventId) === device) &&
      items.find(({ key }) => key === "device")?.text === deviceOf(eventId) &&
      payloadOf(eventId, sent.bytes).equals(event.get("payload") ?? new Uint8Array())
    );
  }

  #isWrong(what: string): void {
    if (this.wrong.length < WRONG_MAX) this.wrong.push(what);
  }
}

async function* eventsOf(
  clients: readonly BraidClient[],
  namespace: string,
  { series, from, to, order, device, over }: JudgedQuery,
): AsyncGenerator<ReceivedEvent, void, undefined> {
  const query = {
    timeSeriesId: series,
    start: formatTime(from),
    end: formatTime(to),
    order,
    ...(device !== undefined && { filters: { device } }),
  };
  if (over === "stream") {
    yield* clientAt(clients, 0).stream(namespace, query);
    return;
  }
  let pageToken = "";
  for (let n = 0; n === 0 || pageToken !== ""; n++) {
    // A page token works on every server.
    const pages = clientAt(clients, n)
      .read(namespace, { ...query, pageSize: over, pageToken })
      .pages();
    const { value } = await pages.next();
    if (value === undefined) throw new Error("a read has at least one page");
    yield* value.events;
    pageToken = value.nextPageToken;
  }
}

function clientAt(clients: readonly BraidClient[], n: number): BraidClient {
  const client = clients[n % clients.length];
  if (client === undefined) throw new RangeError("there is no server to ask");
  return client;
}

function deviceOf(eventId: string): Device {
  return ((hashOf(eventId)[0] ?? 0) & 1) === 0 ? "ios" : "tv";
}

function payloadOf(eventId: string, bytes: number): Buffer {
  return Buffer.alloc(bytes, hashOf(eventId));
}

function hashOf(eventId: string): Buffer {
  return createHash("sha256").update(eventId).digest();
}

function compare(a: ReceivedEvent, b: ReceivedEvent): number {
  const byTime = a.timeMicros - b.timeMicros;
  return byTime === 0 ? Buffer.from(a.eventId).compare(Buffer.from(b.eventId)) : byTime;
}
