/**
 * Ordered concurrent work, at most `limit` calls at a time: results come in the order of the items.
 *
 * Leaving the loop early aborts the calls that still run and waits for them, so nothing outlives
 * the caller.
 */
import { LinkedAbort } from "./linked-abort.ts";

export async function* mapBounded<T, R>(
  items: Iterable<T>,
  limit: () => number,
  signal: AbortSignal,
  work: (item: T, signal: AbortSignal) => Promise<R>,
): AsyncGenerator<R, void, undefined> {
  const leaving = new LinkedAbort(signal);
  const running: Promise<R>[] = [];
  const iterator = items[Symbol.iterator]();
  let exhausted = false;
  try {
    for (;;) {
      while (!exhausted && running.length < Math.max(1, limit())) {
        const next = iterator.next();
        if (next.done) {
          exhausted = true;
          break;
        }
        const started = work(next.value, leaving.signal);
        // The loop awaits it later; until then a failure must not count as unhandled.
        started.catch(() => undefined);
        running.push(started);
      }
      const first = running.shift();
      if (first === undefined) return;
      yield await first;
    }
  } finally {
    leaving.abort();
    await Promise.allSettled(running);
    iterator.return?.();
  }
}
