/**
 * Handles a detection in a worker: creates the record of the split and nudges a worker, before the
 * message counts as done.
 *
 * Safe to repeat and to run concurrently: every change is compare-and-set, and a process that loses
 * one does nothing more. A detection that no longer applies changes nothing and is reported to the
 * observer. Only a message that cannot be decoded is malformed. If the catalog fails, the handler
 * rejects and the queue delivers the message again.
 */
import { quantity } from "../../lib/quantity.ts";
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
 * A refused split is tried again after this time, or when the partition has grown by this factor.
 */
const REFUSAL_STANDS_MICROS = 3_600_000_000;
const REFUSAL_GROWTH = 2;
/** A split that is due within this time needs no nudge. */
const SOON_MICROS = 60_000_000;

/**
 * "recorded": the record is new. "known": it existed. "again": it existed and is now due again. The
 * other outcomes change nothing: the namespace is gone or is another one of the same name, the
 * epoch is not the namespace's, the slice is gone, the partition does not exist, or the id is
 * blocked.
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
  /** The name of this worker, for the history. */
  readonly by: string;
  /** Called with a split that is due now, so that it does not wait for a sweeper. */
  readonly nudge?: (partition: PartitionKey) => void;
  readonly observe?: (namespace: string, outcome: RecordOutcome) => void;
}

/** The message handler of a worker. */
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
  // A process that loses the compare-and-set stops: one of two that create a record is enough.
  if ((await moveSplit(catalog, clock, before, after)) === undefined) return "known";
  options.nudge?.(partition);
  return before === undefined ? "recorded" : "again";
}

/** The record after the detection, or undefined if the detection changes nothing. */
function recordAfter(
  { clock, by }: RecordDetectionOptions,
  detection: Detection,
  view: NamespaceView,
  partition: PartitionKey,
  before: SplitRecord | undefined,
): SplitRecord | undefined {
  const { epoch, bytes, events, immutable, detectedAt } = detection;
  const at = clock.nowMicros();
  const reason = `a read saw ${quantity(bytes, "byte")} in ${quantity(events, "event")}`;
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

/** Whether part of the bucket is not split, and the split is neither held nor due soon. */
function hasMore(record: SplitRecord, view: NamespaceView, nowMicros: number): boolean {
  const { partition, dueAt, heldBy } = record;
  if (heldBy !== null || (dueAt !== null && dueAt <= nowMicros + SOON_MICROS)) return false;
  const slice = view.slices.find(({ name }) => name === partition.slice);
  if (slice === undefined) return false;
  const bucket = timeBucketRange(slice, partition.timeBucket);
  return coveredTo(record, bucket.start, view.namespace) < bucket.end;
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
  // The message has only the name: a detection older than this namespace belongs to another one.
  if (detection.detectedAt < namespace.createdAt) return "namespace_gone";
  if (detection.epoch !== (await epochFor(catalog, detection, view))) return "other_epoch";
  const slice = view.slices.find(({ name }) => name === detection.timeSlice);
  if (slice === undefined) return "slice_gone";
  // Event buckets are not checked: an id may get more event buckets than its slice has.
  if (timeBucketRange(slice, detection.timeBucket).start >= slice.end) return "no_such_partition";
  if (blockOf(view, detection.timeSeriesId, nowMicros) !== undefined) return "blocked";
  return undefined;
}

/** The namespace's epoch. If the detection is ahead of the view, the catalog decides. */
async function epochFor(
  catalog: Catalog,
  detection: Detection,
  { namespace }: NamespaceView,
): Promise<number> {
  if (detection.epoch <= namespace.epoch) return namespace.epoch;
  const record = await readNamespace(catalog, namespace.name);
  return record !== undefined && record.id === namespace.id ? record.epoch : namespace.epoch;
}
