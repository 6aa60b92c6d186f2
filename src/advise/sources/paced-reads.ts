/**
 * Runs the statements of a sampler one at a time, rests between them so that the cluster is busy for
 * a share of the time only, and counts what of the budget is spent.
 */
import type { Clock } from "../../lib/clock.ts";
import { storedBytes } from "../read-value.ts";
import type { SourceRow } from "../row-source.ts";

export interface TableBudget {
  /** Bytes of rows and keys that the cluster may be asked for. */
  readonly bytesMax: number;
  readonly msMax: number;
  /** The share of the time in which a statement may be running, from 0 to 1. */
  readonly busyShare: number;
}

export const DEFAULT_BUDGET: TableBudget = { bytesMax: 64e6, msMax: 60_000, busyShare: 0.2 };

export interface Spent {
  readonly rows: number;
  readonly bytes: number;
  readonly statements: number;
  readonly ms: number;
}

export interface PacedReadsOptions {
  readonly budget: TableBudget;
  readonly clock: Clock;
  readonly progress: (spent: Spent) => void;
}

/** Statements that may fail, for instance at a partition with too many tombstones. */
const FAILURES_MAX = 20;
/** A statement asks for about this much, by the size of the rows so far. */
const STATEMENT_BYTES = 128e3;
const STATEMENT_ROWS_FIRST = 50;
const STATEMENT_ROWS_MAX = 1_000;
/** A statement this much slower than the usual one means a busy node: the sampler rests longer. */
const SLOW_FACTOR = 3;
const REST_FACTOR_MAX = 16;
const REST_MS_MAX = 5_000;

export class PacedReads {
  readonly #options: PacedReadsOptions;
  readonly #startedMs: number;
  #usualMs = 0;
  #restFactor = 1;
  bytes = 0;
  rows = 0;
  statements = 0;
  failures = 0;
  /** The message of the last one. */
  failure = "";

  constructor(options: PacedReadsOptions) {
    this.#options = options;
    this.#startedMs = options.clock.monotonicMs();
  }

  get ms(): number {
    return this.#options.clock.monotonicMs() - this.#startedMs;
  }

  /** Runs one statement, then rests, so that statements run for a share of the time only. */
  async run<T>(signal: AbortSignal, statement: () => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    const { clock, budget, progress } = this.#options;
    const startMs = clock.monotonicMs();
    const result = await statement();
    this.statements++;
    const tookMs = Math.max(clock.monotonicMs() - startMs, 0.1);
    this.#usualMs = this.#usualMs === 0 ? tookMs : this.#usualMs * 0.9 + tookMs * 0.1;
    const slow = tookMs > this.#usualMs * SLOW_FACTOR;
    this.#restFactor = slow
      ? Math.min(REST_FACTOR_MAX, this.#restFactor * 2)
      : Math.max(1, this.#restFactor / 2);
    const { rows, bytes, statements, ms } = this;
    progress({ rows, bytes, statements, ms });
    const restMs = tookMs * (1 / budget.busyShare - 1) * this.#restFactor;
    await clock.sleep(Math.min(restMs, REST_MS_MAX), signal);
    signal.throwIfAborted();
    return result;
  }

  /** Undefined if the statement failed; too many failures reject. */
  async attempt<T>(signal: AbortSignal, statement: () => Promise<T>): Promise<T | undefined> {
    return this.run(signal, async () => {
      try {
        return await statement();
      } catch (error) {
        if (++this.failures > FAILURES_MAX) throw error;
        this.failure = error instanceof Error ? error.message : String(error);
        return undefined;
      }
    });
  }

  count(rows: readonly SourceRow[]): void {
    for (const row of rows) {
      for (const value of Object.values(row)) this.bytes += storedBytes(value);
    }
    this.rows += rows.length;
  }

  /** Whether this share of the budget is spent. */
  isSpent(share: number): boolean {
    const { bytesMax, msMax } = this.#options.budget;
    return this.bytes >= bytesMax * share || this.ms >= msMax * share;
  }

  /** Statements of so many rows for which this share of the budget has room. */
  statementsLeft(share: number, rows: number): number {
    const { bytesMax, msMax, busyShare } = this.#options.budget;
    const bytes = bytesMax * share - this.bytes;
    const ms = msMax * share - this.ms;
    return Math.min(
      bytes / Math.max(1, rows * this.#rowBytes()),
      (ms / Math.max(0.1, this.#usualMs)) * busyShare,
    );
  }

  /** As many rows as one statement asks for, within bounds. */
  rowsFirst({ min, max }: { readonly min: number; readonly max: number }): number {
    const rows = Math.ceil(STATEMENT_BYTES / Math.max(1, this.#rowBytes()));
    return Math.max(min, Math.min(max, rows));
  }

  rowsInOneStatement(): number {
    if (this.rows === 0) return STATEMENT_ROWS_FIRST;
    const left = this.#options.budget.bytesMax - this.bytes;
    const bytes = Math.min(STATEMENT_BYTES, left);
    const rows = Math.ceil(bytes / Math.max(1, this.#rowBytes()));
    return Math.max(1, Math.min(STATEMENT_ROWS_MAX, rows));
  }

  #rowBytes(): number {
    return this.bytes / Math.max(1, this.rows);
  }
}
