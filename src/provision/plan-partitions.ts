/**
 * Chooses the partitioning of a namespace from its workload: every candidate runs through every
 * world, and the one with the least regret wins. Pure; a generator, so that the caller can let
 * others run between two worlds (rule C27).
 *
 * The regret of a candidate in a world is how much more it costs than the best candidate there. A
 * large regret counts more than many small ones.
 */
import { SECOND_MICROS } from "../model/namespace-config.ts";
import type { NamespaceConfig, TimePartition } from "../model/namespace-config.ts";
import { ServiceError } from "../lib/errors.ts";
import { Problems } from "../lib/problems.ts";
import type { Band, PartitionCost, PartitionPlan } from "../model/partition-plan.ts";
import { alternativesTo, refusalsOf } from "./alternatives.ts";
import { candidatesFor } from "./candidates.ts";
import { explainRejection, widthText } from "./explain-plan.ts";
import { demandOf, infrastructureFor } from "./infrastructure.ts";
import type { Demand } from "./infrastructure.ts";
import {
  PARTITION_READ_MS,
  partitionCost,
  shapeCost,
  tablesOf,
  totalCost,
} from "./partition-cost.ts";
import type { ShapeCost } from "./partition-cost.ts";
import { predictSizes } from "./partition-sizes.ts";
import type { NamespacePlan, PlanRequest, RejectedPlan } from "./plan.ts";
import { bandOf } from "./quantiles.ts";
import type { Workload } from "./workload.ts";
import { Worlds } from "./worlds.ts";
import type { World } from "./worlds.ts";

/** Large regrets count more: twice the regret counts 2.3 times. */
const REGRET_POWER = 1.2;
/** What the model leaves out: sizes of single events, where a burst falls in its bucket. */
const MODEL_TOLERANCE = 0.15;

/** Throws CONFIG_INVALID if no partitioning would be accepted with this configuration. */
export function* planPartitions(request: PlanRequest): Generator<void, NamespacePlan> {
  const { workload, config, margins, seed, worlds: count } = request;
  const { accepted, problems } = candidatesFor(config, margins);
  if (accepted.length === 0) refuse(problems);
  const retentionSeconds = config.retention.closeAfterMicros / SECOND_MICROS;
  const source = new Worlds(workload, { retentionSeconds, seed, count });
  const worlds: World[] = [];
  const best = new Float64Array(count);
  const regrets = new Float64Array(accepted.length);
  for (let nth = 0; nth < count; nth++) {
    const world = source.world(nth);
    const costs = costsIn(world, accepted, config);
    const least = costs.reduce((a, b) => Math.min(a, b));
    for (const [candidate, cost] of costs.entries()) {
      regrets[candidate] = (regrets[candidate] as number) + (cost - least) ** REGRET_POWER;
    }
    worlds.push(world);
    best[nth] = least;
    yield;
  }
  const winner = accepted[leastOf(regrets)] as TimePartition;
  const { plan: chosen, demands } = yield* describe(winner, worlds, best, request);
  const alternatives: RejectedPlan[] = [];
  for (const { name, timePartition } of alternativesTo(winner, request)) {
    const { plan } = yield* describe(timePartition, worlds, best, request);
    const refused = refusalsOf(timePartition, config, margins);
    const whyNot = explainRejection(plan, chosen, config, refused);
    alternatives.push({ name, plan, whyNot });
  }
  return {
    chosen,
    alternatives,
    infrastructure: infrastructureFor(demands, workload, request.hardware),
    notes: [...request.assumed, ...notesOn(workload, worlds, retentionSeconds)],
    seed,
    worlds: count,
    candidates: accepted.length,
  };
}

function refuse(found: readonly string[]): never {
  const problems = new Problems();
  for (const problem of found) problems.add(problem);
  problems.throwIfAny("CONFIG_INVALID");
  // Each width fails for another reason: no list that all share.
  throw new ServiceError("CONFIG_INVALID", "no slice width fits retention and limits; change them");
}

/** Every candidate's cost in one world. Its shape costs most, and slices of all widths share it. */
function costsIn(
  world: World,
  candidates: readonly TimePartition[],
  config: NamespaceConfig,
): Float64Array {
  const shapes = new Map<number, ShapeCost>();
  return Float64Array.from(candidates, (candidate) => {
    const key = candidate.secondsPerTimeBucket * 1_024 + candidate.eventBuckets;
    let shape = shapes.get(key);
    if (shape === undefined) {
      shape = shapeCost(world, candidate, config);
      shapes.set(key, shape);
    }
    return totalCost(partitionCost(shape, candidate.secondsPerTimeSlice, config));
  });
}

/** Of equals the first: the narrowest slice, then the narrowest bucket, then the fewest buckets. */
function leastOf(values: Float64Array): number {
  let at = 0;
  for (const [nth, value] of values.entries()) if (value < (values[at] as number)) at = nth;
  return at;
}

function* describe(
  timePartition: TimePartition,
  worlds: readonly World[],
  best: Float64Array,
  request: PlanRequest,
): Generator<void, { plan: PartitionPlan; demands: readonly Demand[] }> {
  const { config } = request;
  const sizes = [];
  const costs: PartitionCost[] = [];
  const asked: number[] = [];
  const demands: Demand[] = [];
  for (const world of worlds) {
    sizes.push(predictSizes(world, timePartition, config.widePartition));
    const shape = shapeCost(world, timePartition, config);
    costs.push(partitionCost(shape, timePartition.secondsPerTimeSlice, config));
    asked.push(shape.partitionsPerRead);
    demands.push(demandOf(world, shape, timePartition, request));
    yield;
  }
  const mean = (of: (cost: PartitionCost) => number): number =>
    costs.reduce((sum, cost) => sum + of(cost), 0) / costs.length;
  const leastMean = best.reduce((sum, cost) => sum + cost, 0) / best.length;
  const { low: eventBytes } = bandOf(worlds.map((world) => world.eventBytes));
  const plan: PartitionPlan = {
    timePartition,
    regret: mean(totalCost) - leastMean,
    costs: {
      reads: mean(({ reads }) => reads),
      wide: mean(({ wide }) => wide),
      hotSpots: mean(({ hotSpots }) => hotSpots),
      disk: mean(({ disk }) => disk),
      tables: mean(({ tables }) => tables),
    },
    p50Bytes: tolerant(bandOf(sizes.map(({ p50 }) => p50)), eventBytes),
    p99Bytes: tolerant(bandOf(sizes.map(({ p99 }) => p99)), eventBytes),
    maxBytes: tolerant(bandOf(sizes.map(({ max }) => max)), eventBytes),
    idsBeyondLimit: bandOf(sizes.map(({ idsBeyondLimit }) => idsBeyondLimit)),
    readsBeyondLimit: bandOf(sizes.map(({ readsBeyondLimit }) => readsBeyondLimit)),
    bytesBeyondLimit: bandOf(sizes.map(({ bytesBeyondLimit }) => bytesBeyondLimit)),
    partitionsPerRead: bandOf(asked),
    readOverheadMs: bandOf(asked.map((partitions) => partitions * PARTITION_READ_MS)),
    peakWritesPerPartition: bandOf(worlds.map((world) => peakWrites(world, timePartition))),
    tables: tablesOf(timePartition.secondsPerTimeSlice, config),
    diskBytes: bandOf(demands.map(({ diskBytes }) => diskBytes)),
  };
  return { plan, demands };
}

/** Wider by what the model leaves out, and at least by an event. */
function tolerant({ low, mid, high }: Band, eventBytes: number): Band {
  const least = eventBytes * (1 - MODEL_TOLERANCE);
  return {
    low: Math.max(least, Math.min(low * (1 - MODEL_TOLERANCE), low - eventBytes)),
    mid,
    high: Math.max(high * (1 + MODEL_TOLERANCE), high + eventBytes),
  };
}

function peakWrites(world: World, { eventBuckets }: TimePartition): number {
  const busiest = (world.groups.relativeRate[0] as number) * world.eventsPerDay;
  return (busiest * world.burstiness) / 86_400 / eventBuckets;
}

function aboutText(events: number): string {
  if (events < 10) return String(Number(events.toPrecision(2)));
  return Math.round(events).toLocaleString("en-US");
}

function notesOn(workload: Workload, worlds: readonly World[], retentionSeconds: number): string[] {
  const { writesPerSecond, ids, eventsPerDayPerId, skew } = workload;
  const notes: string[] = [];
  if (writesPerSecond !== undefined) {
    const derived = (ids.mid * eventsPerDayPerId.mid) / 86_400;
    const ratio = writesPerSecond.mid / derived;
    if (ratio > 3 || ratio < 1 / 3) {
      notes.push(
        `writesPerSecond (${writesPerSecond.mid}) and ids times events a day ` +
          `(${derived.toPrecision(3)}/s) differ: machines follow the first, partitions the second`,
      );
    }
  }
  if (workload.readIntervalSeconds.mid > retentionSeconds) {
    const [wanted, kept] = [workload.readIntervalSeconds.mid, retentionSeconds].map(widthText);
    notes.push(
      `reads reach back ${wanted}, but events can be read for ${kept}: planned with ${kept}`,
    );
  }
  if ("percentiles" in skew && skew.percentiles.at(-1)?.percentile !== 100) {
    notes.push("skew.percentiles has no 100: the busiest ids continue the trend of the last two");
  }
  const busiest = worlds.map(
    ({ groups, eventsPerDay }) => (groups.relativeRate[0] as number) * eventsPerDay,
  );
  const { mid } = bandOf(busiest);
  notes.push(`the busiest id is expected to have about ${aboutText(mid)} events a day`);
  return notes;
}
