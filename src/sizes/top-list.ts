/** Keeps the greatest of many items, in bounded memory. Pure. */
export class TopList<T> {
  readonly #max: number;
  readonly #isBefore: (a: T, b: T) => number;
  #items: T[] = [];

  /** `order`: as for `sort`, the greatest first. */
  constructor(max: number, order: (a: T, b: T) => number) {
    this.#max = max;
    this.#isBefore = order;
  }

  add(item: T): void {
    this.#items.push(item);
    // Sorting now and then costs less than keeping the list in order.
    if (this.#items.length >= 2 * this.#max) this.#items = this.items();
  }

  /** At most `max`, the greatest first. */
  items(): T[] {
    return this.#items.toSorted(this.#isBefore).slice(0, this.#max);
  }
}
