/** The same data as a workload for Braid's own planner (`braid plan`). Pure. */
import { DAY_MICROS } from "./limits.ts";
import type { Advice } from "./advise.ts";
import { rowsOf } from "./sample.ts";
import type { SampledPartition } from "./sample.ts";
import { quantileTable } from "./weighted.ts";
import { busiestWindow } from "./partition-load.ts";

interface Mid {
  readonly mid: number;
}

/** In the form of a workload of the planner. */
export interface BraidWorkload {
  readonly ids: Mid;
  readonly eventsPerDayPerId: Mid;
  readonly skew: {
    readonly percentiles: readonly { readonly percentile: number; readonly eventsPerDay: number }[];
  };
  readonly eventBytes: Mid;
  readonly burstiness: Mid;
  readonly readIntervalSeconds: Mid;
  readonly eventsPerRead: Mid;
  readonly retentionSeconds: number;
}

const PERCENTILES = [1, 10, 25, 50, 75, 90, 95, 99, 99.9, 100];
const DAY_SECONDS = 86_400;

/** Undefined if the table has no time, which every event has. */
export function braidWorkload({
  sample,
  facts,
  limits,
  judged,
}: Advice): BraidWorkload | undefined {
  if (Number.isNaN(facts.spanMicros)) return undefined;
  const days = Math.max(1 / 24, facts.spanMicros / DAY_MICROS);
  const rates = sample.partitions.map((partition) => ({
    value: rowsOf(partition) / days,
    weight: partition.weight,
  }));
  const served = (judged[0]?.measured.queries ?? []).filter((each) => each.served);
  const asked = served.toSorted((a, b) => b.query.frequency - a.query.frequency)[0];
  const spanSeconds = facts.spanMicros / 1e6;
  const interval = (asked?.query.rangeMicros ?? facts.spanMicros) / 1e6;
  return {
    ids: { mid: Math.max(1, Math.round(facts.keys)) },
    eventsPerDayPerId: { mid: facts.rows / facts.keys / days },
    skew: {
      percentiles: quantileTable(rates, PERCENTILES).map(({ percentile, value }) => ({
        percentile,
        eventsPerDay: value,
      })),
    },
    eventBytes: { mid: clamp(Math.round(facts.bytes / facts.rows), 1, 1_048_576) },
    burstiness: { mid: burstinessOf(sample.partitions) },
    readIntervalSeconds: { mid: clamp(interval, 1, spanSeconds) },
    eventsPerRead: { mid: Math.max(1, Math.round(asked?.rows ?? 1_000)) },
    retentionSeconds: Math.max(1, Math.ceil(days)) * DAY_SECONDS,
  };

  /** The busiest window of a key by its mean, weighted by rows. */
  function burstinessOf(partitions: readonly SampledPartition[]): number {
    let [sum, whole] = [0, 0];
    for (const partition of partitions) {
      // A window needs rows enough to mean something.
      if (partition.rows.length < 100) continue;
      const rows = rowsOf(partition);
      const { perSecond } = busiestWindow(partition.rows, facts, limits);
      sum += partition.weight * rows * (perSecond / (rows / spanSeconds));
      whole += partition.weight * rows;
    }
    return whole === 0 ? 2 : clamp(sum / whole, 1, 24);
  }
}

function clamp(value: number, min: number, max: number): number {
  return Math.min(max, Math.max(min, value));
}
