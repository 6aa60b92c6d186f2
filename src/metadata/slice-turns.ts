/**
 * Who changes the slices of a namespace: one at a time in this process.
 *
 * Whoever decides on slices reads the namespace and its slices, and then makes, moves or drops some.
 * Two that do so at once could both plan the same time, in slices of different widths. So each takes a
 * turn before it reads and keeps it until it is done.
 *
 * The turns are of one process. Where processes share a catalog they need a lease in it as well.
 */
export class SliceTurns {
  /** The end of the last turn that was asked for, by namespace. Never rejects. */
  readonly #last = new Map<string, Promise<unknown>>();

  /** Whether someone has a turn, or waits for one. */
  isTaken(namespace: string): boolean {
    return this.#last.has(namespace);
  }

  /** Does `work` when all who came before are done. A turn within a turn would wait for itself. */
  async take<T>(namespace: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(namespace);
    const turn = before === undefined ? work() : before.then(work);
    // How it went is for its own caller alone.
    const ended = turn.catch(() => undefined);
    this.#last.set(namespace, ended);
    try {
      return await turn;
    } finally {
      if (this.#last.get(namespace) === ended) this.#last.delete(namespace);
    }
  }
}
