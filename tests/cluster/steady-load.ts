/**
 * Callers that continue through every fault of the cluster and check the answers. Writers use every
 * server and record which events were acknowledged. A reader asks another server for each page and
 * compares.
 *
 * Every other failed write is retried, so that some events keep an unknown outcome. The payload of
 * an event follows from the seed and its id, so that the load compares answers byte for byte and
 * recognises an event that was never sent.
 */
import { createHash } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { BraidError, connect } from "../../client/connect.ts";
import type { BraidClient, EventPage, NewEvent, ReceivedEvent } from "../../client/connect.ts";
import { until } from "../support/conditions.ts";

/** The codes that a caller may get while storage fails. */
export const DOCUMENTED = [
  "OUTCOME_UNKNOWN",
  "STORAGE_UNAVAILABLE",
  "DEADLINE_EXCEEDED",
  "OVERLOADED",
];

const WRITERS = 4;
const BATCH = 10;
/** Between batches, to leave processor time for nodes that start on a small machine. */
const PAUSE_MS = 100;
const PAGE = 64;
/** The reader reads this much of the newest time. */
const WINDOW_MS = 6_000;
/** The deadline that the server gets, and the time after which the load counts a call as hung. */
const DEADLINE_MS = 10_000;
const HANGS_MS = 30_000;

export interface LoadOptions {
  readonly urls: readonly string[];
  readonly namespace: string;
  readonly seed: number;
}

/** One answer to one caller. */
interface Answer {
  readonly kind: "write" | "read";
  /** Which server. */
  readonly server: number;
  readonly code: string;
  readonly message: string;
  readonly ms: number;
}

interface SentEvent {
  readonly series: string;
  readonly timeMs: number;
  acknowledged: boolean;
}

export class SteadyLoad {
  readonly #options: LoadOptions;
  readonly #clients: readonly BraidClient[];
  readonly #beganMs = Date.now();
  /** By event id. */
  readonly #sent = new Map<string, SentEvent>();
  readonly #running: Promise<void>[];
  #answers: Answer[] = [];
  #stopping = false;
  /** Violations; reported with the seed. */
  readonly wrong: string[] = [];
  readsCompared = 0;

  constructor(options: LoadOptions) {
    this.#options = options;
    this.#clients = options.urls.map(callerOf);
    this.#running = [
      ...Array.from({ length: WRITERS }, (_, writer) => this.#write(writer)),
      this.#read(),
    ];
  }

  get acknowledged(): number {
    return this.#sent.values().reduce((count, event) => count + (event.acknowledged ? 1 : 0), 0);
  }

  /** Starts a new phase: discards the answers so far. */
  begin(): void {
    this.#answers = [];
  }

  /** Resolves when every server has answered this many more writes, and some reads were right. */
  async continues(writes: number): Promise<void> {
    const from = this.#answers.length;
    const compared = this.readsCompared;
    await until(() => {
      const since = this.#answers
        .slice(from)
        .filter(({ kind, code }) => kind === "write" && code === "OK");
      const everywhere = this.#clients.every(
        (_, server) => since.filter((answer) => answer.server === server).length >= writes,
      );
      return (everywhere && this.readsCompared >= compared + 3) || this.wrong.length > 0;
    });
  }

  /** Resolves when every server has refused this many more calls. */
  async isRefused(calls: number): Promise<void> {
    const from = this.#answers.length;
    await until(() => {
      const since = this.#answers.slice(from).filter(({ code }) => code !== "OK");
      return this.#clients.every(
        (_, server) => since.filter((answer) => answer.server === server).length >= calls,
      );
    });
  }

  /** The answers of this phase, for test output: "write OK 120 (max 800 ms), …". */
  summary(): string {
    const kinds = Map.groupBy(this.#answers, ({ kind, code }) => `${kind} ${code}`);
    return [...kinds]
      .map(([name, answers]) => {
        const slowest = Math.max(...answers.map(({ ms }) => ms));
        const [message = ""] = answers.map((answer) => answer.message).filter(Boolean);
        const why = message === "" ? "" : `: ${message}`;
        return `${name} ${answers.length} (max ${Math.round(slowest)} ms)${why}`;
      })
      .toSorted()
      .join("; ");
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    await Promise.all(this.#running);
  }

  /** Reads all events through one server and adds each violation to `wrong`. */
  async compareAll(server: number): Promise<void> {
    const client = this.#clients[server];
    if (client === undefined) throw new RangeError(`there is no server ${server}`);
    for (let writer = 0; writer < WRITERS; writer++) {
      const series = seriesOf(writer);
      const window = { fromMs: this.#beganMs - 1_000, toMs: Date.now() + 1_000 };
      const must = this.#acknowledgedIn(series, window);
      const found: ReceivedEvent[] = [];
      const query = { timeSeriesId: series, ...intervalOf(window), pageSize: 1_000 };
      for await (const event of client.read(this.#options.namespace, query)) found.push(event);
      this.#compare(`server ${server}, all of ${series}`, series, window, must, found.toReversed());
    }
  }

  async #write(writer: number): Promise<void> {
    const series = seriesOf(writer);
    for (let turn = 0; !this.#stopping; turn++) {
      const timeMs = Date.now();
      const events = Array.from({ length: BATCH }, (_, i): NewEvent => {
        const eventId = `${series}/${turn}/${i}`;
        this.#sent.set(eventId, { series, timeMs, acknowledged: false });
        const items = { payload: this.#payloadOf(eventId) };
        return { timeSeriesId: series, eventTime: new Date(timeMs), eventId, items };
      });
      const server = (writer + turn) % this.#clients.length;
      const done = await this.#send(server, events);
      if (!done && turn % 2 === 0) await this.#send((server + 1) % this.#clients.length, events);
      await pause(PAUSE_MS);
    }
  }

  /** Whether all of them were acknowledged. */
  async #send(server: number, events: readonly NewEvent[]): Promise<boolean> {
    const result = await this.#ask("write", server, (client) =>
      client.writeSync(this.#options.namespace, events, { failures: "return" }),
    );
    if (result === undefined) return false;
    const failed = new Map(result.failures.map((failure) => [failure.index, failure]));
    for (const [index, { eventId }] of events.entries()) {
      const { code, message = "" } = failed.get(index) ?? {};
      const sent = this.#sent.get(eventId);
      if (code === undefined && sent !== undefined) sent.acknowledged = true;
      if (code !== undefined) this.#note({ kind: "write", server, code, message, ms: 0 });
    }
    return failed.size === 0;
  }

  async #read(): Promise<void> {
    for (let turn = 0; !this.#stopping; turn++) {
      const series = seriesOf(turn % WRITERS);
      const nowMs = Date.now();
      const window = { fromMs: nowMs - WINDOW_MS, toMs: nowMs + 1_000 };
      const must = this.#acknowledgedIn(series, window);
      const order = turn % 2 === 0 ? "OLDEST_FIRST" : "NEWEST_FIRST";
      const query = { timeSeriesId: series, ...intervalOf(window), order, pageSize: PAGE } as const;
      const found: ReceivedEvent[] = [];
      let pageToken = "";
      let whole = true;
      for (let n = 0; whole; n++) {
        // A page token works on every server.
        const page: EventPage | undefined = await this.#ask(
          "read",
          (turn + n) % this.#clients.length,
          (client) => firstPage(client, this.#options.namespace, { ...query, pageToken }),
        );
        whole = page !== undefined;
        found.push(...(page?.events ?? []));
        pageToken = page?.nextPageToken ?? "";
        if (pageToken === "") break;
      }
      if (whole) {
        const ascending = order === "OLDEST_FIRST" ? found : found.toReversed();
        this.#compare(`reader, turn ${turn}`, series, window, must, ascending);
        this.readsCompared++;
      }
      await pause(PAUSE_MS);
    }
  }

  async #ask<T>(
    kind: Answer["kind"],
    server: number,
    call: (client: BraidClient) => Promise<T>,
  ): Promise<T | undefined> {
    const client = this.#clients[server];
    if (client === undefined) throw new RangeError(`there is no server ${server}`);
    const startedMs = performance.now();
    const ms = (): number => performance.now() - startedMs;
    try {
      const result = await call(client);
      this.#note({ kind, server, code: "OK", message: "", ms: ms() });
      return result;
    } catch (error) {
      if (!(error instanceof BraidError)) throw error;
      this.#note({ kind, server, code: error.code, message: error.message, ms: ms() });
      if (error.status === undefined) {
        this.wrong.push(
          `${kind} at server ${server}: no answer after ${ms()} ms: ${error.message}`,
        );
      }
      return undefined;
    }
  }

  #note(answer: Answer): void {
    this.#answers.push(answer);
    if (answer.code === "OK" || DOCUMENTED.includes(answer.code)) return;
    this.wrong.push(
      `${answer.kind} at server ${answer.server}: answered ${answer.code}: ${answer.message}`,
    );
  }

  #acknowledgedIn(series: string, { fromMs, toMs }: Window): Set<string> {
    const ids = new Set<string>();
    for (const [id, event] of this.#sent) {
      const inside = event.timeMs >= fromMs && event.timeMs < toMs;
      if (event.acknowledged && event.series === series && inside) ids.add(id);
    }
    return ids;
  }

  /** `must` were acknowledged before the read began; `found` is its answer, oldest first. */
  #compare(
    where: string,
    series: string,
    { fromMs, toMs }: Window,
    must: ReadonlySet<string>,
    found: readonly ReceivedEvent[],
  ): void {
    const missing = new Set(must);
    let before: ReceivedEvent | undefined;
    for (const event of found) {
      const { eventId } = event;
      missing.delete(eventId);
      const sent = this.#sent.get(eventId);
      const timeMs = Date.parse(event.eventTime);
      const [item, ...others] = event.items;
      const right =
        sent !== undefined &&
        event.timeSeriesId === series &&
        sent.series === series &&
        sent.timeMs === timeMs &&
        timeMs >= fromMs &&
        timeMs < toMs &&
        item?.key === "payload" &&
        others.length === 0 &&
        this.#payloadOf(eventId).equals(item.value);
      if (!right) this.wrong.push(`${where}: ${eventId} at ${event.eventTime} was never sent so`);
      if (before !== undefined && !isBefore(before, event)) {
        this.wrong.push(`${where}: ${eventId} comes behind ${before.eventId}`);
      }
      before = event;
    }
    for (const id of missing) this.wrong.push(`${where}: ${id} was acknowledged and is not there`);
  }

  /** 64 to 300 bytes. */
  #payloadOf(eventId: string): Buffer {
    const hash = createHash("sha512").update(`${this.#options.seed} ${eventId}`).digest();
    return Buffer.alloc(64 + (hash[0] ?? 0), hash);
  }
}

interface Window {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Never retries, so that the load counts every answer of the server. */
export function callerOf(url: string): BraidClient {
  return connect(url, {
    deadlineMs: HANGS_MS,
    retries: { attemptsMax: 1 },
    headers: { "braid-timeout-ms": String(DEADLINE_MS) },
  });
}

function seriesOf(writer: number): string {
  return `writer-${writer}`;
}

function intervalOf({ fromMs, toMs }: Window): { start: Date; end: Date } {
  return { start: new Date(fromMs), end: new Date(toMs) };
}

function isBefore(a: ReceivedEvent, b: ReceivedEvent): boolean {
  const byTime = Date.parse(a.eventTime) - Date.parse(b.eventTime);
  return byTime < 0 || (byTime === 0 && Buffer.from(a.eventId).compare(Buffer.from(b.eventId)) < 0);
}

async function firstPage(
  client: BraidClient,
  namespace: string,
  query: Parameters<BraidClient["read"]>[1],
): Promise<EventPage> {
  for await (const page of client.read(namespace, query).pages()) return page;
  throw new Error("a read has at least one page");
}
