/**
 * Works on one split, from its current state until it rests: planned, copied, validated and
 * confirmed, or refused, parked or failed, with the reason in words.
 *
 * However the work stops, it leaves a record that says how to continue, and nothing that a reader
 * could follow by mistake.
 */
import { endWith, inSpan } from "../../lib/tracer.ts";
import { rescheduleSplit } from "../record/reschedule-splits.ts";
import { isSliceGone, moveSplit, removeIfGone } from "../record/move-split.ts";
import { readNamespace, settledFloorOf } from "../../records/namespace-records.ts";
import type { NamespaceRecord } from "../../records/namespace-records.ts";
import type { Catalog } from "../../ports/catalog.ts";
import type { PartitionKey } from "../../model/partition.ts";
import { movedSplit, restedSplit } from "../../model/split-moves.ts";
import type { MoveReason } from "../../model/split-moves.ts";
import { CLOSED_SLICE_MICROS, failedDueAt, SOON_MICROS } from "../../model/split-waits.ts";
import type { SplitRecord } from "../../model/split.ts";
import { floorSettledAt, settledLag } from "../../model/time-margins.ts";
import { Interruption, interruptionOf } from "./interruption.ts";
import { triage, nextStep, restingState } from "./triage.ts";
import type { Triage } from "./triage.ts";
import { outageMicros } from "./reschedule.ts";
import { newestSegment, withNewest } from "./newest-segment.ts";
import { copyLevel } from "./original-runs.ts";
import { OwnedSplit } from "./owned-split.ts";
import { planStep } from "./plan-step.ts";
import type { SplitContext } from "./split-context.ts";
import { confirmStep, copyStep, validateStep } from "./steps.ts";
import type { SplitJob } from "./split-job.ts";
import { WorkThrottle } from "./work-throttle.ts";
import { findLocation } from "./work-location.ts";
import type { WorkLocation } from "./work-location.ts";

/** The longest reason: an error message of the storage can be long. */
const REASON_LENGTH_MAX = 500;

/**
 * Works on an unowned split. Rejects if the catalog fails before the work begins; the record stays
 * due.
 */
export async function workOnSplit(
  context: SplitContext,
  record: SplitRecord,
  signal: AbortSignal,
): Promise<void> {
  const { clock } = context;
  const { heldBy, dueAt } = record;
  if (heldBy !== null || dueAt === null || dueAt > clock.nowMicros()) return;
  const location = await findLocation(context, record);
  if (location === "gone") {
    await removeIfGone(context.catalog, clock, record);
    return;
  }
  if (location === "closed" || location === "deleted") {
    const changes = { dueAt: clock.nowMicros() + CLOSED_SLICE_MICROS };
    const to = restingState(record);
    const reason = location === "closed" ? "the slice is closed" : "the namespace is deleted";
    await moveUnowned(context, record, { to, cause: "closed-slice", reason, changes });
    return;
  }
  const { namespace } = location;
  // A namespace that was restored may have another name.
  await workAt(context, location, { ...record, namespace: namespace.name }, signal);
  await rescheduleIfSealedSooner(context, namespace, record.partition);
}

async function workAt(
  context: SplitContext,
  location: WorkLocation,
  record: SplitRecord,
  signal: AbortSignal,
): Promise<void> {
  const { catalog, margins, clock, copyAtAll } = context;
  const { namespace, bucket } = location;
  const settledFloor = settledFloorOf(namespace);
  const lagMicros = settledLag(margins, catalog);
  const nowMicros = clock.nowMicros();
  const look = triage({ record, namespace, bucket, settledFloor, lagMicros, nowMicros });
  if (look.kind === "leave") return;
  if (look.kind === "move") {
    await moveUnowned(context, record, look);
    return;
  }
  const owned = await OwnedSplit.claim(context, record, look.to, look.reason, signal);
  if (owned === undefined) return;
  const newest = nextStep(record) === "plan" ? undefined : newestSegment(record);
  // The range that the next plan may freeze at most.
  const planned = { epoch: namespace.epoch, to: Math.min(settledFloor, bucket.end) };
  const throttle = new WorkThrottle(context, owned.record, newest ?? planned, namespace);
  const level = copyLevel(namespace, copyAtAll);
  try {
    await traced({ context, owned, location, throttle, settledFloor, level });
  } finally {
    await owned.close();
  }
}

/**
 * If an operator lowers the accept limit during the work, every waiting split becomes due sooner,
 * except the one this worker worked on, which now waits by the old limit. So the worker reads the
 * limit again after it has written the record: of the operator and the worker, the one that writes
 * second sees what the first has written.
 */
async function rescheduleIfSealedSooner(
  { catalog, clock, margins }: SplitContext,
  { name, id, config }: NamespaceRecord,
  partition: PartitionKey,
): Promise<void> {
  const now = await readNamespace(catalog, name);
  if (now?.id !== id || now.config.acceptLimitMicros >= config.acceptLimitMicros) return;
  const at = floorSettledAt(clock.nowMicros(), margins, catalog);
  await rescheduleSplit(catalog, clock, partition, at);
}

/** If the record still has an owner, that owner is dead, or loses the split by this move. */
async function moveUnowned(
  { catalog, clock, by, observe }: SplitContext,
  record: SplitRecord,
  { to, cause, reason, changes }: Omit<Extract<Triage, { kind: "move" }>, "kind">,
): Promise<void> {
  const fence = record.owner === null ? record.fence : record.fence + 1;
  const why = { at: clock.nowMicros(), by, cause, reason };
  const after = restedSplit(record, to, why, { ...changes, owner: null, fence });
  const written = await moveSplit(catalog, clock, record, after);
  if (written === undefined || record.state === to) return;
  const { namespace, partition } = record;
  observe({ kind: "moved", namespace, partition, from: record.state, to, cause, reason });
}

/** The work on a split is a trace of its own, and each step a span. */
async function traced(job: SplitJob): Promise<void> {
  const { context, owned } = job;
  const { namespace, partition, state } = owned.record;
  const span = context.tracer?.root("split", "INTERNAL", {
    "braid.namespace": namespace,
    "braid.slice": partition.slice,
    "braid.time_bucket": partition.timeBucket,
    "braid.event_bucket": partition.eventBucket,
    "braid.state_before": state,
  });
  if (span === undefined) return carryOn(job);
  await endWith(span, async () => {
    await span.run(() => carryOn(job));
    span.set({ "braid.state": owned.record.state });
  });
}

async function carryOn(job: SplitJob): Promise<void> {
  const { context, owned } = job;
  const step = <T>(name: string, work: (job: SplitJob) => Promise<T>): Promise<T> =>
    inSpan(context.tracer, name, {}, () => work(job));
  try {
    if (nextStep(owned.record) === "plan" && !(await step("plan", planStep))) return;
    if (nextStep(owned.record) === "copy") {
      await step("split table", requireSplitTable);
      await step("copy", copyStep);
    }
    if (nextStep(owned.record) === "validate") await step("validate", validateStep);
    if (nextStep(owned.record) === "confirm") await step("confirm", confirmStep);
  } catch (error) {
    await comeToRest(job, error);
  }
}

/** The first split of a slice waits here, as PLANNED, until the table for its parts is made. */
async function requireSplitTable({ context, owned, location }: SplitJob): Promise<void> {
  const { slice } = owned.record.partition;
  const table = await context.makeSplitTable(location.namespace, slice, owned.signal);
  if (table === "gone") throw new Interruption("gone", `slice ${slice} is dropped`);
}

/**
 * Leaves the record as the error requires. If that fails too, another process takes over when the
 * lease ends.
 */
async function comeToRest({ context, owned }: SplitJob, error: unknown): Promise<void> {
  const cause = interruptionOf(error)?.kind ?? "outage";
  // Overtaken: this process no longer owns the split. Gone: the record is removed with its slice.
  if (owned.over || cause === "overtaken" || cause === "gone") return;
  const { catalog, clock, by, observe } = context;
  const stopping = owned.signal.aborted;
  const { namespace, partition } = owned.record;
  // Nor does this process change a record of a slice whose tables it has found dropped.
  if (cause === "outage" && !stopping && (await isGone(catalog, partition))) return;
  if (!stopping && cause === "outage") {
    observe({ kind: "trouble", namespace, what: "a split could not continue", error });
  }
  const reason = bounded(error instanceof Error ? error.message : String(error));
  try {
    await owned.rest((record) => {
      // A process that stops records no error: another process continues at once.
      if (stopping) return record;
      return restedAfter(record, { at: clock.nowMicros(), by, cause, reason });
    });
  } catch (second) {
    if (interruptionOf(second)?.kind === "overtaken") return;
    observe({ kind: "trouble", namespace, what: "a split could not be parked", error: second });
  }
}

/** Unknown counts as there. */
async function isGone(catalog: Catalog, partition: PartitionKey): Promise<boolean> {
  return isSliceGone(catalog, partition).catch(() => false);
}

type Stop = MoveReason & { readonly cause: "mismatch" | "paused" | "reopened" | "outage" };

function restedAfter(record: SplitRecord, stop: Stop): SplitRecord {
  const { at, cause, reason } = stop;
  const to = restingState(record);
  switch (cause) {
    case "mismatch":
      return failedAfter(record, stop);
    case "paused":
      // It stays due, so that a worker continues as soon as it finds the pause over.
      return restedSplit(record, to, stop);
    case "reopened":
      return restedSplit(record, to, stop, { dueAt: at + SOON_MICROS });
    case "outage": {
      const why = { ...stop, reason: `could not continue: ${reason}` };
      return movedSplit(record, to, why, { dueAt: at + outageMicros(record) });
    }
  }
}

function failedAfter(record: SplitRecord, stop: Stop): SplitRecord {
  const failures = record.failures + 1;
  const dueAt = failedDueAt(failures, stop.at);
  const end = dueAt === null ? `; after ${failures} failures it waits for a retry` : "";
  const why = { ...stop, reason: `${stop.reason}${end}` };
  const failed = withNewest(record, { state: "FAILED", confirmedAt: null });
  return movedSplit(record, "FAILED", why, { ...failed, failures, dueAt });
}

function bounded(text: string): string {
  return text.length <= REASON_LENGTH_MAX ? text : `${text.slice(0, REASON_LENGTH_MAX)}…`;
}
