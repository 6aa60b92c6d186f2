/** Clocks of processes differ by much less. */
const AHEAD_MICROS_MAX = 3_600_000_000;

/** Whether a process whose clock was wrong stamped a record: it cannot be of this time. */
export function isStampedAhead(stamp: number, now: number): boolean {
  return stamp > now + AHEAD_MICROS_MAX;
}
