import { deepEqual, equal, rejects } from "node:assert/strict";
import { test } from "node:test";
import { FetchAhead } from "./fetch-ahead.ts";

/** Fetches 1, 2, … up to `last`; the fetch `failing` fails. */
class Numbers {
  fetched = 0;
  readonly #last: number;
  readonly #failing: number;

  constructor(last: number, failing = 0) {
    this.#last = last;
    this.#failing = failing;
  }

  get ended(): boolean {
    return this.fetched >= this.#last;
  }

  async fetch(): Promise<number> {
    const number = ++this.fetched;
    if (number === this.#failing) throw new Error("the disk failed");
    return number;
  }
}

test("every fetch is returned once, in order, and the second is the first to be followed early", async () => {
  for (const last of [1, 2, 3, 5]) {
    const numbers = new Numbers(last);
    const ahead = new FetchAhead(numbers);
    const seen: number[] = [];
    const begun: number[] = [];
    do {
      seen.push(await ahead.next());
      begun.push(numbers.fetched);
    } while (!ahead.ended);
    deepEqual(
      seen,
      Array.from({ length: last }, (_, i) => i + 1),
    );
    deepEqual(
      begun,
      seen.map((n) => (n === 1 ? 1 : Math.min(n + 1, last))),
    );
  }
});

test("a failure ahead is thrown in its turn, and ignored if nobody continues", async () => {
  const ahead = new FetchAhead(new Numbers(5, 3));
  equal(await ahead.next(), 1);
  equal(await ahead.next(), 2);
  await rejects(ahead.next(), /the disk failed/);
  const left = new FetchAhead(new Numbers(5, 3));
  await left.next();
  await left.next();
});
