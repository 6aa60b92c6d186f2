/**
 * Measures what a split gains: the worker reads a few pages of the original before the copy, and
 * the same ranges of the copy once it is confirmed.
 *
 * The results are for operators and for the planner. They cost a few small reads and at most two
 * seconds. A read that fails or takes longer is left out, and never fails the split.
 */
import type { Clock } from "../../lib/clock.ts";
import { LinkedAbort } from "../../lib/linked-abort.ts";
import { within } from "../../lib/within.ts";
import type { NamespaceConfig } from "../../model/namespace-config.ts";
import type { PartitionKey } from "../../model/partition.ts";
import { NO_LATENCY } from "../../model/split.ts";
import type { PartRecord, RouteSegment, SeenLatency } from "../../model/split.ts";
import { PartitionReader } from "../../partition/partition-reader.ts";
import { SegmentReader } from "../../parts/segment-reader.ts";
import type { EventStore, Order, ServiceLevel } from "../../ports/event-store.ts";
import type { Run } from "../../wire/frames.ts";

export const PROBES = 6;
const PAGE_EVENTS = 100;
const PAGE_BYTES = 256 * 1024;
const PROBING_MS_MAX = 2_000;

export interface ProbeTarget {
  readonly store: EventStore;
  readonly clock: Clock;
  readonly partition: PartitionKey;
  readonly config: NamespaceConfig;
}

interface Probe {
  readonly from: number;
  readonly to: number;
  readonly order: Order;
}

interface ProbedSource {
  next(): Promise<Run | undefined>;
  close(): Promise<void>;
}

export function probeOriginal(
  location: ProbeTarget,
  range: { readonly from: number; readonly to: number },
  signal: AbortSignal,
): Promise<SeenLatency> {
  const { store, clock, partition, config } = location;
  const sizes = { after: undefined, runEventsMax: PAGE_EVENTS, runBytesMax: PAGE_BYTES };
  const level = callersLevel(config);
  return probed(clock, range, signal, (probe, stop) => {
    const scanned = { ...probe, ...sizes, level };
    return new PartitionReader(store, clock, partition, scanned, stop);
  });
}

export function probeSplit(
  location: ProbeTarget,
  segment: RouteSegment,
  parts: readonly PartRecord[],
  signal: AbortSignal,
): Promise<SeenLatency> {
  const { store, clock, partition, config } = location;
  const meanBytes = segment.events === 0 ? 0 : segment.bytes / segment.events;
  const firstBytes = Math.min(PAGE_BYTES, Math.ceil(PAGE_EVENTS * meanBytes));
  const sizes = { after: undefined, runBytesMax: PAGE_BYTES, firstBytes };
  // Parts are written to a majority, and servers read them from a majority at least.
  const level = { ...callersLevel(config), consistency: "READ_YOUR_WRITES" as const };
  return probed(clock, segment, signal, (probe, stop) => {
    const wanted = { ...probe, ...sizes, level };
    return new SegmentReader(store, partition, segment, parts, wanted, stop);
  });
}

/** Combines two measurements. */
export function mergedLatency(a: SeenLatency, b: SeenLatency): SeenLatency {
  const reads = a.reads + b.reads;
  if (reads === 0) return NO_LATENCY;
  return {
    reads,
    meanMs: (a.meanMs * a.reads + b.meanMs * b.reads) / reads,
    maxMs: Math.max(a.maxMs, b.maxMs),
  };
}

/**
 * Probes spread over a range, alternating between both orders; the same range gives the same
 * probes.
 */
export function probesOf({
  from,
  to,
}: {
  readonly from: number;
  readonly to: number;
}): readonly Probe[] {
  return Array.from({ length: PROBES }, (_, nth) => {
    const at = from + Math.floor(((to - from) * (nth + 0.5)) / PROBES);
    return nth % 2 === 0
      ? { from, to: at, order: "NEWEST_FIRST" as const }
      : { from: at, to, order: "OLDEST_FIRST" as const };
  });
}

/** Never rejects. */
async function probed(
  clock: Clock,
  range: { readonly from: number; readonly to: number },
  signal: AbortSignal,
  open: (probe: Probe, stop: AbortSignal) => ProbedSource,
): Promise<SeenLatency> {
  let seen = NO_LATENCY;
  if (range.from >= range.to) return seen;
  const stop = new LinkedAbort(signal);
  const all = async (): Promise<void> => {
    for (const probe of probesOf(range)) {
      if (stop.signal.aborted) return;
      const startedMs = clock.monotonicMs();
      const events = await pageOf(open(probe, stop.signal));
      const tookMs = clock.monotonicMs() - startedMs;
      // An empty read measures nothing, and the duration of an aborted read is meaningless.
      if (events === 0 || stop.signal.aborted) continue;
      seen = mergedLatency(seen, { reads: 1, meanMs: tookMs, maxMs: tookMs });
    }
  };
  try {
    await within(clock, PROBING_MS_MAX, "measuring reads", all());
  } catch {
    // Keeps what was measured until then.
  } finally {
    stop.abort();
  }
  return seen;
}

/** Reads a page and returns its number of events; 0 if the read failed. */
async function pageOf(source: ProbedSource): Promise<number> {
  let events = 0;
  try {
    while (events < PAGE_EVENTS) {
      const run = await source.next();
      if (run === undefined) break;
      events += run.count;
    }
    return events;
  } catch {
    return 0;
  } finally {
    await source.close().catch(() => undefined);
  }
}

/** The level of a caller's read, because the measurement is for callers. */
function callersLevel({ consistency, slos }: NamespaceConfig): ServiceLevel {
  return { consistency, ...slos.read };
}
