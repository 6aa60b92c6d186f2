/**
 * What callers may rely on of one stored value: after an acknowledged change it is that value, and
 * after a change without an answer it is the value before or the new one.
 */
import type { Answer } from "./calls-under-way.ts";

export class Promised<T extends string | boolean> {
  readonly name: string;
  #possible: readonly T[];

  constructor(name: string, first: T) {
    this.name = name;
    this.#possible = [first];
  }

  /** The value, if it is known. */
  get value(): T | undefined {
    return this.#possible.length === 1 ? this.#possible[0] : undefined;
  }

  async change<A>(to: T, call: () => Promise<Answer<A>>): Promise<Answer<A>> {
    const before = this.#possible;
    this.#possible = [...new Set([...before, to])];
    const answer = await call();
    if (answer.kind === "done") this.#possible = [to];
    // Earlier changes whose answers were lost may have taken effect all the same.
    if (answer.kind === "refused") this.#possible = before;
    return answer;
  }

  /** What is wrong with the value that was found; undefined if nothing is. */
  problemOf(found: T): string | undefined {
    if (this.#possible.includes(found)) return undefined;
    return `${this.name} is ${found}, and was promised to be ${this.#possible.join(" or ")}`;
  }
}
