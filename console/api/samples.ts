/** Figures of the last samples of a series. */

/** The mean of the last samples that are known; undefined if none is. */
export function meanOf(values: readonly (number | null)[], last: number): number | undefined {
  const known = values.slice(-last).filter((value) => value !== null);
  if (known.length === 0) return undefined;
  return known.reduce((sum, value) => sum + value, 0) / known.length;
}

/** The largest of the last samples; undefined if none is known. */
export function maxOf(values: readonly (number | null)[], last: number): number | undefined {
  const known = values.slice(-last).filter((value) => value !== null);
  return known.length === 0 ? undefined : Math.max(...known);
}
