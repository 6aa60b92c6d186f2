/** The first step of an owned split: decides what to copy next and how, or why to copy nothing. */
import { blockOf } from "../../model/namespace.ts";
import { movedSplit, restedSplit } from "../../model/split-moves.ts";
import { coveredTo } from "../../model/split.ts";
import type { SplitRecord } from "../../model/split.ts";
import { settledLag } from "../../model/time-margins.ts";
import { planSegment, surveyLimits } from "../plan/plan-segment.ts";
import type { SplitPlan, Survey } from "../plan/plan-segment.ts";
import { restingState } from "./triage.ts";
import { RANGE_MICROS_MIN } from "../../model/split-waits.ts";
import { nextRangeAt } from "./reschedule.ts";
import { completedSegments } from "./newest-segment.ts";
import { mergedLatency, probeOriginal } from "./probe-reads.ts";
import type { SplitJob } from "./split-job.ts";
import { surveyRange } from "./survey.ts";

/** False: the step has released the split, and there is nothing to copy. */
export async function planStep(job: SplitJob): Promise<boolean> {
  const { owned } = job;
  const { plan, latency, size } = await decide(job);
  if (plan.kind !== "segment") {
    await owned.rest((record) => unplanned(job, { ...record, latency }, { plan, size }));
    return false;
  }
  const { segment } = plan;
  await owned.move("PLANNED", "plan", segment.why, (record) => ({
    segments: [...completedSegments(record), segment],
    nextGeneration: segment.generation + 1,
    latency,
  }));
  return true;
}

interface Decision {
  readonly plan: SplitPlan;
  /** Includes the measured reads of the original, unless the plan is to park the split. */
  readonly latency: SplitRecord["latency"];
  /** The partition's size: exact if the survey read all of it, else the largest amount seen. */
  readonly size: Pick<SplitRecord, "bytes" | "events">;
}

async function decide(job: SplitJob): Promise<Decision> {
  const { context, owned, location, settledFloor } = job;
  const { clock } = context;
  const { namespace, view, slice, bucket } = location;
  const { config } = namespace;
  // A failed segment is planned again and does not count.
  const record = { ...owned.record, segments: completedSegments(owned.record) };
  const { partition, latency } = record;
  const from = coveredTo(record, bucket.start, namespace);
  const to = Math.min(settledFloor, bucket.end);
  const closed = to === bucket.end;
  const limits = surveyLimits(config, record, closed);
  const range = { from, to };
  const survey = await surveyRange(job, range, limits);
  const size = sizeOf(record, survey, closed && from === bucket.start && limits.bytes > 0);
  const nowMicros = clock.nowMicros();
  const input = {
    config,
    slice,
    record,
    bucket,
    from,
    to,
    epoch: namespace.epoch,
    closed,
    blocked: blockOf(view, partition.seriesId, nowMicros) !== undefined,
    nowMicros,
    survey,
    byOperator: record.askedBy !== null,
  };
  const plan = planSegment(input);
  // A split that waits for more sealed time is checked often and need not be measured each time.
  if (plan.kind === "parked" && plan.cause === "waiting") return { plan, latency, size };
  const measured = await probeOriginal({ ...context, partition, config }, range, owned.signal);
  const now = { ...latency, before: mergedLatency(latency.before, measured) };
  const last = planSegment({ ...input, record: { ...record, latency: now } });
  return { plan: last, latency: now, size };
}

/**
 * `all`: the survey was for the whole bucket, and the bucket is closed. A survey that stopped early
 * has seen only some of it.
 */
function sizeOf(record: SplitRecord, survey: Survey, all: boolean): Decision["size"] {
  if (all && survey.whole) return { bytes: survey.bytes, events: survey.events };
  return {
    bytes: Math.max(record.bytes, survey.bytes),
    events: Math.max(record.events, survey.events),
  };
}

interface Unplanned extends Pick<Decision, "size"> {
  readonly plan: Exclude<SplitPlan, { kind: "segment" }>;
}

/** Completed segments stay: only a split without any is refused or parked. */
function unplanned(
  { context, location }: SplitJob,
  record: SplitRecord,
  { plan, size }: Unplanned,
): SplitRecord {
  const { catalog, clock, by, margins } = context;
  const { bucket, namespace } = location;
  const at = clock.nowMicros();
  const why = { at, by, cause: plan.cause, reason: plan.reason };
  const segments = completedSegments(record);
  const kept = { ...record, segments };
  if (plan.kind === "parked") {
    const dueAt = Math.max(plan.recheckMicros, at + RANGE_MICROS_MIN);
    // While the bucket of a completed split is open, "not yet" is not worth a history entry.
    if (record.state === "COMPLETED") return { ...record, dueAt };
    // A split that an operator requested has no size from a detection.
    const measured = record.bytes === 0 ? size : {};
    return restedSplit(record, restingState(kept), why, { ...measured, segments, dueAt });
  }
  if (segments.length === 0) {
    return movedSplit(record, "REFUSED", why, { ...size, segments, dueAt: null });
  }
  const { config } = namespace;
  const lagMicros = settledLag(margins, catalog);
  const next = { record: kept, bucket, config, lagMicros, nowMicros: at };
  const closed = at >= bucket.end + config.acceptLimitMicros;
  return movedSplit(record, "COMPLETED", why, {
    segments,
    dueAt: closed ? null : nextRangeAt(next),
  });
}
