/**
 * How an id's events are spread over a day. Pure.
 *
 * Burstiness b: one hour of each day has b times the id's mean rate, and the other hours share the
 * rest. Where b is above 24, all events of a day are in one burst that is shorter than an hour. A
 * bucket of a day or more has the mean rate; a narrower one is either the one with the burst or not.
 */
const DAY_SECONDS = 86_400;
const HOUR_SECONDS = 3_600;

export interface RateLevel {
  /** Of the time buckets. */
  readonly timeShare: number;
  /** In multiples of the id's mean rate. The levels' shares times factors sum to 1. */
  readonly factor: number;
}

/** The busiest level first. */
export function rateLevels(burstiness: number, bucketSeconds: number): readonly RateLevel[] {
  if (burstiness <= 1 || bucketSeconds >= DAY_SECONDS) return [{ timeShare: 1, factor: 1 }];
  const burst = burstSeconds(burstiness);
  const quiet = Math.max(0, (DAY_SECONDS - burst * burstiness) / (DAY_SECONDS - burst));
  const width = Math.max(bucketSeconds, burst);
  const busy = (burst * burstiness + (width - burst) * quiet) / width;
  const timeShare = width / DAY_SECONDS;
  return [
    { timeShare, factor: busy },
    { timeShare: 1 - timeShare, factor: quiet },
  ];
}

function burstSeconds(burstiness: number): number {
  return Math.min(HOUR_SECONDS, DAY_SECONDS / burstiness);
}
