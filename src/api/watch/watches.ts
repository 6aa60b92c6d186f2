/**
 * The watchers of a server. They share the state of each topic, so that a watcher costs a few
 * numbers: it gets what has changed since it last took a message, and no more is kept for a slow
 * one. Without watchers nothing runs.
 */
import type { Clock } from "../../lib/clock.ts";
import { ServiceError } from "../../lib/errors.ts";
import { hash32 } from "../../lib/hash.ts";
import type { MetricsHistoryUseCase } from "../methods/metrics-history.ts";
import { timeOfMicros } from "../methods/times.ts";
import { cursorOf, seenIn } from "./cursor.ts";
import { Feed } from "./feed.ts";
import { MetricsSource } from "./metrics-source.ts";
import { withTopicFeed } from "./topics.ts";
import type { LoadedTopic, Topic, TopicSources } from "./topics.ts";
import type { SourceUpdate, WatchResponseInit, WatchSource } from "./watch-source.ts";

export interface WatchQuery {
  readonly topics: readonly Topic[];
  /** "": all. */
  readonly namespace: string;
  readonly cursor: string;
  readonly verifyId: string;
  readonly series: readonly string[];
}

/** A message without what every message has. */
export interface WatchMessage {
  readonly topic: Topic | undefined;
  readonly fields: WatchResponseInit;
}

export interface WatchUseCase {
  /** Until the signal aborts, the caller leaves the loop, or the server stops. */
  watch(query: WatchQuery, signal: AbortSignal): AsyncIterable<WatchMessage>;
}

export interface WatchesOptions {
  readonly clock: Clock;
  /** The name of this process. */
  readonly process: string;
  readonly sources: TopicSources;
  readonly history: MetricsHistoryUseCase;
  /** A change by another process is sent within this time. */
  readonly viewMaxAgeMs: number;
}

/** A sign of life keeps proxies and deadlines from ending a quiet stream. */
const HEARTBEAT_MS = 10_000;
/** A watcher that comes back within this time gets only what has changed. */
const LINGER_MS = 60_000;
/** Different things to watch, over all watchers: each may keep 500 splits, about 2 MB. */
const FEEDS_MAX = 64;

interface KeptFeed {
  readonly topic: LoadedTopic;
  readonly namespace: string;
  readonly feed: WatchSource;
  watchers: number;
  /** Cancels its removal. */
  stay: () => void;
}

export class Watches implements WatchUseCase {
  readonly #options: WatchesOptions;
  readonly #feeds = new Map<string, KeptFeed>();
  readonly #wakes = new Set<() => void>();
  #revision = 0;
  #closing = false;

  constructor(options: WatchesOptions) {
    this.#options = options;
  }

  get watchers(): number {
    return this.#wakes.size;
  }

  /** This process has changed something. `namespace` undefined: of any. Cheap. */
  changed(topics: readonly LoadedTopic[], namespace?: string): void {
    for (const each of this.#feeds.values()) {
      if (!topics.includes(each.topic)) continue;
      if (namespace === undefined || each.namespace === "" || each.namespace === namespace) {
        each.feed.changed();
      }
    }
  }

  /** Ends all streams, each with a message that says so. */
  close(): void {
    this.#closing = true;
    for (const wake of this.#wakes) wake();
    for (const { stay } of this.#feeds.values()) stay();
  }

  async *watch(
    query: WatchQuery,
    signal: AbortSignal,
  ): AsyncGenerator<WatchMessage, void, undefined> {
    const { clock, process } = this.#options;
    const scope = scopeOf(query);
    const seen = new Map(seenIn(query.cursor, process, scope));
    const sign = new Sign(clock, signal);
    const held = this.#hold(query, () => sign.raise());
    this.#wakes.add(sign.raise);
    const message = (
      fields: WatchResponseInit,
      topic: Topic | undefined,
      stale: string,
    ): WatchMessage => {
      const cursor = cursorOf(process, scope, seen);
      const serverTime = timeOfMicros(clock.nowMicros());
      return { topic, fields: { ...fields, cursor, serverTime, process, stale } };
    };
    try {
      // A caller that resumes where nothing has changed hears so at once.
      let quietMs = HEARTBEAT_MS;
      while (!signal.aborted) {
        let stale = "";
        sign.lower();
        for (const [topic, source] of held.sources) {
          source.throwIfFailed();
          stale ||= source.stale;
          const update: SourceUpdate | undefined = source.since(seen.get(topic));
          if (update === undefined) continue;
          seen.set(topic, update.seen);
          quietMs = 0;
          yield message(update.fields, topic, source.stale);
        }
        if (this.#closing) {
          yield message({ ending: ENDING }, undefined, stale);
          return;
        }
        const ready = held.sources.every(([, source]) => source.ready);
        if (ready && quietMs >= HEARTBEAT_MS) {
          quietMs = 0;
          yield message({}, undefined, stale);
        }
        quietMs += await sign.raised(HEARTBEAT_MS - quietMs);
      }
    } finally {
      this.#wakes.delete(sign.raise);
      held.release();
    }
  }

  #hold(
    query: WatchQuery,
    wake: () => void,
  ): { readonly sources: readonly (readonly [Topic, WatchSource])[]; release(): void } {
    const { history } = this.#options;
    const sources: [Topic, WatchSource][] = [];
    const releases: (() => void)[] = [];
    const release = (): void => {
      for (const each of releases.splice(0)) each();
    };
    try {
      for (const topic of query.topics) {
        if (topic === "METRICS") {
          const source = new MetricsSource(history, query.namespace, query.series);
          sources.push([topic, source]);
          releases.push(source.watch(wake));
        } else {
          const kept = this.#feed(topic, query);
          kept.watchers++;
          kept.stay();
          const stop = kept.feed.watch(wake);
          sources.push([topic, kept.feed]);
          releases.push(() => {
            stop();
            this.#release(kept);
          });
        }
      }
    } catch (error) {
      release();
      throw error;
    }
    return { sources, release };
  }

  #feed(topic: LoadedTopic, { namespace: given, verifyId }: WatchQuery): KeptFeed {
    const { clock, sources, viewMaxAgeMs } = this.#options;
    const namespace = topic === "STATUS" || topic === "SERVERS" ? "" : given;
    const key = JSON.stringify([topic, namespace, topic === "VERIFY" ? verifyId : ""]);
    const known = this.#feeds.get(key);
    if (known !== undefined) return known;
    this.#makeRoom();
    const kept = {
      topic,
      namespace,
      watchers: 0,
      stay: () => undefined,
      feed: withTopicFeed<WatchSource>(topic, { namespace, verifyId }, sources, (feed) => {
        return new Feed({
          ...feed,
          everyMs: Math.min(feed.everyMs, viewMaxAgeMs / 2),
          clock,
          nextRevision: () => ++this.#revision,
        });
      }),
    };
    this.#feeds.set(key, kept);
    return kept;
  }

  /** One that nobody watches gives way. */
  #makeRoom(): void {
    if (this.#feeds.size < FEEDS_MAX) return;
    for (const [key, { watchers, stay }] of this.#feeds) {
      if (watchers > 0) continue;
      stay();
      this.#feeds.delete(key);
      return;
    }
    throw new ServiceError(
      "OVERLOADED",
      `the server watches ${FEEDS_MAX} different things already; watch all namespaces instead of ` +
        "single ones, end a watch, or call the method that returns the same once",
      { retryAfterMs: LINGER_MS },
    );
  }

  #release(kept: KeptFeed): void {
    kept.watchers--;
    if (kept.watchers > 0 || this.#closing) return;
    kept.stay = this.#options.clock.after(LINGER_MS, () => {
      for (const [key, each] of this.#feeds) if (each === kept) this.#feeds.delete(key);
    });
  }
}

const ENDING = "the server is shutting down; resume with the cursor at another server, or soon";

/** What a cursor belongs to, as a short number. */
function scopeOf({ namespace, verifyId, series }: WatchQuery): number {
  return hash32(Buffer.from(JSON.stringify([namespace, verifyId, series.toSorted()])), 0);
}

/** Something may have changed: raised by others, awaited by one. */
class Sign {
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  #up = false;
  #woken: AbortController | undefined;
  readonly raise = (): void => {
    this.#up = true;
    this.#woken?.abort();
  };

  constructor(clock: Clock, signal: AbortSignal) {
    this.#clock = clock;
    this.#signal = signal;
  }

  lower(): void {
    this.#up = false;
  }

  /** Returns when it is raised, the signal aborts, or this time has passed: the time it took. */
  async raised(ms: number): Promise<number> {
    const startedMs = this.#clock.monotonicMs();
    if (this.#up || this.#signal.aborted) return 0;
    this.#woken = new AbortController();
    this.#signal.addEventListener("abort", this.raise, { once: true });
    await this.#clock.sleep(Math.max(1, ms), this.#woken.signal);
    this.#signal.removeEventListener("abort", this.raise);
    this.#woken = undefined;
    return this.#clock.monotonicMs() - startedMs;
  }
}
