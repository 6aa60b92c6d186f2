/**
 * The rules of the public planner for time series (`org.netflix.time-series` of
 * service-capacity-modeling), as a candidate to compare with. Pure.
 *
 * It derives the time bucket from the reader's interval alone, and event buckets, at most 8, from
 * the mean density: outliers, uncertainty and sparse ids do not occur in it.
 */
const DAY_SECONDS = 86_400;
const MIB = 1_048_576;
const EVENT_BUCKET_BYTES = 4 * MIB;
const EVENT_BUCKETS_MAX = 8;

export interface PublicPlannerInput {
  readonly readIntervalSeconds: number;
  readonly retentionSeconds: number;
  readonly eventsPerDayPerId: number;
  readonly eventBytes: number;
}

export interface PublicPlan {
  readonly secondsPerTimeSlice: number;
  readonly secondsPerTimeBucket: number;
  readonly eventBuckets: number;
  /** How often it moves on to the next event bucket; Braid hashes the event id instead. */
  readonly secondsPerEventBucket: number;
  readonly readAmplification: number;
}

/** Slice widths by the retention, both in days; beyond the last one a slice has 365 days. */
const SLICE_DAYS: readonly (readonly [retentionMax: number, slice: number])[] = [
  [1, 1 / 6],
  [7, 1],
  [14, 7],
  [30, 14],
  [90, 30],
  [180, 90],
  [365, 180],
];
const RETENTION_SECONDS_MIN = DAY_SECONDS / 4;

/** Undefined where it refuses: a retention below six hours. */
export function publicPlan(input: PublicPlannerInput): PublicPlan | undefined {
  const { readIntervalSeconds, retentionSeconds, eventsPerDayPerId, eventBytes } = input;
  if (retentionSeconds < RETENTION_SECONDS_MIN) return undefined;
  const days = SLICE_DAYS.find(([max]) => retentionSeconds <= max * DAY_SECONDS)?.[1] ?? 365;
  const secondsPerTimeSlice = days * DAY_SECONDS;
  const secondsPerTimeBucket = Math.min(readIntervalSeconds, secondsPerTimeSlice);
  const bytes = (secondsPerTimeBucket * eventsPerDayPerId * eventBytes) / DAY_SECONDS;
  const buckets = Math.min(EVENT_BUCKETS_MAX, Math.max(1, bytes / EVENT_BUCKET_BYTES));
  const eventBuckets = roundHalfToEven(buckets);
  return {
    secondsPerTimeSlice,
    secondsPerTimeBucket,
    eventBuckets,
    secondsPerEventBucket:
      eventBuckets === 1 ? secondsPerTimeBucket : readIntervalSeconds <= 60 ? 60 : 5,
    readAmplification: Math.ceil(readIntervalSeconds / secondsPerTimeBucket) * eventBuckets,
  };
}

/** As its language rounds. */
function roundHalfToEven(value: number): number {
  const floor = Math.floor(value);
  if (value - floor !== 0.5) return Math.round(value);
  return floor % 2 === 0 ? floor : floor + 1;
}
