/**
 * Reads fetch by fetch, one fetch ahead of the consumer.
 *
 * Only from the third fetch on: fetching ahead would be wasted on the many reads that need only
 * one.
 */
export interface Fetcher<T> {
  /** Whether the last fetch reached the end. */
  readonly ended: boolean;
  /** False while nobody is known to want the next fetch. */
  readonly readsAhead?: boolean;
  fetch(): Promise<T>;
}

export class FetchAhead<T> {
  readonly #fetcher: Fetcher<T>;
  #ahead: Promise<T> | undefined;
  #isFirst = true;

  constructor(fetcher: Fetcher<T>) {
    this.#fetcher = fetcher;
  }

  /** Whether `next` has returned the last fetch. */
  get ended(): boolean {
    return this.#ahead === undefined && this.#fetcher.ended;
  }

  /** Must not be called again before it has resolved, nor after `ended`. */
  async next(): Promise<T> {
    const fetched = await (this.#ahead ?? this.#fetcher.fetch());
    const { ended, readsAhead = true } = this.#fetcher;
    this.#ahead = this.#isFirst || ended || !readsAhead ? undefined : this.#fetcher.fetch();
    this.#isFirst = false;
    // Awaited later, or never: until then a failure must not count as unhandled.
    this.#ahead?.catch(() => undefined);
    return fetched;
  }
}
