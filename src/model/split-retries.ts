/** How long a split that turned out wrong waits before it is copied again. Pure. */

/** Microseconds, after the first mismatch and after the second. */
const WAITS: readonly number[] = [30_000_000, 300_000_000];

/** After the `failures`th mismatch in a row; null: until an operator retries. */
export function failedDueAt(failures: number, nowMicros: number): number | null {
  const wait = WAITS[failures - 1];
  return wait === undefined ? null : nowMicros + wait;
}
