/** How long reads take now. Background work slows down when they take long. */
import type { Clock } from "../lib/clock.ts";

/** The weight of the newest read. */
const WEIGHT = 0.1;
/** Older reads say nothing about the present. */
const RECENT_MS = 5_000;

export class LiveLatency {
  readonly #clock: Clock;
  #meanMs = 0;
  #notedAtMs = Number.NEGATIVE_INFINITY;
  /** When each read in flight began, oldest first. */
  readonly #underWay = new Map<symbol, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A failed read counts as at least `failedMs`: storage that refuses at once is not fast. */
  async measure<T>(failedMs: number, read: () => Promise<T>): Promise<T> {
    const startedMs = this.#clock.monotonicMs();
    const name = Symbol("read");
    this.#underWay.set(name, startedMs);
    try {
      const answer = await read();
      this.note(this.#clock.monotonicMs() - startedMs);
      return answer;
    } catch (error) {
      this.note(Math.max(failedMs, this.#clock.monotonicMs() - startedMs));
      throw error;
    } finally {
      this.#underWay.delete(name);
    }
  }

  note(ms: number): void {
    const nowMs = this.#clock.monotonicMs();
    const fresh = nowMs - this.#notedAtMs >= RECENT_MS;
    this.#meanMs = fresh ? ms : this.#meanMs + WEIGHT * (ms - this.#meanMs);
    this.#notedAtMs = nowMs;
  }

  /**
   * A moving average, or the age of the oldest read in flight if that is more; undefined without
   * reads.
   */
  recentMs(): number | undefined {
    const nowMs = this.#clock.monotonicMs();
    const meanMs = nowMs - this.#notedAtMs < RECENT_MS ? this.#meanMs : undefined;
    const [oldest] = this.#underWay.values();
    if (oldest === undefined) return meanMs;
    return Math.max(meanMs ?? 0, nowMs - oldest);
  }
}
