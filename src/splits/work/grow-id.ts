/**
 * Gives more event buckets to an id that was wide and is likely to be wide again, for future time
 * (rule C15).
 *
 * It runs after a split is confirmed, and only if the time bucket is recent: an id that was wide a
 * month ago says nothing about tomorrow. It never fails the split.
 */
import { addIdStep, ID_CHANGE_FENCED_MS, readIdSteps } from "../../records/id-strategies.ts";
import { durationOfMs } from "../../lib/time-units.ts";
import type { Namespace } from "../../model/namespace.ts";
import { eventBucketsOf, factorBaseOf, grownBuckets } from "../../model/partition.ts";
import type { SplitRecord } from "../../model/split.ts";
import { nextIdStep, untouchedFrom } from "../plan/id-growth.ts";
import type { SplitContext } from "./split-context.ts";
import type { WorkLocation } from "./work-location.ts";

/** A time bucket is recent until this many of its own widths after its end. */
const YOUNG_BUCKETS = 2;

/**
 * The share of a time bucket that must be covered to predict how wide its partitions become: a
 * burst in the first minutes does not represent the whole time bucket.
 */
const COVERED_SHARE_MIN = 0.5;

/** The id has `eventBuckets` event buckets from event time `from` on. */
export interface GrownId {
  readonly from: number;
  readonly eventBuckets: number;
}

/**
 * `namespace`: as the catalog has it now; it may have changed since the split began. Undefined if
 * the id gets no more event buckets.
 */
export async function growId(
  context: SplitContext,
  record: SplitRecord,
  namespace: Namespace,
  { slice, bucket }: Pick<WorkLocation, "slice" | "bucket">,
): Promise<GrownId | undefined> {
  const { catalog, clock, margins, observe } = context;
  if (context.clockInDoubt?.() === true) return undefined;
  const { partition } = record;
  const { seriesId, timeBucket } = partition;
  const { config } = namespace;
  const width = bucket.end - bucket.start;
  const nowMicros = clock.nowMicros();
  if (nowMicros > bucket.end + YOUNG_BUCKETS * width + config.acceptLimitMicros) return undefined;
  let [bytes, events] = [0, 0];
  for (const segment of record.segments) {
    bytes += segment.bytes;
    events += segment.events;
  }
  const coveredMicros = (record.segments.at(-1)?.to ?? bucket.start) - bucket.start;
  // A later segment checks again.
  if (coveredMicros < width * COVERED_SHARE_MIN) return undefined;
  // A process that does not share its catalog has one view: its reads know a step as soon as its
  // writes do.
  const changeMax = catalog.shared ? durationOfMs(ID_CHANGE_FENCED_MS) : margins.settle;
  const known = { margins, changeMaxMicros: changeMax.micros };
  try {
    const steps = await readIdSteps(catalog, namespace.id, seriesId);
    // Scales the covered time to the whole time bucket and to all its event buckets.
    const scale = (width / coveredMicros) * eventBucketsOf(slice, timeBucket, steps);
    const { targetBytes, eventsMax } = config.widePartition;
    const step = nextIdStep({
      slice,
      timePartition: config.timePartition,
      bytesInBucket: bytes * scale,
      targetBytes,
      eventsInBucket: events * scale,
      eventsMax,
      steps,
      nowMicros,
      futureLimitMicros: config.futureLimitMicros,
      ...known,
    });
    if (step === undefined) return undefined;
    // An operator may have raised the limit since the step was decided, and time has passed.
    const inTime = ({ config: { futureLimitMicros } }: Namespace): boolean =>
      untouchedFrom({ nowMicros: clock.nowMicros(), futureLimitMicros, ...known }) < step.from;
    if (!(await addIdStep(catalog, namespace.name, seriesId, step, inTime))) return undefined;
    const { from, factor } = step;
    observe({ kind: "id step", namespace: namespace.name, partition, factor });
    // The configuration for new slices may have changed since this slice was created.
    const { timePartition } = from < slice.end ? slice : config;
    const grown = { timePartition, factorBase: factorBaseOf(slice) };
    return { from, eventBuckets: grownBuckets(grown, factor) };
  } catch (error) {
    const what = "an id got no further event buckets";
    observe({ kind: "trouble", namespace: namespace.name, what, error });
    return undefined;
  }
}
