/**
 * Decides how an operator's request changes a split's record. Pure.
 *
 * Repeating a request changes nothing. If a request cannot be met, the error says what to do
 * instead.
 */
import { ServiceError } from "../../lib/errors.ts";
import type { OperatorRequest } from "../use-cases.ts";
import type { Namespace } from "../../model/namespace.ts";
import { movedSplit } from "../../model/split-moves.ts";
import type { MoveReason } from "../../model/split-moves.ts";
import { coveredTo } from "../../model/split.ts";
import type { SplitRecord, SplitState } from "../../model/split.ts";

/** In these states a worker owns the split or soon will. */
const UNDER_WAY: ReadonlySet<SplitState> = new Set([
  "DETECTED",
  "PLANNING",
  "PLANNED",
  "SPLITTING",
  "VALIDATING",
]);

export interface RequestContext {
  readonly operatorRequest: OperatorRequest;
  readonly nowMicros: number;
  readonly namespace: Pick<Namespace, "epoch" | "epochStarts">;
}

/** The record to write, or undefined if there is nothing to change. */
export type Decision = SplitRecord | undefined;

/** An existing split becomes due now, whatever it waits for. */
export function requested(
  record: SplitRecord,
  context: RequestContext,
  bucket: { readonly start: number; readonly end: number },
  force = false,
): Decision {
  if (record.heldBy !== null) {
    throw refused(record, `is held (${record.heldBy}) until it is retried; RetrySplit releases it`);
  }
  // This includes the second read that confirms a COMPLETED segment: it would have to begin again.
  if (UNDER_WAY.has(record.state) || record.owner !== null) return undefined;
  const covered = coveredTo(record, bucket.start, context.namespace);
  if (record.state === "COMPLETED" && covered >= bucket.end) return undefined;
  return begunAgain(record, context, "requested", force);
}

/** A split that failed, was refused, parked, invalidated or rolled back starts again. */
export function retried(record: SplitRecord, context: RequestContext): Decision {
  if (UNDER_WAY.has(record.state)) return undefined;
  if (record.state === "COMPLETED") {
    throw refused(
      record,
      "is COMPLETED: there is nothing to retry. RollbackSplit takes it back, and then it can be",
    );
  }
  return begunAgain(record, context, "retried");
}

/** Servers follow none of it any more, and a worker that owns it loses it (rule C8). */
export function rolledBack(
  record: SplitRecord,
  { operatorRequest, nowMicros }: RequestContext,
): Decision {
  if (record.state === "INVALIDATED" && record.heldBy !== null) return undefined;
  const why = whyOf("rolled back", operatorRequest, nowMicros);
  return movedSplit(record, "INVALIDATED", why, {
    segments: [],
    owner: null,
    fence: record.fence + 1,
    heldBy: operatorRequest.by,
    dueAt: null,
  });
}

/** The reason as the history records it. */
export function whyOf(what: string, { by, reason }: OperatorRequest, at: number): MoveReason {
  return { at, by, cause: "operator", reason: reason === "" ? what : `${what}: ${reason}` };
}

/** Completed segments are still served, and an interrupted copy can be continued. */
function begunAgain(
  record: SplitRecord,
  context: RequestContext,
  what: string,
  forced = false,
): SplitRecord {
  const { operatorRequest, nowMicros } = context;
  const why = whyOf(what, operatorRequest, nowMicros);
  return movedSplit(record, "DETECTED", why, {
    epoch: context.namespace.epoch,
    owner: null,
    fence: record.fence + 1,
    heldBy: null,
    askedBy: operatorRequest.by,
    forced: forced || undefined,
    failures: 0,
    dueAt: nowMicros,
  });
}

function refused({ partition, state }: SplitRecord, what: string): ServiceError {
  const { slice, seriesId, timeBucket, eventBucket } = partition;
  return new ServiceError("REQUEST_INVALID", `this split ${what}`, {
    details: { timeSlice: slice, timeSeriesId: seriesId, timeBucket, eventBucket, state },
  });
}
