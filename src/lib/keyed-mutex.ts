/**
 * A mutex for each key: work of one key runs one at a time, in the order in which it was asked for; work of
 * different keys does not wait. A key costs memory only while work of it runs or waits.
 */
export class KeyedMutex {
  /** The end of the last work that was asked for, by key. Never rejects. */
  readonly #last = new Map<string, Promise<unknown>>();

  /** Whether work of this key runs or waits. */
  isLocked(key: string): boolean {
    return this.#last.has(key);
  }

  /**
   * Runs `work` when all earlier work of the key has ended, however it ended; at once if there is none.
   * Work that asks for its own key waits for itself, for ever.
   */
  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key);
    const result = before === undefined ? work() : before.then(work);
    // Only its own caller hears how it ended.
    const ended = result.catch(() => undefined);
    this.#last.set(key, ended);
    try {
      return await result;
    } finally {
      if (this.#last.get(key) === ended) this.#last.delete(key);
    }
  }

  /** Resolves when all work that was asked for until now has ended. Never rejects. */
  async ended(): Promise<void> {
    await Promise.all(this.#last.values());
  }
}
