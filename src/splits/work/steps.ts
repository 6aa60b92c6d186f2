/** The steps of an owned and planned split, one for each state it goes through. */
import { quantity } from "../../lib/quantity.ts";
import { SizeHistogram } from "../../model/size-histogram.ts";
import type { Distribution } from "../../model/size-histogram.ts";
import { movedSplit } from "../../model/split-moves.ts";
import { routeSegmentOf } from "../../model/split.ts";
import type { PartRecord, Segment, SplitRecord } from "../../model/split.ts";
import { strategyOf } from "../../model/strategies/strategies.ts";
import { settledLag } from "../../model/time-margins.ts";
import { combineDigests } from "../../parts/range-digest.ts";
import { formatTime } from "../../wire/time-text.ts";
import { listedParts } from "./compare-parts.ts";
import { confirmSegment } from "./confirm-segment.ts";
import { copyOrdered, FIRST_PARTS } from "./copy-ordered.ts";
import { copySpread } from "./copy-spread.ts";
import { withFirstDifference } from "./first-difference.ts";
import { growId } from "./grow-id.ts";
import type { GrownId } from "./grow-id.ts";
import { interruptionOf } from "./interruption.ts";
import { nextRangeAt } from "./reschedule.ts";
import { newestSegment, withNewest } from "./newest-segment.ts";
import { countParts, reserveParts } from "./part-numbers.ts";
import { mergedLatency, probeSplit } from "./probe-reads.ts";
import { segmentOf } from "./split-job.ts";
import type { SplitJob } from "./split-job.ts";
import { validateSegment } from "./validate-segment.ts";

export async function copyStep(job: SplitJob): Promise<void> {
  const { context, owned, location, level } = job;
  const { namespace } = location;
  const segment = segmentOf(job);
  const strategy = strategyOf(segment);
  const others = owned.record.segments.slice(0, -1).flatMap(({ partRanges }) => partRanges);
  const maxParts = Math.max(1, namespace.config.widePartition.maxParts - countParts(others));
  if (segment.copiedTo > segment.from) {
    let firstPart = 0;
    const begin = (record: SplitRecord): Partial<SplitRecord> => {
      firstPart = record.nextPart;
      const count = strategy.ordered ? FIRST_PARTS : segment.partsPlanned;
      return { ...reserveParts(record, count), ...withNewest(record, { state: "SPLITTING" }) };
    };
    if (owned.record.state === "SPLITTING") {
      await owned.change((record) => ({ ...record, ...begin(record) }));
    } else {
      const reason = `copying at ${level.consistency}, generation ${segment.generation}`;
      await owned.move("SPLITTING", "copy", reason, begin);
    }
    if (strategy.ordered) await copyOrdered(job, strategy, firstPart, maxParts);
    else await copySpread(job, strategy, firstPart);
  }
  const parts = await listedParts(context.catalog, owned.record.partition, segmentOf(job));
  const checksum = combineDigests(parts);
  await owned.move("VALIDATING", "copied", `copied: ${amountOf(segmentOf(job))}`, (record) =>
    withNewest(record, {
      state: "VALIDATING",
      checksum,
      partSizes: sizesOf(parts),
      why: whyOf(newestSegment(record), parts, maxParts),
    }),
  );
}

function sizesOf(parts: readonly PartRecord[]): Distribution {
  const sizes = new SizeHistogram();
  for (const { bytes } of parts) sizes.add(bytes);
  return sizes.distribution();
}

/** Adds to the reason if the copy reached the maximum number of parts. */
function whyOf(
  segment: Segment | undefined,
  parts: readonly PartRecord[],
  maxParts: number,
): string {
  if (segment === undefined) return "";
  const { why, partBytes } = segment;
  const last = parts.at(-1);
  // Only a strategy that cuts parts when full can make a part larger than planned because of the
  // maximum number of parts.
  const ranOut = strategyOf(segment).onePass && parts.length >= maxParts;
  if (!ranOut || last === undefined || last.bytes < 2 * partBytes) return why;
  return `${why}; part ${parts.length}, the last there may be, took the rest: ${quantity(last.bytes, "byte")}`;
}

export async function validateStep(job: SplitJob): Promise<void> {
  const { owned, throttle } = job;
  const { found: copyChecksum } = await compareParts(job, validateSegment);
  // No later epoch may have opened the time of the copy (rule C3).
  await throttle.ask();
  const reason = `validated: the copy, read back, is ${amountOf(segmentOf(job))}`;
  await owned.move("COMPLETED", "validated", reason, (record) =>
    withNewest(record, { state: "COMPLETED", copyChecksum }),
  );
}

export async function confirmStep(job: SplitJob): Promise<void> {
  const { context, owned, throttle, location } = job;
  const { catalog, clock, by, margins, observe } = context;
  const { parts: listed } = await compareParts(job, confirmSegment);
  const namespaceNow = await throttle.ask();
  const { config } = namespaceNow;
  const measured = await probeSplit(
    { ...context, partition: owned.record.partition, config },
    routeSegmentOf(segmentOf(job)),
    listed,
    owned.signal,
  );
  const reason = confirmedWhy(await growId(context, owned.record, namespaceNow, location));
  const { bucket } = location;
  const lagMicros = settledLag(margins, catalog);
  const after = await owned.rest((record) => {
    const at = clock.nowMicros();
    const confirmed = withNewest(record, { confirmedAt: at });
    const { latency } = record;
    const next = { record, bucket, config, lagMicros, nowMicros: at };
    return movedSplit(
      record,
      "COMPLETED",
      { at, by, cause: "confirmed", reason },
      {
        ...confirmed,
        latency: { ...latency, after: mergedLatency(latency.after, measured) },
        failures: 0,
        dueAt: nextRangeAt(next),
      },
    );
  });
  const { namespace, partition, segments } = after;
  const partitionBytes = segments.reduce((sum, segment) => sum + segment.bytes, 0);
  const { bytes, partRanges } = newestSegment(after) ?? { bytes: 0, partRanges: [] };
  const parts = countParts(partRanges);
  observe({ kind: "split", namespace, partition, bytes, parts, partitionBytes });
}

/** The history of the split says from when on the id has more event buckets. */
function confirmedWhy(grown: GrownId | undefined): string {
  const why = "confirmed: a second read of the original agrees with the copy";
  if (grown === undefined) return why;
  return `${why}; from ${formatTime(grown.from)} on the id has ${quantity(grown.eventBuckets, "event bucket")}`;
}

/** Compares the listed parts, and reports a difference with the first event that differs. */
async function compareParts<T>(
  job: SplitJob,
  compare: (job: SplitJob, parts: readonly PartRecord[]) => Promise<T>,
): Promise<{ readonly parts: readonly PartRecord[]; readonly found: T }> {
  const { context, owned } = job;
  const parts = await listedParts(context.catalog, owned.record.partition, segmentOf(job));
  try {
    return { parts, found: await compare(job, parts) };
  } catch (error) {
    const found = interruptionOf(error);
    throw found?.kind === "mismatch" ? await withFirstDifference(job, parts, found) : error;
  }
}

function amountOf({ partRanges, bytes, events }: Segment): string {
  const parts = quantity(countParts(partRanges), "part");
  return `${parts}, ${quantity(events, "event")}, ${quantity(bytes, "byte")}`;
}
