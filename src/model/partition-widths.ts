/**
 * The widths of time buckets and of slices that Braid chooses or proposes: widths that people
 * recognise. Pure.
 *
 * Each width divides every wider one. So slices of any two widths begin together at every multiple
 * of the wider one since the epoch, and a change of width waits no longer than that. (Months do not
 * nest: 14 d and 30 d meet only every 210 d.)
 */
const MINUTE = 60;
const HOUR = 3_600;
const DAY = 86_400;

/** In seconds, from narrow to wide. */
export const BUCKET_WIDTHS: readonly number[] = [
  10,
  MINUTE,
  5 * MINUTE,
  15 * MINUTE,
  HOUR,
  3 * HOUR,
  6 * HOUR,
  12 * HOUR,
  DAY,
  7 * DAY,
  14 * DAY,
  28 * DAY,
  84 * DAY,
  168 * DAY,
  336 * DAY,
];

/** Fewer than for buckets: a slice is a table, and its name shows its start. */
export const SLICE_WIDTHS: readonly number[] = [
  5 * MINUTE,
  HOUR,
  6 * HOUR,
  DAY,
  7 * DAY,
  14 * DAY,
  28 * DAY,
  84 * DAY,
  168 * DAY,
  336 * DAY,
];

/** The next wider or narrower width of a ladder; undefined at its end. */
export function widthBeside(
  widths: readonly number[],
  seconds: number,
  direction: "wider" | "narrower",
): number | undefined {
  return direction === "wider"
    ? widths.find((width) => width > seconds)
    : widths.findLast((width) => width < seconds);
}

/** Whether slices of this width begin together with those of every width of the ladder. */
export function isNested(seconds: number): boolean {
  return SLICE_WIDTHS.every((width) =>
    width < seconds ? seconds % width === 0 : width % seconds === 0,
  );
}
