/**
 * A process on its machine, with the machine's clocks.
 *
 * It can stand still in three ways. Of a paused machine the monotonic clock stands still, as in a
 * virtual machine that is migrated. Of a frozen one both clocks do, until an operator sets the wall
 * clock right again. A stopped process (SIGSTOP) does nothing, and its clocks continue.
 */
import type { Clock } from "../../src/lib/clock.ts";

export type Standstill = "paused" | "frozen" | "stopped";

export class SimMachine implements Clock {
  readonly #world: Clock;
  /** What waits until it runs again. */
  readonly #waiting = new Set<() => void>();
  #standstill: Standstill | undefined;
  #sinceMs = 0;
  #pausedForMs = 0;
  #resumedAtMs = -Infinity;
  #wallOffsetMicros = 0;

  constructor(world: Clock, skewMicros = 0) {
    this.#world = world;
    this.#wallOffsetMicros = skewMicros;
  }

  get standstill(): Standstill | undefined {
    return this.#standstill;
  }

  stand(still: Standstill): void {
    if (this.#standstill !== undefined) return;
    this.#standstill = still;
    this.#sinceMs = this.#world.monotonicMs();
  }

  resume(): void {
    if (this.#standstill === undefined) return;
    const stoodMs = this.#world.monotonicMs() - this.#sinceMs;
    if (this.#standstill === "frozen") this.#wallOffsetMicros -= stoodMs * 1_000;
    // A process that was stopped sees on its own clock that its views are old.
    if (this.#standstill !== "stopped") {
      this.#pausedForMs += stoodMs;
      this.#resumedAtMs = this.#world.monotonicMs();
    }
    this.#standstill = undefined;
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const wake of waiting) wake();
  }

  /** Moves the wall clock; the opposite step sets it right. */
  stepWall(micros: number): void {
    this.#wallOffsetMicros += micros;
  }

  /** How long its monotonic clock has run without a gap; 0 while there is one. */
  get ranForMs(): number {
    const gap = this.#standstill === "paused" || this.#standstill === "frozen";
    return gap ? 0 : this.#world.monotonicMs() - this.#resumedAtMs;
  }

  /** For its calls and their answers: they wait while it stands still. */
  gate(): undefined | Promise<void> {
    if (this.#standstill === undefined) return undefined;
    return new Promise((resolve) => this.#waiting.add(resolve));
  }

  nowMicros(): number {
    const frozenMs = this.#standstill === "frozen" ? this.#world.monotonicMs() - this.#sinceMs : 0;
    return Math.floor(this.#world.nowMicros() + this.#wallOffsetMicros - frozenMs * 1_000);
  }

  monotonicMs(): number {
    const gap = this.#standstill === "paused" || this.#standstill === "frozen";
    return (gap ? this.#sinceMs : this.#world.monotonicMs()) - this.#pausedForMs;
  }

  after(ms: number, run: () => void): () => void {
    const dueMs = this.monotonicMs() + ms;
    let cancel: () => void = () => undefined;
    const wait = (): void => {
      if (this.#standstill !== undefined) {
        this.#waiting.add(wait);
        cancel = () => void this.#waiting.delete(wait);
        return;
      }
      const leftMs = dueMs - this.monotonicMs();
      if (leftMs <= 0) run();
      else cancel = this.#world.after(leftMs, wait);
    };
    cancel = this.#world.after(ms, wait);
    return () => cancel();
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted === true || ms <= 0) return resolve();
      const abort = (): void => {
        cancel();
        resolve();
      };
      const cancel = this.after(ms, () => {
        signal?.removeEventListener("abort", abort);
        resolve();
      });
      signal?.addEventListener("abort", abort, { once: true });
    });
  }
}
