/** How long reads take just now: what the work behind them steps back for. */
import type { Clock } from "../lib/clock.ts";

/** What the newest read counts for. */
const WEIGHT = 0.1;
/** Reads longer ago say nothing of now. */
const RECENT_MS = 5_000;

export class LiveLatency {
  readonly #clock: Clock;
  #meanMs = 0;
  #notedAtMs = Number.NEGATIVE_INFINITY;
  /** When each read that is under way began; the oldest first. */
  readonly #underWay = new Map<symbol, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** One that fails counts for at least `failedMs`: a storage that refuses at once is not a fast one. */
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

  /** A mean that follows the newest, or how long the oldest has been waiting; undefined where nobody reads. */
  recentMs(): number | undefined {
    const nowMs = this.#clock.monotonicMs();
    const meanMs = nowMs - this.#notedAtMs < RECENT_MS ? this.#meanMs : undefined;
    const [oldest] = this.#underWay.values();
    if (oldest === undefined) return meanMs;
    return Math.max(meanMs ?? 0, nowMs - oldest);
  }
}
