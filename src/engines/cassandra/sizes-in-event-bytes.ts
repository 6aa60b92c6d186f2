/**
 * Converts the sizes that Cassandra reports to bytes of events, which all other sources report.
 *
 * Cassandra counts rows as it stores them: an event of its partition lacks the series id, and has a
 * few bytes of its own. So the bytes of events that were written to the slice are compared with the
 * bytes that Cassandra has in its files, and sizes grow by that ratio. It is bounded: events that
 * are not flushed yet, or were written twice, would make it too large.
 */
import type { SliceRef } from "../../model/partition.ts";
import type { SliceStats } from "../../ports/event-store.ts";
import type { PartitionSizes, SizeReport } from "../../ports/partition-sizes.ts";

/** An event has the series id besides its row, so it is not smaller. */
const RATIO_MIN = 1;
/** Short events with a long id. */
const RATIO_MAX = 3;
/** Below this the sizes are as good as they were. */
const WORTH = 1.01;

export function inEventBytes(
  source: PartitionSizes,
  statsOf: (slice: SliceRef) => Promise<SliceStats>,
): PartitionSizes {
  return {
    source: source.source,
    sizesOf: async (slice, signal) => {
      const report = await source.sizesOf(slice, signal);
      if (report.kind === "none" || report.count === 0) return report;
      // Counts are for people; without them the sizes stay as Cassandra reports them.
      const stats = await statsOf(slice).catch(() => undefined);
      return stats === undefined ? report : converted(report, stats.bytes);
    },
  };
}

function converted(report: SizeReport, eventBytes: number): SizeReport {
  const rowBytes = report.meanBytes * report.count;
  const ratio = Math.min(RATIO_MAX, Math.max(RATIO_MIN, eventBytes / Math.max(1, rowBytes)));
  if (ratio < WORTH) return report;
  const percent = Math.round((ratio - 1) * 100);
  return {
    ...report,
    meanBytes: Math.round(report.meanBytes * ratio),
    maxBytes: Math.round(report.maxBytes * ratio),
    histogram: report.histogram?.resized(ratio),
    tells: `${report.tells}; converted to bytes of events: ${percent} % more, by what was written`,
  };
}
