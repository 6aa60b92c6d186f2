/**
 * The open slices: opened when first needed, so many at a time, the one idle for longest closed first.
 *
 * A slice that is in use is never closed under its user, so for a moment there may be more than
 * `openMax`; at twice that, opening another is refused. A damaged slice is remembered for a while:
 * checking gigabytes again for every request would take the machine down with it.
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

export class StorePool {
  readonly #open: (name: string) => Promise<CheckedLevel>;
  readonly #openMax: number;
  readonly #clock: Clock;
  readonly #sizeChanged: ((openStores: number) => void) | undefined;
  /** In the order of last use, oldest first. */
  readonly #entries = new Map<string, Entry>();
  /** Stores on their way out: to be waited for before the same one is opened again. */
  readonly #leaving = new Map<string, Promise<void>>();
  readonly #lost = new Map<string, { error: ServiceError; untilMs: number }>();

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
    for (let left = this.#leaving.get(name); left !== undefined; left = this.#leaving.get(name)) {
      await left;
    }
    let entry = this.#entries.get(name);
    if (entry === undefined) {
      this.#refuseLost(name);
      this.#makeRoom();
      entry = { level: this.#open(name), users: 0 };
    }
    // Put back as the youngest.
    this.#entries.delete(name);
    this.#entries.set(name, entry);
    const used = entry;
    used.users++;
    try {
      const level = await used.level;
      this.#sizeChanged?.(this.#entries.size);
      let held = true;
      const release = (): void => {
        if (held) used.users--;
        held = false;
      };
      return { level, release };
    } catch (error) {
      used.users--;
      if (this.#entries.get(name) === used) this.#entries.delete(name);
      if (error instanceof ServiceError && error.code === "DATA_LOSS") {
        this.#lost.set(name, { error, untilMs: this.#clock.monotonicMs() + LOSS_REMEMBERED_MS });
      }
      throw error;
    }
  }

  /** The store if it is open now; for looking only. */
  peek(name: string): Promise<CheckedLevel> | undefined {
    return this.#entries.get(name)?.level;
  }

  /** Closes a store at once: its users find it closed. It is about to be removed. */
  async discard(name: string): Promise<void> {
    this.#lost.delete(name);
    await this.#leaving.get(name);
    const entry = this.#entries.get(name);
    if (entry === undefined) return;
    await this.#leave(name, entry, (level) => level.discard());
  }

  /** Closes every store when its writes are done. Scans still running find it closed. */
  async close(): Promise<void> {
    const closing = [...this.#entries].map(([name, entry]) => this.#close(name, entry));
    await Promise.all([...closing, ...this.#leaving.values()]);
  }

  #refuseLost(name: string): void {
    const lost = this.#lost.get(name);
    if (lost === undefined) return;
    if (this.#clock.monotonicMs() < lost.untilMs) throw lost.error;
    this.#lost.delete(name);
  }

  #makeRoom(): void {
    for (const [name, entry] of this.#entries) {
      if (this.#entries.size < this.#openMax) return;
      // Whoever needs it next waits for this; a failure to seal only costs a fuller check later.
      if (entry.users === 0) this.#close(name, entry).catch(() => undefined);
    }
    if (this.#entries.size < 2 * this.#openMax) return;
    throw new ServiceError("OVERLOADED", "too many slices are in use at once; retry later", {
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
      // One that failed to open has nothing to close, and its opener was told.
      .catch(() => undefined)
      .then((level) => (level === undefined ? undefined : work(level)))
      .finally(() => {
        this.#leaving.delete(name);
        this.#sizeChanged?.(this.#entries.size);
      });
    // Kept apart from `done`: those who wait for it to be over do not care how it went.
    this.#leaving.set(
      name,
      done.catch(() => undefined),
    );
    await done;
  }
}
