/**
 * A mutex for each key: work of one key runs one at a time, in the order of the calls; work of
 * different keys does not wait. A key uses memory only while its work runs or waits.
 */
export class KeyedMutex {
  /** The end of the last work requested, by key. Never rejects. */
  readonly #last = new Map<string, Promise<unknown>>();

  /** Whether work of this key runs or waits. */
  isLocked(key: string): boolean {
    return this.#last.has(key);
  }

  /**
   * Runs `work` when all earlier work of the key has ended, whether it succeeded or failed; at once
   * if there is none. Work that requests its own key deadlocks.
   */
  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key);
    const result = before === undefined ? work() : before.then(work);
    // Only the caller of this work sees its failure.
    const ended = result.catch(() => undefined);
    this.#last.set(key, ended);
    try {
      return await result;
    } finally {
      if (this.#last.get(key) === ended) this.#last.delete(key);
    }
  }

  /** Resolves when all work requested so far has ended. Never rejects. */
  async ended(): Promise<void> {
    await Promise.all(this.#last.values());
  }
}
