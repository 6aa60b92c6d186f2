/**
 * Time as a value that callers pass in. Only this file reads the real clock; the simulator passes
 * its own.
 *
 * Wall-clock time is in microseconds since the epoch, exact in a JavaScript number until 2255.
 * Durations are measured on the monotonic clock only, because wall clocks step.
 */
import type { Micros, Millis } from "./time-units.ts";

export interface Clock {
  /** Microseconds since the epoch. May step in either direction. */
  nowMicros(): Micros;
  /** Milliseconds since some fixed point; never goes back. */
  monotonicMs(): Millis;
  /**
   * Calls `run` once, after `ms`, unless the returned function is called first. Keeps the process
   * alive until then.
   */
  after(ms: Millis, run: () => void): () => void;
  /**
   * Resolves after `ms`, or at once when the signal aborts. Never rejects. Keeps the process alive,
   * so abort a sleep that nobody needs.
   */
  sleep(ms: Millis, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  // Milliseconds are precise enough for limits; event times come from callers.
  nowMicros: () => Date.now() * 1000,
  monotonicMs: () => performance.now(),
  after: (ms, run) => {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const done = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      signal?.addEventListener("abort", done, { once: true });
    }),
};
