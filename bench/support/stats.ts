/** Figures of a bench: medians and percentiles, nothing more. */

export function median(values: readonly number[]): number {
  return percentile(values, 50);
}

export function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const rank = Math.ceil((percent / 100) * sorted.length) - 1;
  return sorted[Math.max(0, rank)] ?? Number.NaN;
}

/** Runs `work` for every item, `width` at a time. */
export async function inFlight<T>(
  items: readonly T[],
  width: number,
  work: (item: T, worker: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  const run = async (nth: number): Promise<void> => {
    while (next < items.length) await work(items[next++] as T, nth);
  };
  await Promise.all(Array.from({ length: width }, (_, nth) => run(nth)));
}

/** Seconds that `work` took. */
export async function seconds(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return (performance.now() - started) / 1000;
}

/** Another one first each time. */
export function byTurns<T>(items: readonly T[], turn: number): T[] {
  const first = turn % items.length;
  return [...items.slice(first), ...items.slice(0, first)];
}
