/**
 * A machine that can be paused, as a virtual machine is: nothing runs on it, and its monotonic
 * clock stands still, while wall clock time passes and the rest of the world continues.
 */
import type { Clock } from "../../src/lib/clock.ts";
import type { Gate } from "./stopped-process.ts";

export class PausableMachine implements Clock {
  readonly #world: Clock;
  readonly #waiting = new Set<() => void>();
  #pausedAtMs: number | undefined;
  #pausedForMs = 0;
  #resumedAtMs = -Infinity;

  constructor(world: Clock) {
    this.#world = world;
  }

  pause(): void {
    this.#pausedAtMs ??= this.#world.monotonicMs();
  }

  resume(): void {
    if (this.#pausedAtMs === undefined) return;
    this.#pausedForMs += this.#world.monotonicMs() - this.#pausedAtMs;
    this.#pausedAtMs = undefined;
    this.#resumedAtMs = this.#world.monotonicMs();
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const wake of waiting) wake();
  }

  /** How long it has run since its last pause; 0 while it is paused. */
  get ranForMs(): number {
    return this.#pausedAtMs === undefined ? this.#world.monotonicMs() - this.#resumedAtMs : 0;
  }

  /** For its calls and their answers: they wait while it is paused. */
  readonly gate: Gate = () =>
    this.#pausedAtMs === undefined
      ? undefined
      : new Promise((resolve) => this.#waiting.add(resolve));

  nowMicros(): number {
    return this.#world.nowMicros();
  }

  monotonicMs(): number {
    return (this.#pausedAtMs ?? this.#world.monotonicMs()) - this.#pausedForMs;
  }

  after(ms: number, run: () => void): () => void {
    const dueMs = this.monotonicMs() + ms;
    let cancel: () => void = () => undefined;
    const wait = (): void => {
      if (this.#pausedAtMs !== undefined) {
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
