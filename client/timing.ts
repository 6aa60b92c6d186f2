/**
 * Time and randomness of the client: its only file that reads the clock, sets a timer or is random.
 *
 * The client runs in other people's programs and in browsers, so it does not use the server's
 * clock. A test passes its own.
 */
export interface Timing {
  /** Milliseconds since a fixed point; never goes back. */
  nowMs(): number;
  /** Resolves after `ms`, or at once when the signal aborts. Never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /**
   * Calls `run` after `ms`, unless the function that it returns is called before. Every call has
   * such a timer; without this method it is a `sleep`, which costs more.
   */
  after?(ms: number, run: () => void): () => void;
  /** At least 0 and less than 1. */
  fraction(): number;
}

export const systemTiming: Timing = {
  nowMs: () => performance.now(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) {
        resolve();
        return;
      }
      const done = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      signal?.addEventListener("abort", done, { once: true });
    }),
  after: (ms, run) => {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
  fraction: () => Math.random(),
};

/** `timing.after`, also for a timing without it. */
export function startTimer(timing: Timing, ms: number, run: () => void): () => void {
  if (timing.after !== undefined) return timing.after(ms, run);
  const stopped = new AbortController();
  void timing.sleep(ms, stopped.signal).then(() => {
    if (!stopped.signal.aborted) run();
  });
  return () => stopped.abort();
}
