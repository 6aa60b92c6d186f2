/**
 * The open slices: opened when first needed, a bounded number at a time; the slice idle for longest
 * is closed first.
 *
 * The pool never closes a slice that is in use, so for a moment there may be more than `openMax`.
 * At twice that, an opening waits for a place, and is rejected if no place becomes free for some
 * seconds. The pool remembers a damaged slice for a while: checking gigabytes again for every
 * request would overload the machine.
 */
import type { Clock } from "../../lib/clock.ts";
import { ServiceError } from "../../lib/errors.ts";
import type { CheckedLevel } from "./checked-level.ts";

interface Entry {
  readonly level: Promise<CheckedLevel>;
  users: number;
}

export interface Lease {
  readonly level: CheckedLevel;
  readonly release: () => void;
}

const LOSS_REMEMBERED_MS = 30_000;
const SLOT_WAIT_MAX_MS = 5_000;

export class StorePool {
  readonly #open: (name: string) => Promise<CheckedLevel>;
  readonly #openMax: number;
  readonly #clock: Clock;
  readonly #sizeChanged: ((openStores: number) => void) | undefined;
  /** In the order of last use, oldest first. */
  readonly #entries = new Map<string, Entry>();
  /** Stores that are closing: an opening of the same store waits for them. */
  readonly #leaving = new Map<string, Promise<void>>();
  readonly #lost = new Map<string, { error: ServiceError; untilMs: number }>();
  /** Callers that wait for a place. */
  readonly #waiting = new Set<() => void>();
  #closed = false;

  constructor(
    open: (name: string) => Promise<CheckedLevel>,
    openMax: number,
    clock: Clock,
    sizeChanged: ((openStores: number) => void) | undefined,
  ) {
    this.#open = open;
    this.#openMax = openMax;
    this.#clock = clock;
    this.#sizeChanged = sizeChanged;
  }

  async acquire(name: string): Promise<Lease> {
    const used = await this.#use(name);
    try {
      const level = await used.level;
      this.#sizeChanged?.(this.#entries.size);
      let held = true;
      const release = (): void => {
        if (!held) return;
        held = false;
        used.users--;
        if (used.users === 0) this.#wakeWaiting();
      };
      return { level, release };
    } catch (error) {
      used.users--;
      if (this.#entries.get(name) === used) this.#entries.delete(name);
      this.#wakeWaiting();
      if (error instanceof ServiceError && error.code === "DATA_LOSS") {
        this.#lost.set(name, { error, untilMs: this.#clock.monotonicMs() + LOSS_REMEMBERED_MS });
      }
      throw error;
    }
  }

  /** The store if it is open now, without counting as a user. */
  peek(name: string): Promise<CheckedLevel> | undefined {
    return this.#entries.get(name)?.level;
  }

  /** Closes a store at once: its users find it closed. Its files are about to be removed. */
  async discard(name: string): Promise<void> {
    this.#lost.delete(name);
    await this.#leaving.get(name);
    const entry = this.#entries.get(name);
    if (entry === undefined) return;
    await this.#leave(name, entry, (level) => level.discard());
  }

  /** Closes a damaged store: its users find it closed, and callers get the error for a while. */
  async lose(name: string, error: ServiceError): Promise<void> {
    this.#lost.set(name, { error, untilMs: this.#clock.monotonicMs() + LOSS_REMEMBERED_MS });
    await this.#leaving.get(name);
    const entry = this.#entries.get(name);
    if (entry !== undefined) await this.#close(name, entry);
  }

  /** Closes every store when its writes are done. Scans that still run find it closed. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#wakeWaiting();
    const closing = [...this.#entries].map(([name, entry]) => this.#close(name, entry));
    await Promise.all([...closing, ...this.#leaving.values()]);
  }

  /**
   * The open store, or a new one as soon as there is a place for it. Counts one more user, so that
   * nothing closes the store before the caller continues.
   */
  async #use(name: string): Promise<Entry> {
    const waitUntilMs = this.#clock.monotonicMs() + SLOT_WAIT_MAX_MS;
    for (;;) {
      const left = this.#leaving.get(name);
      if (left !== undefined) {
        await left;
        continue;
      }
      if (this.#closed) throw new ServiceError("STORAGE_UNAVAILABLE", "the store is closed");
      const entry = this.#entries.get(name) ?? this.#openNew(name);
      if (entry !== undefined) {
        entry.users++;
        // Put back as the most recently used.
        this.#entries.delete(name);
        this.#entries.set(name, entry);
        return entry;
      }
      const waitMs = waitUntilMs - this.#clock.monotonicMs();
      if (waitMs <= 0) throw this.#overloaded();
      await this.#slotFreed(waitMs);
    }
  }

  /** Undefined if there is no place for the store. */
  #openNew(name: string): Entry | undefined {
    this.#refuseLost(name);
    return this.#makeRoom() ? { level: this.#open(name), users: 0 } : undefined;
  }

  #refuseLost(name: string): void {
    const lost = this.#lost.get(name);
    if (lost === undefined) return;
    if (this.#clock.monotonicMs() < lost.untilMs) throw lost.error;
    this.#lost.delete(name);
  }

  /** Closes idle stores above `openMax`. False if too many are in use to open another. */
  #makeRoom(): boolean {
    for (const [name, entry] of this.#entries) {
      if (this.#entries.size < this.#openMax) break;
      // The next user of the store waits for this; a failure to seal only costs a fuller check
      // later.
      if (entry.users === 0) this.#close(name, entry).catch(() => undefined);
    }
    return this.#entries.size < 2 * this.#openMax;
  }

  /** Resolves when a store has lost its last user, or after `ms`. */
  #slotFreed(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        cancel();
        this.#waiting.delete(wake);
        resolve();
      };
      const cancel = this.#clock.after(ms, wake);
      this.#waiting.add(wake);
    });
  }

  /** In the order of arrival; callers that find no place wait again. */
  #wakeWaiting(): void {
    for (const wake of this.#waiting) wake();
  }

  #overloaded(): ServiceError {
    return new ServiceError("OVERLOADED", "too many slices are in use at once; retry later", {
      details: { openStoresMax: this.#openMax },
      retryAfterMs: 200,
    });
  }

  #close(name: string, entry: Entry): Promise<void> {
    return this.#leave(name, entry, (level) => level.close());
  }

  async #leave(
    name: string,
    entry: Entry,
    work: (level: CheckedLevel) => Promise<void>,
  ): Promise<void> {
    this.#entries.delete(name);
    const done = entry.level
      // A store that failed to open has nothing to close, and its opener got the error.
      .catch(() => undefined)
      .then((level) => (level === undefined ? undefined : work(level)))
      .finally(() => {
        this.#leaving.delete(name);
        this.#sizeChanged?.(this.#entries.size);
        this.#wakeWaiting();
      });
    // Separate from `done`: callers that wait for the end ignore the outcome.
    this.#leaving.set(
      name,
      done.catch(() => undefined),
    );
    await done;
  }
}
