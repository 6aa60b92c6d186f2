/**
 * One watched topic of one namespace, for all its watchers together: loads its items again when
 * something may have changed, and wakes the watchers. Nothing runs without a watcher.
 */
import type { Clock } from "../../lib/clock.ts";
import { CODES, ServiceError } from "../../lib/errors.ts";
import type { WatchResponseInit, WatchSource, SourceUpdate } from "./watch-source.ts";
import { ChangeList } from "./change-list.ts";
import type { WatchedItem } from "./change-list.ts";

/** Two messages a second are enough for people, and bound what a busy topic costs. */
const PAUSE_MIN_MS = 500;
/** Loading takes at most a tenth of the time. */
const PAUSE_FACTOR = 9;

export interface Loaded<T> {
  readonly items: readonly WatchedItem<T>[];
  /** There are more. */
  readonly truncated: boolean;
}

export interface FeedOptions<T> {
  readonly clock: Clock;
  readonly load: (signal: AbortSignal) => Promise<Loaded<T>>;
  /** The values as fields of a message. */
  readonly fields: (values: readonly T[]) => WatchResponseInit;
  /** How often it is loaded without a sign of a change: others may change it. */
  readonly everyMs: number;
  /** Each higher than the one before, over all feeds of a process. */
  readonly nextRevision: () => number;
}

export class Feed<T> implements WatchSource {
  readonly #options: FeedOptions<T>;
  readonly #list = new ChangeList<T>();
  readonly #wakes = new Set<() => void>();
  #running: AbortController | undefined;
  /** Loaded since it last began to run. */
  #fresh = false;
  #stale = "";
  #failure: unknown;
  #poked = false;
  #poke: () => void = () => undefined;

  constructor(options: FeedOptions<T>) {
    this.#options = options;
  }

  watch(wake: () => void): () => void {
    this.#wakes.add(wake);
    if (this.#running === undefined) {
      this.#running = new AbortController();
      this.#failure = undefined;
      void this.#run(this.#running.signal);
    }
    return () => {
      this.#wakes.delete(wake);
      if (this.#wakes.size > 0) return;
      this.#running?.abort();
      this.#running = undefined;
      this.#fresh = false;
    };
  }

  get ready(): boolean {
    return this.#fresh;
  }

  get stale(): string {
    return this.#stale;
  }

  throwIfFailed(): void {
    if (this.#failure !== undefined) throw this.#failure;
  }

  since(seen: number | undefined): SourceUpdate | undefined {
    if (!this.#fresh) return undefined;
    const changes = this.#list.changesSince(seen);
    if (changes === undefined) return undefined;
    const { revision, snapshot, truncated, removed, values } = changes;
    const fields = { ...this.#options.fields(values), snapshot, truncated, removed: [...removed] };
    return { seen: revision, fields };
  }

  changed(): void {
    this.#poked = true;
    this.#poke();
  }

  /** Never rejects. */
  async #run(signal: AbortSignal): Promise<void> {
    const { clock, everyMs } = this.#options;
    while (!signal.aborted) {
      this.#poked = false;
      const startedMs = clock.monotonicMs();
      await this.#load(signal);
      if (signal.aborted) return;
      for (const wake of this.#wakes) wake();
      const tookMs = clock.monotonicMs() - startedMs;
      await clock.sleep(Math.max(PAUSE_MIN_MS, PAUSE_FACTOR * tookMs), signal);
      if (!this.#poked && !signal.aborted) await this.#pokedWithin(everyMs, signal);
    }
  }

  async #load(signal: AbortSignal): Promise<void> {
    const { load, nextRevision } = this.#options;
    try {
      const { items, truncated } = await load(signal);
      if (signal.aborted) return;
      this.#list.update(items, truncated, nextRevision());
      this.#fresh = true;
      this.#failure = undefined;
      this.#stale = "";
    } catch (error) {
      if (signal.aborted) return;
      const passes = error instanceof ServiceError && CODES[error.code].retry;
      // What was sent stays as it is; a watcher that has got nothing yet gets the error.
      if (passes && this.#fresh) this.#stale = error.message;
      else this.#failure = error;
    }
  }

  async #pokedWithin(ms: number, signal: AbortSignal): Promise<void> {
    const woken = new AbortController();
    const wake = (): void => woken.abort();
    this.#poke = wake;
    signal.addEventListener("abort", wake, { once: true });
    await this.#options.clock.sleep(ms, woken.signal);
    signal.removeEventListener("abort", wake);
    this.#poke = () => undefined;
  }
}
