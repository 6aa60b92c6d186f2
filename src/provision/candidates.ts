/** The partitionings that the simulation compares. Pure. */
import { Problems } from "../lib/problems.ts";
import { checkConfig } from "../model/check-config.ts";
import type { NamespaceConfig, TimePartition } from "../model/namespace-config.ts";
import { BUCKET_WIDTHS, SLICE_WIDTHS } from "../model/partition-widths.ts";
import type { TimeMargins } from "../model/time-margins.ts";

/** More than this for every id is a hot spot of few ids: those get more of their own (rule C15). */
export const PLANNED_EVENT_BUCKETS: readonly number[] = [1, 2, 4, 8, 16, 32, 64, 128];

export interface Candidates {
  /** Those that CreateNamespace accepts with this configuration. */
  readonly accepted: readonly TimePartition[];
  /** If there is none: the problems that every one of them has. */
  readonly problems: readonly string[];
}

export function candidatesFor(config: NamespaceConfig, margins: TimeMargins): Candidates {
  const accepted: TimePartition[] = [];
  let problems: readonly string[] | undefined;
  for (const secondsPerTimeSlice of SLICE_WIDTHS) {
    for (const secondsPerTimeBucket of BUCKET_WIDTHS) {
      if (secondsPerTimeBucket > secondsPerTimeSlice) break;
      const one = { secondsPerTimeSlice, secondsPerTimeBucket, eventBuckets: 1 };
      // The number of event buckets is in range for all of them.
      const found = configProblems({ ...config, timePartition: one }, margins);
      if (found.length === 0) {
        for (const eventBuckets of PLANNED_EVENT_BUCKETS) accepted.push({ ...one, eventBuckets });
      }
      problems = problems?.filter((problem) => found.includes(problem)) ?? found;
    }
  }
  return { accepted, problems: problems ?? [] };
}

/** Why CreateNamespace would refuse a configuration. */
export function configProblems(config: NamespaceConfig, margins: TimeMargins): readonly string[] {
  const problems = new Problems();
  checkConfig(config, margins, problems);
  return problems.list();
}
