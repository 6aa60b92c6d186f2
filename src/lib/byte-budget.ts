/**
 * A process-wide allowance of bytes: code takes from it before it holds memory.
 *
 * `tryTake` is for work that is refused when there is no room; `take` is for work that may wait. A
 * request larger than the whole budget gets all of it, alone, instead of waiting for ever.
 *
 * A loan is for memory that only makes work faster. It never waits, all loans together have at most
 * half of the budget, and while others wait for room the loans are recalled, the largest first. So
 * code that has taken its share waits for nothing, and code that waits holds nothing (rule C20).
 */
export class ByteBudget {
  readonly #capacity: number;
  #used = 0;
  readonly #waiting: { bytes: number; grant: () => void }[] = [];
  readonly #loans = new Set<BudgetLoan>();
  #lent = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** Including what is lent. */
  get used(): number {
    return this.#used;
  }

  /** The most that all loans may have together. */
  get lendMax(): number {
    return Math.floor(this.#capacity / 2);
  }

  tryTake(bytes: number): boolean {
    if (this.#waiting.length > 0 || !this.#fits(bytes)) return false;
    this.#used += bytes;
    return true;
  }

  /**
   * For memory that is held already, whether there is room or not: later requests are refused
   * sooner.
   */
  force(bytes: number): void {
    this.#used += bytes;
  }

  /** The used fraction, from 0 to 1; above 1 after `force`. */
  get share(): number {
    return this.#used / this.#capacity;
  }

  /** Waits in order. Rejects with the signal's reason if the signal aborts first. */
  async take(bytes: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.tryTake(bytes)) return;
    await new Promise<void>((resolve, reject) => {
      const entry = {
        bytes,
        grant: (): void => {
          signal.removeEventListener("abort", abort);
          this.#used += bytes;
          resolve();
        },
      };
      const abort = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(entry), 1);
        // The waiter that left may have been the one that blocked the others.
        this.#grantWaiting();
        reject(signal.reason as Error);
      };
      signal.addEventListener("abort", abort, { once: true });
      this.#waiting.push(entry);
      this.#recallLoans();
    });
  }

  give(bytes: number): void {
    this.#used -= bytes;
    this.#grantWaiting();
  }

  /**
   * A loan without bytes as yet. `recall` must make its owner give back all of it, without waiting
   * for anything but the end of what it aborts.
   */
  borrow(recall: () => void): Loan {
    return new BudgetLoan(recall, {
      tryGrow: (loan, bytes) => this.#tryLend(loan, bytes),
      shrink: (loan, bytes) => this.#takeBack(loan, bytes),
    });
  }

  #tryLend(loan: BudgetLoan, bytes: number): boolean {
    if (this.#lent + bytes > this.lendMax || !this.tryTake(bytes)) return false;
    this.#lent += bytes;
    this.#loans.add(loan);
    return true;
  }

  #takeBack(loan: BudgetLoan, bytes: number): void {
    this.#lent -= bytes;
    if (loan.bytes === 0) this.#loans.delete(loan);
    this.give(bytes);
  }

  /** Until those that wait would fit. */
  #recallLoans(): void {
    let missing = this.#used - this.#capacity;
    for (const { bytes } of this.#waiting) missing += bytes;
    for (const loan of this.#loans) if (loan.isRecalled) missing -= loan.bytes;
    const largestFirst = [...this.#loans].toSorted((a, b) => b.bytes - a.bytes);
    for (const loan of largestFirst) {
      if (missing <= 0) return;
      if (loan.isRecalled) continue;
      missing -= loan.bytes;
      loan.recall();
    }
  }

  #fits(bytes: number): boolean {
    return this.#used === 0 || this.#used + bytes <= this.#capacity;
  }

  #grantWaiting(): void {
    for (;;) {
      const next = this.#waiting[0];
      if (next === undefined || !this.#fits(next.bytes)) return;
      this.#waiting.shift();
      next.grant();
    }
  }
}

export interface Loan {
  readonly bytes: number;
  /** False if there is no room now, or if others wait for room. */
  tryGrow(bytes: number): boolean;
  shrink(bytes: number): void;
}

interface Lender {
  tryGrow(loan: BudgetLoan, bytes: number): boolean;
  /** After `loan.bytes` was lowered. */
  shrink(loan: BudgetLoan, bytes: number): void;
}

class BudgetLoan implements Loan {
  readonly #recall: () => void;
  readonly #lender: Lender;
  bytes = 0;
  /** From the recall until all of it was given back. */
  isRecalled = false;

  constructor(recall: () => void, lender: Lender) {
    this.#recall = recall;
    this.#lender = lender;
  }

  tryGrow(bytes: number): boolean {
    if (this.isRecalled || !this.#lender.tryGrow(this, bytes)) return false;
    this.bytes += bytes;
    return true;
  }

  shrink(bytes: number): void {
    this.bytes -= bytes;
    if (this.bytes === 0) this.isRecalled = false;
    this.#lender.shrink(this, bytes);
  }

  recall(): void {
    this.isRecalled = true;
    this.#recall();
  }
}
