/**
 * Gives an id that was wide, and soon will be again, more event buckets for time to come (rule
 * C15).
 *
 * Once a split is done, and only where its bucket is young: who was wide a month ago says nothing
 * about tomorrow. It never fails the split.
 */
import { addIdStep, ID_CHANGE_FENCED_MS, readIdSteps } from "../../records/id-strategies.ts";
import { durationOfMs } from "../../lib/time-units.ts";
import type { Namespace } from "../../model/namespace.ts";
import { eventBucketsOf } from "../../model/partition.ts";
import type { SplitRecord } from "../../model/split.ts";
import { nextIdStep, untouchedFrom } from "../plan/id-growth.ts";
import type { SplitContext } from "./split-context.ts";
import type { WorkLocation } from "./work-location.ts";

/** A bucket that ended more of its own widths ago than this is old. */
const YOUNG_BUCKETS = 2;

/**
 * Of a bucket, to tell from it how wide it will be: a burst in its first minutes is not what all of
 * it is like.
 */
const COVERED_SHARE_MIN = 0.5;

/** From an event time on the id has so many event buckets. */
export interface GrownId {
  readonly from: number;
  readonly eventBuckets: number;
}

/**
 * `namespace`: as the catalog has it now. It may have changed since the split was begun. Undefined
 * if the id gets no more.
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
  // A later segment asks again.
  if (coveredMicros < width * COVERED_SHARE_MIN) return undefined;
  // A process that has the catalog to itself has one view: who reads knows a step as soon as who
  // writes.
  const changeMax = catalog.shared ? durationOfMs(ID_CHANGE_FENCED_MS) : margins.settle;
  const known = { margins, changeMaxMicros: changeMax.micros };
  try {
    const steps = await readIdSteps(catalog, namespace.id, seriesId);
    // What is covered, as if it were the whole bucket, in each of its event buckets.
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
    // The limit may have been raised since the step was decided on, and time has passed.
    const inTime = ({ config: { futureLimitMicros } }: Namespace): boolean =>
      untouchedFrom({ nowMicros: clock.nowMicros(), futureLimitMicros, ...known }) < step.from;
    if (!(await addIdStep(catalog, namespace.name, seriesId, step, inTime))) return undefined;
    const { from, factor } = step;
    observe({ kind: "id step", namespace: namespace.name, partition, factor });
    // What slices are made with may have changed since this one was.
    const { eventBuckets } = from < slice.end ? slice.timePartition : config.timePartition;
    return { from, eventBuckets: eventBuckets * factor };
  } catch (error) {
    const what = "an id got no further event buckets";
    observe({ kind: "trouble", namespace: namespace.name, what, error });
    return undefined;
  }
}
