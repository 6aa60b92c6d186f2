/**
 * What a worker does with a detection: sees to it that there is a record of the split, and that
 * somebody looks at it, before the message counts as done.
 *
 * Safe to repeat and to run beside itself: every change is compare-and-set, and a process that is
 * overtaken does nothing more. A detection that no longer applies changes nothing and is reported
 * to the observer. Only what cannot be decoded is malformed. If the catalog fails it rejects, and
 * the message comes again.
 */
import type { Clock } from "../../lib/clock.ts";
import { ServiceError } from "../../lib/errors.ts";
import { readNamespace } from "../../records/namespace-records.ts";
import { moveSplit } from "../record/move-split.ts";
import { readSplit } from "../../records/split-records.ts";
import { decodeDetection } from "../../model/detection.ts";
import type { Detection } from "../../model/detection.ts";
import { blockOf } from "../../model/namespace.ts";
import type { NamespaceView, ViewSource } from "../../model/namespace.ts";
import { timeBucketRange } from "../../model/partition.ts";
import type { PartitionKey } from "../../model/partition.ts";
import { movedSplit, newSplit } from "../../model/split-moves.ts";
import { coveredTo } from "../../model/split.ts";
import type { SplitRecord } from "../../model/split.ts";
import type { Catalog } from "../../ports/catalog.ts";
import type { MessageHandler } from "../../ports/work-queue.ts";

/**
 * What was refused is looked at again when this long has passed, or when it has grown this much.
 */
const REFUSAL_STANDS_MICROS = 3_600_000_000;
const REFUSAL_GROWTH = 2;
/** A split that is looked at within this long needs no telling. */
const SOON_MICROS = 60_000_000;

/**
 * "recorded" is new, "known" was there, "again" was there and is looked at once more. The others do
 * nothing: the namespace is gone or another one by the same name, the epoch is not the namespace's,
 * the slice is gone, there is no such partition, the id is blocked.
 */
export type RecordOutcome =
  | "recorded"
  | "known"
  | "again"
  | "namespace_gone"
  | "other_epoch"
  | "slice_gone"
  | "no_such_partition"
  | "blocked";

export interface RecordDetectionOptions {
  readonly catalog: Catalog;
  readonly views: ViewSource;
  readonly clock: Clock;
  /** Which worker this is, for the history. */
  readonly by: string;
  /** Told of a split that is due now, so that it need not wait for a sweeper. */
  readonly nudge?: (partition: PartitionKey) => void;
  readonly observe?: (namespace: string, outcome: RecordOutcome) => void;
}

/** The handler of a worker. */
export function recordDetection(options: RecordDetectionOptions): MessageHandler {
  return async ({ value }) => {
    const decoded = decodeDetection(value);
    if (decoded.kind === "malformed") return decoded;
    const outcome = await record(options, decoded.detection);
    options.observe?.(decoded.detection.namespace, outcome);
    return { kind: "done" };
  };
}

async function record(
  options: RecordDetectionOptions,
  detection: Detection,
): Promise<RecordOutcome> {
  const { catalog, views, clock } = options;
  const view = await viewOf(views, detection.namespace);
  if (view === undefined) return "namespace_gone";
  const refusal = await refusalOf(catalog, detection, view, clock.nowMicros());
  if (refusal !== undefined) return refusal;

  const partition = {
    namespaceId: view.namespace.id,
    slice: detection.timeSlice,
    seriesId: detection.timeSeriesId,
    timeBucket: detection.timeBucket,
    eventBucket: detection.eventBucket,
  };
  const before = await readSplit(catalog, partition);
  const after = recordAfter(options, detection, view, partition, before);
  if (after === undefined) return "known";
  // Who is overtaken leaves it to the other: of two that make a record one is enough.
  if ((await moveSplit(catalog, clock, before, after)) === undefined) return "known";
  options.nudge?.(partition);
  return before === undefined ? "recorded" : "again";
}

/** The record as the detection wants it, or undefined if it has nothing to say. */
function recordAfter(
  { clock, by }: RecordDetectionOptions,
  detection: Detection,
  view: NamespaceView,
  partition: PartitionKey,
  before: SplitRecord | undefined,
): SplitRecord | undefined {
  const { epoch, bytes, events, immutable, detectedAt } = detection;
  const at = clock.nowMicros();
  const reason = `a read saw ${bytes} bytes in ${events} events`;
  const why = { at, by, cause: "detection" as const, reason };
  const seen = { epoch, bytes, events, immutable, detectedAt };
  if (before === undefined) {
    return newSplit({ partition, namespace: view.namespace.name, ...seen }, why);
  }
  if (before.state === "REFUSED" && refusalIsOver(before, detection, at)) {
    return movedSplit(before, "DETECTED", why, { ...seen, dueAt: at });
  }
  if (before.state === "COMPLETED" && hasMore(before, view, at)) {
    const outside = { ...why, reason: `${reason} outside what is split` };
    return movedSplit(before, "COMPLETED", outside, { bytes, events, dueAt: at });
  }
  return undefined;
}

function refusalIsOver(record: SplitRecord, detection: Detection, nowMicros: number): boolean {
  if (record.heldBy !== null) return false;
  const refusedAt = record.history.at(-1)?.at ?? record.detectedAt;
  return (
    nowMicros - refusedAt > REFUSAL_STANDS_MICROS ||
    detection.bytes >= record.bytes * REFUSAL_GROWTH ||
    detection.events >= record.events * REFUSAL_GROWTH
  );
}

/** Whether some of the bucket is not split, and nobody looks at it soon. */
function hasMore(record: SplitRecord, view: NamespaceView, nowMicros: number): boolean {
  const { partition, dueAt, heldBy } = record;
  if (heldBy !== null || (dueAt !== null && dueAt <= nowMicros + SOON_MICROS)) return false;
  const slice = view.slices.find(({ name }) => name === partition.slice);
  if (slice === undefined) return false;
  const bucket = timeBucketRange(slice, partition.timeBucket);
  return coveredTo(record, bucket.start) < bucket.end;
}

async function viewOf(views: ViewSource, name: string): Promise<NamespaceView | undefined> {
  try {
    return await views.get(name);
  } catch (error) {
    if (error instanceof ServiceError && error.code === "NAMESPACE_NOT_FOUND") return undefined;
    throw error;
  }
}

async function refusalOf(
  catalog: Catalog,
  detection: Detection,
  view: NamespaceView,
  nowMicros: number,
): Promise<RecordOutcome | undefined> {
  const { namespace } = view;
  // The message has the name alone: what was seen before this namespace was made is another's.
  if (detection.detectedAt < namespace.createdAt) return "namespace_gone";
  if (detection.epoch !== (await epochFor(catalog, detection, view))) return "other_epoch";
  const slice = view.slices.find(({ name }) => name === detection.timeSlice);
  if (slice === undefined) return "slice_gone";
  // Event buckets are not checked: an id may come to have more of them than its slice.
  if (timeBucketRange(slice, detection.timeBucket).start >= slice.end) return "no_such_partition";
  if (blockOf(view, detection.timeSeriesId, nowMicros) !== undefined) return "blocked";
  return undefined;
}

/** The namespace's epoch. A detection that is ahead of the view may be right: the catalog knows. */
async function epochFor(
  catalog: Catalog,
  detection: Detection,
  { namespace }: NamespaceView,
): Promise<number> {
  if (detection.epoch <= namespace.epoch) return namespace.epoch;
  const record = await readNamespace(catalog, namespace.name);
  return record !== undefined && record.id === namespace.id ? record.epoch : namespace.epoch;
}
