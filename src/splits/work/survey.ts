/**
 * Measures a range of a partition before it is planned, and reads no more than the planner needs.
 */
import type { Survey, SurveyLimits } from "../plan/plan-segment.ts";
import { framesOf } from "./run-builder.ts";
import { originalRuns } from "./original-runs.ts";
import type { OriginalRange } from "./original-runs.ts";
import type { SplitJob } from "./split-job.ts";

export async function surveyRange(
  { context, owned, throttle, location }: SplitJob,
  range: OriginalRange,
  { bytes: bytesMax, millis: millisMax }: SurveyLimits,
): Promise<Survey> {
  const { clock } = context;
  const { config } = location.namespace;
  const { partition } = owned.record;
  const fragments = await context.fragments?.(partition);
  // The level of a caller's read, because the duration is measured for callers.
  const level = { consistency: config.consistency, ...config.slos.read };
  let [bytes, events, largestEventBytes, millis] = [0, 0, 0, 0];
  if (bytesMax <= 0 && millisMax <= 0) {
    return { bytes, events, whole: range.from >= range.to, millis, largestEventBytes, fragments };
  }
  let startedMs = clock.monotonicMs();
  let whole = true;
  for await (const run of originalRuns(context, partition, range, level, owned.signal)) {
    millis += clock.monotonicMs() - startedMs;
    bytes += run.bytes;
    events += run.count;
    for (const { start, event } of framesOf(run)) {
      largestEventBytes = Math.max(largestEventBytes, event.end - start);
    }
    if (bytes >= bytesMax && millis >= millisMax) {
      whole = false;
      break;
    }
    await throttle.page(owned.signal);
    startedMs = clock.monotonicMs();
  }
  return { bytes, events, whole, millis, largestEventBytes, fragments };
}
