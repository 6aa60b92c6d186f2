/**
 * What a user knows about a workload before there is data: numbers with their uncertainty.
 *
 * An estimate is one number, or low, mid and high with the confidence that the truth lies between
 * low and high. Retention, accept limit, SLOs and consistency are decisions, not estimates.
 */
import type { NamespaceConfig } from "../model/namespace-config.ts";

export interface Estimate {
  /** The truth is below `low` as often as above `high`: half of what `confidence` leaves. */
  readonly low: number;
  /** The median. */
  readonly mid: number;
  readonly high: number;
  /** The probability that the truth lies between `low` and `high`. */
  readonly confidence: number;
}

/** How the events are distributed over ids. */
export type Skew =
  | { readonly distribution: NamedSkew; readonly parameter: Estimate }
  | { readonly percentiles: readonly RatePercentile[] };

export const NAMED_SKEWS = ["EVEN", "LOGNORMAL", "ZIPF", "PARETO"] as const;
export type NamedSkew = (typeof NAMED_SKEWS)[number];

/** What the parameter of each named distribution means is in docs/operate/provisioning.md. */
export const SKEW_PARAMETERS: Readonly<
  Record<NamedSkew, { readonly min: number; readonly max: number; readonly usual: number }>
> = {
  EVEN: { min: 0, max: 0, usual: 0 },
  LOGNORMAL: { min: 0, max: 4, usual: 1 },
  ZIPF: { min: 0, max: 3, usual: 1 },
  PARETO: { min: 1.01, max: 100, usual: 1.5 },
};

/** This percentage of the ids has at most this many events a day. */
export interface RatePercentile {
  readonly percentile: number;
  readonly eventsPerDay: number;
}

export interface Workload {
  readonly ids: Estimate;
  /** The mean over all ids. */
  readonly eventsPerDayPerId: Estimate;
  readonly skew: Skew;
  /** Of an event as the API encodes it, with its ids. */
  readonly eventBytes: Estimate;
  /** The rate of an id's busiest hour of a day, in multiples of its mean rate. */
  readonly burstiness: Estimate;
  readonly readIntervalSeconds: Estimate;
  /** A read ends after this many events, though its interval has more. */
  readonly eventsPerRead: Estimate;
  readonly readsPerSecond: Estimate;
  /** Undefined: ids times events a day. */
  readonly writesPerSecond: Estimate | undefined;
  /** Of the number of ids, and with it of reads and writes. */
  readonly growthPercentPerMonth: Estimate;
  /** Bytes on disk for each byte of events, on one replica. */
  readonly compressionRatio: Estimate;
  readonly replication: number;
  readonly zones: number;
  /** The infrastructure is enough for this long. */
  readonly horizonMonths: number;
}

/** An estimate as a caller gives it: `mid` alone is one number. */
export interface EstimateInput {
  readonly low?: number | undefined;
  readonly mid?: number | undefined;
  readonly high?: number | undefined;
  readonly confidence?: number | undefined;
}

/** A workload as a caller gives it. */
export interface WorkloadInput {
  readonly ids?: EstimateInput | undefined;
  readonly eventsPerDayPerId?: EstimateInput | undefined;
  readonly skew?:
    | {
        readonly distribution?: string | undefined;
        readonly parameter?: EstimateInput | undefined;
        readonly percentiles?: readonly RatePercentile[] | undefined;
      }
    | undefined;
  readonly eventBytes?: EstimateInput | undefined;
  readonly burstiness?: EstimateInput | undefined;
  readonly readIntervalSeconds?: EstimateInput | undefined;
  readonly eventsPerRead?: EstimateInput | undefined;
  readonly readsPerSecond?: EstimateInput | undefined;
  readonly writesPerSecond?: EstimateInput | undefined;
  readonly growthPercentPerMonth?: EstimateInput | undefined;
  readonly compressionRatio?: EstimateInput | undefined;
  readonly replication?: number | undefined;
  readonly zones?: number | undefined;
  readonly horizonMonths?: number | undefined;
  /** How long events can be read. */
  readonly retentionSeconds?: number | undefined;
  readonly acceptLimitSeconds?: number | undefined;
  readonly slos?:
    | {
        readonly read?: LatencyInput | undefined;
        readonly write?: LatencyInput | undefined;
      }
    | undefined;
  readonly consistency?: NamespaceConfig["consistency"] | undefined;
}

export interface LatencyInput {
  readonly targetMs?: number | undefined;
  readonly maxMs?: number | undefined;
}
