/**
 * Collects the problems of an input, so that one answer names all of them.
 *
 * The list is bounded: a request with a million bad fields must not cause an answer of a million
 * lines.
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

  /** Whether further problems are only counted. */
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

/** One error that names all problems. */
export function problemsError(code: Code, problems: readonly string[]): ServiceError {
  return new ServiceError(code, problems.join("; "), { details: { problems } });
}
