/**
 * What a worker does with a detection: sees to it that there is a record of the split, DETECTED, before
 * the message counts as done.
 *
 * Safe to repeat and to run beside itself: the record is made by compare-and-set if there is none, and
 * left alone if there is one. What no longer applies does nothing and is told to the observer. Only what
 * cannot be decoded is malformed. If the catalog fails it rejects, and the message comes again.
 */
import type { Clock } from "../lib/clock.ts";
import { ServiceError } from "../lib/errors.ts";
import { readNamespace } from "../metadata/namespace-records.ts";
import { readSplit, writeSplit } from "../metadata/split-records.ts";
import { decodeDetection } from "../model/detection.ts";
import type { Detection } from "../model/detection.ts";
import { blockOf } from "../model/namespace.ts";
import type { NamespaceView, ViewSource } from "../model/namespace.ts";
import { timeBucketRange } from "../model/partition.ts";
import type { Catalog } from "../ports/catalog.ts";
import type { MessageHandler } from "../ports/work-queue.ts";

/**
 * "recorded" is new, "known" was there. The others do nothing: the namespace is gone or another one by
 * the same name, the epoch is not the namespace's, the slice is gone, there is no such partition, the
 * id is blocked.
 */
export type RecordOutcome =
  | "recorded"
  | "known"
  | "namespace gone"
  | "other epoch"
  | "slice gone"
  | "no such partition"
  | "blocked";

export interface RecordDetectionOptions {
  readonly catalog: Catalog;
  readonly views: ViewSource;
  readonly clock: Clock;
  /** Which worker this is, for the history. */
  readonly by: string;
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
  const { catalog, views, clock, by } = options;
  const view = await viewOf(views, detection.namespace);
  if (view === undefined) return "namespace gone";
  const refusal = await refusalOf(catalog, detection, view, clock.nowMicros());
  if (refusal !== undefined) return refusal;

  const { epoch, bytes, events, immutable, detectedAt } = detection;
  const partition = {
    namespaceId: view.namespace.id,
    slice: detection.timeSlice,
    seriesId: detection.timeSeriesId,
    timeBucket: detection.timeBucket,
    eventBucket: detection.eventBucket,
  };
  if ((await readSplit(catalog, partition)) !== undefined) return "known";
  const reason = `a read saw ${bytes} bytes in ${events} events`;
  const written = await writeSplit(catalog, {
    partition,
    state: "DETECTED",
    epoch,
    bytes,
    events,
    immutable,
    detectedAt,
    history: [{ at: clock.nowMicros(), by, from: null, to: "DETECTED", reason }],
    version: 0,
  });
  // Somebody else has made it between the two.
  return written === undefined ? "known" : "recorded";
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
  if (detection.detectedAt < namespace.createdAt) return "namespace gone";
  if (detection.epoch !== (await epochFor(catalog, detection, view))) return "other epoch";
  const slice = view.slices.find(({ name }) => name === detection.timeSlice);
  if (slice === undefined) return "slice gone";
  // Event buckets are not checked: an id may come to have more of them than its slice.
  if (timeBucketRange(slice, detection.timeBucket).start >= slice.end) return "no such partition";
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
