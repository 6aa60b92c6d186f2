/** The console's only file that reads the time or sets a timer. */

/** Milliseconds since 1970, by this browser's clock. */
export function nowMs(): number {
  return Date.now();
}

/** Calls `run` every `ms` until the function that it returns is called. */
export function every(ms: number, run: () => void): () => void {
  const timer = setInterval(run, ms);
  return () => clearInterval(timer);
}

/** Calls `run` once, after `ms`, unless the function that it returns is called before. */
export function after(ms: number, run: () => void): () => void {
  const timer = setTimeout(run, ms);
  return () => clearTimeout(timer);
}

/** Resolves after `ms`, or at once when the signal aborts. */
export function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) {
      resolve();
      return;
    }
    const stop = after(ms, resolve);
    signal.addEventListener("abort", () => {
      stop();
      resolve();
    });
  });
}
