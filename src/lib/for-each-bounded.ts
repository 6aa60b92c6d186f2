/**
 * Processes items without results, a few at a time. After a failure it begins no further item,
 * waits for those that run, so that nothing outlives the caller, and rejects with the first
 * failure.
 */
import pLimit from "p-limit";

/** How many calls of one loop wait for storage at the same time. */
const AT_ONCE = 8;

export async function forEachBounded<T>(
  items: Iterable<T>,
  work: (item: T) => Promise<unknown>,
  atOnce: number = AT_ONCE,
): Promise<void> {
  const all = [...items];
  // Most loops of a small installation have one item or none: they need no queue.
  if (all.length <= 1) {
    for (const item of all) await work(item);
    return;
  }
  const limit = pLimit({ concurrency: atOnce, rejectOnClear: true });
  const failures: unknown[] = [];
  const workOne = async (item: T): Promise<void> => {
    try {
      await work(item);
    } catch (error) {
      failures.push(error);
      limit.clearQueue();
    }
  };
  await Promise.allSettled(all.map((item) => limit(workOne, item)));
  if (failures.length > 0) throw failures[0];
}
