/**
 * One namespace over a simulated year: slices are made ahead by the real planner, the real policy
 * decides each time one is sealed, and its effect is measured as a worker does.
 */
import { isDeepStrictEqual } from "node:util";
import type { TimePartition } from "../../src/model/namespace-config.ts";
import { SECOND_MICROS } from "../../src/model/namespace-config.ts";
import { planSlices } from "../../src/model/plan-slices.ts";
import type { SliceHistogram } from "../../src/model/slice-histogram.ts";
import { timeMargins } from "../../src/model/time-margins.ts";
import type { TimeSlice } from "../../src/model/time-slice.ts";
import type { Tuning } from "../../src/model/tuning.ts";
import { choosePartitioning } from "../../src/tune/choose-partitioning.ts";
import { decideTuning, usableHistograms } from "../../src/tune/decide-tuning.ts";
import type { TuningFacts } from "../../src/tune/decide-tuning.ts";
import { judgeSizes } from "../../src/tune/judge-sizes.ts";
import { measureEffect } from "../../src/tune/measure-effect.ts";
import { newTuning, proposalOf } from "../../src/tune/new-tuning.ts";
import { SizePrediction } from "../../src/tune/predict-sizes.ts";
import { rateGroups, simulatedHistogram } from "../../tests/support/simulated-traffic.ts";
import { DAY, YEAR_DAYS } from "./fleet.ts";
import type { SimulatedNamespace } from "./fleet.ts";
import { readsOf } from "./read-model.ts";
import type { ReadsMet } from "./read-model.ts";

export interface NamespaceYear {
  /** By sealed slice. */
  readonly slices: readonly SealedSlice[];
  readonly changes: readonly Change[];
  /** Changes undone within three slices. */
  readonly thrashes: number;
  /** Changes that the measured effect took back. */
  readonly takenBack: number;
}

export interface SealedSlice {
  readonly day: number;
  /** Whether its own partitioning fits its traffic, or nothing that AUTO may choose fits better. */
  readonly fits: boolean;
  /** The same for the partitioning decided when it was sealed: what the next free slices get. */
  readonly decidedFits: boolean;
  readonly reads: ReadsMet;
}

interface Change {
  readonly day: number;
  readonly slice: number;
  readonly from: TimePartition;
  readonly to: TimePartition;
}

const START = 20_454 * DAY;
const THRASH_SLICES = 3;
const HISTORY = 12;
const margins = timeMargins({ clockSkewMs: 1_000, viewMaxAgeMs: 10_000, writeMaxMs: 10_000 });

export function runNamespace(namespace: SimulatedNamespace, tuned: boolean): NamespaceYear {
  const { traffic, level } = namespace;
  let { config } = namespace;
  let slices: TimeSlice[] = [];
  let histograms: SliceHistogram[] = [];
  let tunings: Tuning[] = [];
  let reopenedBefore = 0;
  let backfilled = namespace.kind !== "backfilled";
  const sealed: SealedSlice[] = [];
  const changes: Change[] = [];
  let thrashes = 0;
  let takenBack = 0;
  const grown = new Map<number, number>();
  const end = START + YEAR_DAYS * DAY;
  for (let now = START; now < end;) {
    const ahead =
      now + config.futureLimitMicros + config.timePartition.secondsPerTimeSlice * SECOND_MICROS;
    slices = [...slices, ...planSlices(slices, { from: now, to: ahead }, config.timePartition)];
    const slice = slices.find((each) => each.end > now);
    if (slice === undefined) break;
    now = slice.end;
    const day = Math.floor((slice.start - START) / DAY);
    const at = meanLevel(level, slice);
    const histogram = simulatedHistogram(traffic, { ...slice, level: at });
    histograms = [...histograms, histogram].slice(-HISTORY);
    slices = slices.slice(-HISTORY);
    if (!backfilled && day >= namespace.eventDay) {
      // Everything before this day is filled again: its slices are re-opened and walked again.
      backfilled = true;
      reopenedBefore = slice.end;
      histograms = histograms.map((each) =>
        simulatedHistogram(traffic, { ...each, level: namespace.backfillFactor, epoch: 1 }),
      );
    }
    const facts = (): TuningFacts => ({
      config,
      createdAt: START,
      isReopened: (each) => each.end <= reopenedBefore,
      lastReadAt: now,
      clockInDoubt: false,
      histograms,
      tunings,
      margins,
    });
    if (tuned) {
      tunings = tunings.map((each) => {
        if (each.state !== "APPLIED") return each;
        const effect = measureEffect(each, usableHistograms(facts(), each.to), config.tuning);
        if (effect === undefined) return each;
        if (effect.worse) {
          takenBack++;
          if (sealed.length - (changes.at(-1)?.slice ?? 0) <= THRASH_SLICES) thrashes++;
          changes.push({ day, slice: sealed.length, from: each.to, to: each.from });
          config = { ...config, timePartition: each.from };
        }
        return { ...each, state: effect.worse ? "TAKEN_BACK" : "EFFECTIVE", got: effect.got };
      });
      const decision = decideTuning(facts());
      if (decision.kind === "propose" && decision.automatic) {
        const last = changes.at(-1);
        const undone = last !== undefined && isDeepStrictEqual(last.from, decision.to);
        if (undone && sealed.length - last.slice <= THRASH_SLICES) thrashes++;
        changes.push({ day, slice: sealed.length, from: config.timePartition, to: decision.to });
        const effectiveFrom = slices.at(-1)?.end ?? now;
        const made = newTuning(String(tunings.length), proposalOf(decision, config), {
          at: now,
          by: "tuner",
        });
        tunings = [...tunings, { ...made, state: "APPLIED" as const, effectiveFrom }].slice(
          -HISTORY,
        );
        config = { ...config, timePartition: decision.to };
      }
    }
    const groups = rateGroups(traffic).map((each) => ({
      ...each,
      bytesPerDay: each.bytesPerDay * at,
    }));
    sealed.push({
      day,
      fits: isBest(namespace, histogram, slice.timePartition),
      decidedFits: isBest(namespace, histogram, config.timePartition),
      reads: readsOf(groups, slice.timePartition, config.widePartition.bytesMax, grown),
    });
  }
  return { slices: sealed, changes, thrashes, takenBack };
}

function isBest(
  { config, traffic }: SimulatedNamespace,
  observed: SliceHistogram,
  timePartition: TimePartition,
): boolean {
  const level = observed.timeBuckets.bytes.total;
  if (level === 0) return true;
  // The same traffic as a walk of a slice with that partitioning would see it.
  const same = isDeepStrictEqual(observed.timePartition, timePartition)
    ? new SizePrediction(observed)
    : new SizePrediction(
        simulatedHistogram(traffic, {
          start: 0,
          timePartition,
          level: levelOf(traffic, observed),
        }),
      );
  const verdict = judgeSizes(same.present(), config.tuning);
  if (verdict === "FITS") return true;
  const sliceMax = config.retention.deleteAfterMicros / SECOND_MICROS / 10;
  const direction = verdict === "TOO_WIDE" ? "NARROW" : "WIDEN";
  const better = choosePartitioning({
    direction,
    evidence: [same],
    config: { ...config, timePartition },
    margins,
    sliceMax,
  });
  return better === undefined;
}

function levelOf(
  traffic: SimulatedNamespace["traffic"],
  { start, end, timeBuckets }: SliceHistogram,
): number {
  const perDay = rateGroups(traffic).reduce((sum, each) => sum + each.ids * each.bytesPerDay, 0);
  return timeBuckets.bytes.total / (perDay * ((end - start) / DAY));
}

function meanLevel(level: (day: number) => number, { start, end }: TimeSlice): number {
  const first = Math.floor((start - START) / DAY);
  const last = Math.max(first, Math.ceil((end - START) / DAY) - 1);
  let sum = 0;
  for (let day = first; day <= last; day++) sum += level(day);
  return sum / (last - first + 1);
}
