/**
 * Decides when a statement is sent a second time, to another replica, because the first is slow to
 * answer.
 *
 * The driver asks with the text of the statement; each statement's delay follows from the service
 * level of its namespace and may change while it runs.
 */
import { LRUCache } from "lru-cache";
import type { policies } from "cassandra-driver";

/** A third replica is not asked: where two are slow, more work makes all of them slower. */
const SPECULATIONS_MAX = 1;
const STATEMENTS_MAX = 10_000;
const NEVER = { nextExecution: (): number => -1 };

export class Speculation implements policies.speculativeExecution.SpeculativeExecutionPolicy {
  readonly #delays = new LRUCache<string, number>({ max: STATEMENTS_MAX });

  /**
   * From now on. Each use of a statement sets it, so those of tables long dropped may be forgotten.
   */
  setDelay(query: string, delayMs: number): void {
    this.#delays.set(query, delayMs);
  }

  newPlan(_keyspace: string, query: string | object[]): { nextExecution: () => number } {
    // A batch repeats one statement.
    const [first] = typeof query === "string" ? [{ query }] : (query as { query?: unknown }[]);
    const text = first?.query;
    const delay = typeof text === "string" ? this.#delays.peek(text) : undefined;
    if (delay === undefined) return NEVER;
    let left = SPECULATIONS_MAX;
    return { nextExecution: () => (left-- > 0 ? delay : -1) };
  }

  init(): void {
    // It needs nothing of the client.
  }

  shutdown(): void {
    // It holds nothing.
  }

  getOptions(): Map<string, object> {
    return new Map();
  }
}
