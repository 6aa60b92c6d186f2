/**
 * The calls of the torture's callers: which are under way, so that a kill can be aimed at one, and
 * what they answered.
 *
 * A caller that loses its server does not know what became of its call. Any other answer must have
 * a code that the caller can expect.
 */
import { setTimeout as pause } from "node:timers/promises";
import { BraidError } from "../../client/connect.ts";

/** Codes that a right server may answer to these callers. */
const EXPECTED: ReadonlySet<string> = new Set([
  "OVERLOADED",
  "OUTCOME_UNKNOWN",
  "STORAGE_UNAVAILABLE",
  "DEADLINE_EXCEEDED",
  "CONFLICT",
  // Callers that come too late, or again: the split, the tuning, the namespace has moved meanwhile.
  "REQUEST_INVALID",
  "SPLIT_NOT_FOUND",
  "TUNING_NOT_FOUND",
  "NAMESPACE_NOT_FOUND",
  "NAMESPACE_EXISTS",
  "ID_BLOCKED",
]);
const POLL_MS = 2;

export type Answer<T> =
  | { readonly kind: "done"; readonly value: T }
  | { readonly kind: "refused"; readonly code: string }
  | { readonly kind: "unknown" };

export class CallsUnderWay {
  readonly #running = new Map<symbol, string>();
  readonly #answers = new Map<string, number>();
  readonly #wrong: string[];
  /** From here on lost connections are expected. */
  killing = false;

  /** Unexpected answers are added to `wrong`. */
  constructor(wrong: string[]) {
    this.#wrong = wrong;
  }

  async make<T>(name: string, call: () => Promise<T>): Promise<Answer<T>> {
    const id = Symbol(name);
    this.#running.set(id, name);
    try {
      const value = await call();
      this.#count(`${name} OK`);
      return { kind: "done", value };
    } catch (error) {
      if (!(error instanceof BraidError)) throw error;
      const { code, status, outcome, message } = error;
      this.#count(`${name} ${code}`);
      const lost = status === undefined;
      if (lost ? !this.killing : !EXPECTED.has(code)) {
        this.#wrong.push(`"${name}" was answered ${code}: ${message}`);
      }
      return lost || outcome === "unknown" ? { kind: "unknown" } : { kind: "refused", code };
    } finally {
      this.#running.delete(id);
    }
  }

  /** Their names, each once. */
  names(): string[] {
    return [...new Set(this.#running.values())].toSorted();
  }

  async until(name: string, signal: AbortSignal): Promise<void> {
    while (!signal.aborted && !this.names().includes(name)) await pause(POLL_MS);
  }

  /** How many calls had which answer: "write OK": 120. */
  answers(): Record<string, number> {
    return Object.fromEntries([...this.#answers].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  }

  #count(name: string): void {
    this.#answers.set(name, (this.#answers.get(name) ?? 0) + 1);
  }
}
