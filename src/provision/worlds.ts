/**
 * Worlds: possible truths behind a workload's estimates, drawn by a seed. Pure.
 *
 * The same workload and seed give the same worlds. Every candidate runs in the same worlds.
 */
import { idGroups } from "./id-groups.ts";
import type { DrawnSkew, IdGroups } from "./id-groups.ts";
import { SeededRandom } from "../lib/seeded-random.ts";
import { estimateQuantile, fractionsOf } from "./sample-estimate.ts";
import { SKEW_PARAMETERS } from "./workload.ts";
import type { Estimate, Skew, Workload } from "./workload.ts";

export interface World {
  readonly ids: number;
  /** The mean over all ids. */
  readonly eventsPerDay: number;
  readonly groups: IdGroups;
  /** How lucky the largest of many draws is, as a fraction from 0 to 1. */
  readonly largest: number;
  /** How lucky a percentile of few partitions is, as a fraction from 0 to 1. */
  readonly percentiles: number;
  readonly eventBytes: number;
  readonly burstiness: number;
  readonly readSeconds: number;
  readonly eventsPerRead: number;
  readonly readsPerSecond: number;
  readonly writesPerSecond: number;
  /** How many times as many ids, reads and writes there are at the horizon. */
  readonly growth: number;
  readonly compressionRatio: number;
}

const DAY_SECONDS = 86_400;

/** One draw per world for each input; by name, so that inputs do not affect each other. */
export class Worlds {
  readonly count: number;
  readonly #workload: Workload;
  readonly #retentionSeconds: number;
  readonly #seed: number;
  readonly #fractions = new Map<string, Float64Array>();

  constructor(
    workload: Workload,
    options: { readonly retentionSeconds: number; readonly seed: number; readonly count: number },
  ) {
    this.#workload = workload;
    this.#retentionSeconds = options.retentionSeconds;
    this.#seed = options.seed;
    this.count = options.count;
  }

  world(nth: number): World {
    const workload = this.#workload;
    const draw = (name: string, estimate: Estimate): number =>
      estimateQuantile(estimate, this.#fraction(name, nth));
    const ids = Math.max(1, Math.round(draw("ids", workload.ids)));
    const eventsPerDay = draw("eventsPerDayPerId", workload.eventsPerDayPerId);
    const burstiness = Math.max(1, draw("burstiness", workload.burstiness));
    const monthly = 1 + draw("growthPercentPerMonth", workload.growthPercentPerMonth) / 100;
    const derived = (ids * eventsPerDay) / DAY_SECONDS;
    const { writesPerSecond } = workload;
    return {
      ids,
      eventsPerDay,
      groups: idGroups(
        drawnSkew(workload.skew, this.#fraction("skew", nth)),
        ids,
        new SeededRandom(Math.floor(this.#fraction("busy ids", nth) * 2 ** 32)),
      ),
      largest: this.#fraction("largest", nth),
      percentiles: this.#fraction("percentiles", nth),
      eventBytes: Math.max(1, draw("eventBytes", workload.eventBytes)),
      burstiness,
      // Nobody reads further back than there are events.
      readSeconds: Math.min(
        draw("readIntervalSeconds", workload.readIntervalSeconds),
        this.#retentionSeconds,
      ),
      eventsPerRead: Math.max(1, draw("eventsPerRead", workload.eventsPerRead)),
      readsPerSecond: draw("readsPerSecond", workload.readsPerSecond),
      writesPerSecond:
        writesPerSecond === undefined ? derived : draw("writesPerSecond", writesPerSecond),
      growth: Math.max(0.5, monthly) ** workload.horizonMonths,
      compressionRatio: draw("compressionRatio", workload.compressionRatio),
    };
  }

  #fraction(name: string, nth: number): number {
    let fractions = this.#fractions.get(name);
    if (fractions === undefined) {
      fractions = fractionsOf(name, this.#seed, this.count);
      this.#fractions.set(name, fractions);
    }
    return fractions[nth] as number;
  }
}

function drawnSkew(skew: Skew, fraction: number): DrawnSkew {
  if ("percentiles" in skew) return skew;
  const { distribution, parameter } = skew;
  const { min, max } = SKEW_PARAMETERS[distribution];
  const drawn = estimateQuantile(parameter, fraction);
  // An uncertain parameter may be drawn beyond its range.
  return { distribution, parameter: Math.max(min, Math.min(max, drawn)) };
}
