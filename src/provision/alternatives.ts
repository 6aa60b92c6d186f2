/** The partitionings that a plan is compared with in its report. Pure. */
import { DEFAULT_NAMESPACE_CONFIG, SECOND_MICROS } from "../model/namespace-config.ts";
import type { NamespaceConfig, TimePartition } from "../model/namespace-config.ts";
import { BUCKET_WIDTHS, isNested, SLICE_WIDTHS, widthBeside } from "../model/partition-widths.ts";
import type { TimeMargins } from "../model/time-margins.ts";
import { configProblems, PLANNED_EVENT_BUCKETS } from "./candidates.ts";
import { widthText } from "./explain-plan.ts";
import type { PlanRequest } from "./plan.ts";
import { publicPlan } from "./public-planner.ts";

export interface NamedPartition {
  readonly name: string;
  readonly timePartition: TimePartition;
}

/** What people would ask about: the neighbours, the defaults, and the public planner's choice. */
export function alternativesTo(chosen: TimePartition, request: PlanRequest): NamedPartition[] {
  const { secondsPerTimeSlice: slice, secondsPerTimeBucket: bucket, eventBuckets } = chosen;
  const found: NamedPartition[] = [];
  const add = (name: string, change: Partial<TimePartition> | undefined): void => {
    if (change === undefined) return;
    const timePartition = { ...chosen, ...change };
    const known = [chosen, ...found.map((other) => other.timePartition)];
    if (known.some((other) => isSame(other, timePartition))) return;
    found.push({ name, timePartition });
  };
  add("public planner", publicPartition(request));
  add("default", DEFAULT_NAMESPACE_CONFIG.timePartition);
  const wider = widthBeside(BUCKET_WIDTHS, bucket, "wider");
  if (wider !== undefined) {
    // A wider bucket may need a wider slice.
    const holding = SLICE_WIDTHS.find((width) => width >= Math.max(slice, wider)) ?? wider;
    add("wider time bucket", { secondsPerTimeBucket: wider, secondsPerTimeSlice: holding });
  }
  const narrower = widthBeside(BUCKET_WIDTHS, bucket, "narrower");
  if (narrower !== undefined) add("narrower time bucket", { secondsPerTimeBucket: narrower });
  if (PLANNED_EVENT_BUCKETS.includes(eventBuckets * 2)) {
    add("more event buckets", { eventBuckets: eventBuckets * 2 });
  }
  if (eventBuckets > 1) add("fewer event buckets", { eventBuckets: eventBuckets / 2 });
  const widerSlice = widthBeside(SLICE_WIDTHS, slice, "wider");
  if (widerSlice !== undefined) add("wider slice", { secondsPerTimeSlice: widerSlice });
  const narrowerSlice = widthBeside(SLICE_WIDTHS, slice, "narrower");
  if (narrowerSlice !== undefined && narrowerSlice >= bucket) {
    add("narrower slice", { secondsPerTimeSlice: narrowerSlice });
  }
  return found;
}

function isSame(a: TimePartition, b: TimePartition): boolean {
  return (
    a.secondsPerTimeSlice === b.secondsPerTimeSlice &&
    a.secondsPerTimeBucket === b.secondsPerTimeBucket &&
    a.eventBuckets === b.eventBuckets
  );
}

/** By the mids: the public planner takes single numbers. */
function publicPartition({ workload, config }: PlanRequest): TimePartition | undefined {
  const plan = publicPlan({
    readIntervalSeconds: Math.max(1, Math.round(workload.readIntervalSeconds.mid)),
    retentionSeconds: config.retention.closeAfterMicros / SECOND_MICROS,
    eventsPerDayPerId: workload.eventsPerDayPerId.mid,
    eventBytes: workload.eventBytes.mid,
  });
  if (plan === undefined) return undefined;
  const { secondsPerTimeSlice, secondsPerTimeBucket, eventBuckets } = plan;
  return { secondsPerTimeSlice, secondsPerTimeBucket, eventBuckets };
}

/** Why CreateNamespace, or a later change of width, would not take it. */
export function refusalsOf(
  timePartition: TimePartition,
  config: NamespaceConfig,
  margins: TimeMargins,
): readonly string[] {
  const problems = configProblems({ ...config, timePartition }, margins);
  const { secondsPerTimeSlice: slice } = timePartition;
  if (isNested(slice)) return problems;
  return [...problems, `slices of ${widthText(slice)} do not nest with other widths`];
}
