/** Randomness that is the same for the same seed: for simulations, never for secrets. */
import type { Random } from "./random.ts";

export class SeededRandom implements Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  fraction(): number {
    // mulberry32: small, and good enough to choose faults.
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 0x1_0000_0000;
  }

  bytes(length: number): Uint8Array {
    return Uint8Array.from({ length }, () => this.below(256));
  }

  /** A whole number from 0 to n - 1. */
  below(n: number): number {
    return Math.floor(this.fraction() * n);
  }

  chance(probability: number): boolean {
    return this.fraction() < probability;
  }

  one<T>(items: readonly T[]): T {
    return items[this.below(items.length)] as T;
  }

  /** A random source of its own for a part of the world, so that parts do not affect each other. */
  fork(): SeededRandom {
    return new SeededRandom(this.below(0x1_0000_0000));
  }
}
