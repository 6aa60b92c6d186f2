/** A decision as a proposal, with its dry run and its words, and its first record. Pure. */
import type { NamespaceConfig, TimePartition } from "../model/namespace-config.ts";
import type { DryRun, Tuning, TuningProposal } from "../model/tuning.ts";
import type { ProposedTuning } from "./decide-tuning.ts";
import { observedText } from "./observed-text.ts";
import { partitionsPerDay } from "./predict-sizes.ts";

export interface Decider {
  /** Believed time in microseconds. */
  readonly at: number;
  readonly by: string;
}

export function proposalOf(decision: ProposedTuning, config: NamespaceConfig): TuningProposal {
  const { direction, evidence, leftOut, to, before } = decision;
  const from = config.timePartition;
  const without = leftOut.length === 0 ? "" : `; ${leftOut.join(", ")} did not count`;
  return {
    direction,
    evidence: evidence.map(({ timeSlice }) => timeSlice),
    observed: `${observedText(direction, before, config.tuning)}${without}`,
    proposed: proposedText(from, to),
    from,
    to,
    dryRun: dryRunOf(decision, from),
  };
}

/** As PROPOSED. */
export function newTuning(id: string, proposal: TuningProposal, { at, by }: Decider): Tuning {
  return {
    ...proposal,
    id,
    state: "PROPOSED",
    effectiveFrom: 0,
    got: null,
    history: [{ at, by, to: "PROPOSED", why: proposal.observed }],
  };
}

function dryRunOf(decision: ProposedTuning, from: TimePartition): DryRun {
  const keptLongerSeconds = Math.max(0, decision.to.secondsPerTimeSlice - from.secondsPerTimeSlice);
  const newest = decision.evidence.at(-1);
  const bytesPerSecond =
    newest === undefined ? 0 : newest.timeBuckets.bytes.total / from.secondsPerTimeSlice;
  return {
    before: decision.before,
    after: decision.after,
    partitionsPerDayBefore: partitionsPerDay(from),
    partitionsPerDayAfter: partitionsPerDay(decision.to),
    keptLongerSeconds,
    keptLongerBytes: Math.round(keptLongerSeconds * bytesPerSecond),
  };
}

function proposedText(from: TimePartition, to: TimePartition): string {
  const changes: string[] = [];
  if (from.secondsPerTimeBucket !== to.secondsPerTimeBucket) {
    changes.push(
      `time_bucket interval: ${from.secondsPerTimeBucket}s -> ${to.secondsPerTimeBucket}s`,
    );
  }
  if (from.secondsPerTimeSlice !== to.secondsPerTimeSlice) {
    changes.push(`time_slice interval: ${from.secondsPerTimeSlice}s -> ${to.secondsPerTimeSlice}s`);
  }
  if (from.eventBuckets !== to.eventBuckets) {
    changes.push(`event_buckets: ${from.eventBuckets} -> ${to.eventBuckets}`);
  }
  return changes.join(", ");
}
