/**
 * The memory of one read for time buckets ahead of the one it is at: on loan from the budget of all
 * reads, and bounded for each read. Counts what became of the bytes that were read ahead.
 */
import type { ByteBudget, Loan } from "../lib/byte-budget.ts";

/**
 * What became of bytes that were read ahead. USED: passed on. LEFT: the read ended before it.
 * RECALLED: other reads needed the memory. WITHDRAWN: a split must not be served any more. FAILED:
 * storage failed. After the last three they are read again when their turn comes.
 */
export type AheadOutcome = "USED" | "LEFT" | "RECALLED" | "WITHDRAWN" | "FAILED";
export type ForgottenWhy = Exclude<AheadOutcome, "USED">;

export class AheadMemory {
  readonly #loan: Loan;
  readonly bytesMax: number;
  readonly #scanBytes: () => number;
  readonly bytesOf: Record<AheadOutcome, number> = {
    USED: 0,
    LEFT: 0,
    RECALLED: 0,
    WITHDRAWN: 0,
    FAILED: 0,
  };

  /** `scanBytes`: what the fetches of one bucket ahead need. `recall`: see `ByteBudget.borrow`. */
  constructor(budget: ByteBudget, bytesMax: number, scanBytes: () => number, recall: () => void) {
    this.#loan = budget.borrow(recall);
    this.bytesMax = Math.min(bytesMax, budget.lendMax);
    this.#scanBytes = scanBytes;
  }

  get scanBytes(): number {
    return this.#scanBytes();
  }

  /** False if there is no room for it now. */
  tryGrow(bytes: number): boolean {
    return this.#loan.bytes + bytes <= this.bytesMax && this.#loan.tryGrow(bytes);
  }

  shrink(bytes: number): void {
    if (bytes > 0) this.#loan.shrink(bytes);
  }

  ended(outcome: AheadOutcome, bytes: number): void {
    this.bytesOf[outcome] += bytes;
  }
}
