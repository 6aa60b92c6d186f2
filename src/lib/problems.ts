/**
 * What is wrong with something a person gave us, collected so that all of it is told at once.
 *
 * The list is bounded: a request of a million bad fields must not make an answer of a million lines.
 */
import { ServiceError } from "./errors.ts";
import type { Code } from "./errors.ts";

const LISTED_MAX = 20;

export class Problems {
  readonly #listed: string[] = [];
  #count = 0;

  get count(): number {
    return this.#count;
  }

  /** Whether more are only counted. */
  get isFull(): boolean {
    return this.#listed.length >= LISTED_MAX;
  }

  add(problem: string): void {
    this.#count++;
    if (this.#listed.length < LISTED_MAX) this.#listed.push(problem);
  }

  list(): readonly string[] {
    const more = this.#count - this.#listed.length;
    return more === 0 ? this.#listed : [...this.#listed, `and ${more} more`];
  }

  throwIfAny(code: Code): void {
    if (this.#count === 0) return;
    throw problemsError(code, this.list());
  }
}

/** One error that names all of them. */
export function problemsError(code: Code, problems: readonly string[]): ServiceError {
  return new ServiceError(code, problems.join("; "), { details: { problems } });
}
