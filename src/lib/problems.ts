/**
 * Collects the problems of an input, so that one answer names all of them.
 *
 * One collector passes through every check of an input. A problem can name its field: then later
 * checks skip that field and everything inside it, because they see only a default in its place.
 *
 * The list is bounded: a request with a million bad fields must not cause an answer of a million
 * lines.
 */
import { ServiceError } from "./errors.ts";
import type { Code } from "./errors.ts";

const LISTED_MAX = 20;

/** What a check may do: add problems, and ask which fields have some. */
export interface ProblemCollector {
  /** Adds nothing if the field, or one around it, has a problem already. */
  add(problem: string, field?: string): void;
  /** Whether none of the fields, nor one around them, has a problem. */
  sound(...fields: readonly string[]): boolean;
}

export class Problems implements ProblemCollector {
  readonly #listed: string[] = [];
  readonly #fields = new Set<string>();
  #count = 0;

  get count(): number {
    return this.#count;
  }

  /** Whether further problems are only counted. */
  get isFull(): boolean {
    return this.#listed.length >= LISTED_MAX;
  }

  add(problem: string, field?: string): void {
    if (field !== undefined) {
      if (!this.sound(field)) return;
      this.#fields.add(field);
    }
    this.#count++;
    if (this.#listed.length < LISTED_MAX) this.#listed.push(problem);
  }

  sound(...fields: readonly string[]): boolean {
    if (this.#fields.size === 0) return true;
    return !fields.some((field) => around(field).some((each) => this.#fields.has(each)));
  }

  /** For a check that knows its fields by their names inside `field`. */
  within(field: string): ProblemCollector {
    return {
      add: (problem, inner) =>
        this.add(problem, inner === undefined ? undefined : `${field}.${inner}`),
      sound: (...inner) => this.sound(...inner.map((each) => `${field}.${each}`)),
    };
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
function problemsError(code: Code, problems: readonly string[]): ServiceError {
  return new ServiceError(code, problems.join("; "), { details: { problems } });
}

/** `ids[3].reason`, `ids[3]`, `ids`: a field and the fields around it. */
function around(field: string): string[] {
  const paths = [field];
  for (let at = field.length - 1; at > 0; at--) {
    if (field[at] === "." || field[at] === "[") paths.push(field.slice(0, at));
  }
  return paths;
}
