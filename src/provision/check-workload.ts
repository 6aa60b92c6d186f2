/**
 * Checks a workload as a caller gives it, and fills in what is not given. Reports all problems at
 * once, and says which inputs it assumed.
 */
import type { Problems } from "../lib/problems.ts";
import { formatBytes, formatDurationMs } from "../lib/units.ts";
import { SECOND_MICROS } from "../model/namespace-config.ts";
import type { NamespaceConfigPatch } from "../model/merge-config.ts";
import { NAMED_SKEWS, SKEW_PARAMETERS } from "./workload.ts";
import type {
  Estimate,
  EstimateInput,
  LatencyInput,
  RatePercentile,
  Skew,
  Workload,
  WorkloadInput,
} from "./workload.ts";
import { meanOfPercentiles } from "./id-groups.ts";

export interface CheckedWorkload {
  readonly workload: Workload;
  /** What was not given, and what stands in for it: one sentence each. */
  readonly assumed: readonly string[];
}

const CONFIDENCE = 0.9;
const CONFIDENCE_MIN = 0.5;
const CONFIDENCE_MAX = 0.99;
const PERCENTILES_MAX = 50;
const DAY_SECONDS = 86_400;
const CENTURY_SECONDS = 100 * 365 * DAY_SECONDS;
/** Of 15 days, events are deleted a day after they can no longer be read; never more than a day. */
const DELETE_SHARE = 15;

/** The field's range; it also bounds what the simulation has to compute. */
interface Range {
  readonly min: number;
  readonly max: number;
}

const EVENTS_PER_DAY: Range = { min: 1e-6, max: 1e12 };

/** Undefined if `problems` has a problem of this workload. */
export function checkWorkload(
  input: WorkloadInput,
  problems: Problems,
): CheckedWorkload | undefined {
  const before = problems.count;
  const check = new WorkloadCheck(problems);
  const skew = check.skew(input.skew);
  const ids = check.required("ids", input.ids, { min: 1, max: 1e12 });
  const mean = "percentiles" in skew ? meanOfPercentiles(skew.percentiles, ids.mid) : undefined;
  const workload: Workload = {
    ids,
    eventsPerDayPerId:
      input.eventsPerDayPerId === undefined && mean !== undefined
        ? certain(mean)
        : check.required("eventsPerDayPerId", input.eventsPerDayPerId, EVENTS_PER_DAY),
    skew,
    eventBytes: check.estimate("eventBytes", input.eventBytes, { min: 1, max: 1_048_576 }, 1_024),
    burstiness: check.estimate("burstiness", input.burstiness, { min: 1, max: 1_000 }, 2),
    readIntervalSeconds: check.estimate(
      "readIntervalSeconds",
      input.readIntervalSeconds,
      { min: 1e-3, max: CENTURY_SECONDS },
      DAY_SECONDS,
    ),
    eventsPerRead: check.estimate(
      "eventsPerRead",
      input.eventsPerRead,
      { min: 1, max: 1e12 },
      1_000,
    ),
    readsPerSecond: check.estimate("readsPerSecond", input.readsPerSecond, ZERO_TO_BILLION, {
      low: 10,
      mid: 100,
      high: 1_000,
      confidence: CONFIDENCE,
    }),
    writesPerSecond:
      input.writesPerSecond === undefined
        ? undefined
        : check.estimate("writesPerSecond", input.writesPerSecond, ZERO_TO_BILLION, 0),
    growthPercentPerMonth: check.estimate(
      "growthPercentPerMonth",
      input.growthPercentPerMonth,
      { min: -50, max: 100 },
      0,
    ),
    compressionRatio: check.estimate(
      "compressionRatio",
      input.compressionRatio,
      { min: 0.01, max: 2 },
      { low: 0.3, mid: 0.5, high: 0.8, confidence: CONFIDENCE },
    ),
    replication: check.whole("replication", input.replication, { min: 1, max: 10 }, 3),
    zones: check.whole("zones", input.zones, { min: 1, max: 10 }, 3),
    horizonMonths: check.whole("horizonMonths", input.horizonMonths, { min: 0, max: 60 }, 12),
  };
  check.seconds("retention", input.retentionSeconds);
  check.seconds("acceptLimit", input.acceptLimitSeconds);
  if (problems.count > before) return undefined;
  return { workload, assumed: check.assumed };
}

/** The part of a namespace's configuration that a workload decides, where it is sound. */
export function patchOfWorkload(input: WorkloadInput): NamespaceConfigPatch {
  const { retentionSeconds, acceptLimitSeconds, slos, consistency } = input;
  const [retention, limit] = [periodOf(retentionSeconds), periodOf(acceptLimitSeconds)];
  const latency = (given: LatencyInput | undefined): LatencyInput | undefined =>
    given && { targetMs: given.targetMs, maxMs: given.maxMs };
  return {
    acceptLimitMicros: limit && Math.round(limit * SECOND_MICROS),
    retention: retention === undefined ? undefined : retentionOf(retention),
    slos: slos && { read: latency(slos.read), write: latency(slos.write) },
    consistency,
  };
}

function retentionOf(seconds: number): { closeAfterMicros: number; deleteAfterMicros: number } {
  const grace = Math.max(1, Math.min(DAY_SECONDS, Math.round(seconds / DELETE_SHARE)));
  const closeAfterMicros = Math.round(seconds * SECOND_MICROS);
  return { closeAfterMicros, deleteAfterMicros: closeAfterMicros + grace * SECOND_MICROS };
}

/** An estimate of one number. */
export function certain(value: number): Estimate {
  return { low: value, mid: value, high: value, confidence: 1 };
}

export function isCertain({ low, high }: Estimate): boolean {
  return low === high;
}

const ZERO_TO_BILLION: Range = { min: 0, max: 1e9 };
const NOTHING: Estimate = certain(1);

class WorkloadCheck {
  readonly assumed: string[] = [];
  readonly #problems: Problems;

  constructor(problems: Problems) {
    this.#problems = problems;
  }

  required(field: string, given: EstimateInput | undefined, range: Range): Estimate {
    if (given !== undefined) return this.#checked(field, given, range);
    this.#problems.add(`workload.${field} is required; give at least its mid`);
    return NOTHING;
  }

  estimate(
    field: string,
    given: EstimateInput | undefined,
    range: Range,
    usual: number | Estimate,
  ): Estimate {
    if (given !== undefined) return this.#checked(field, given, range);
    const estimate = typeof usual === "number" ? certain(usual) : usual;
    this.assumed.push(`${field} is not given: assumed ${estimateText(field, estimate)}`);
    return estimate;
  }

  whole(field: string, given: number | undefined, { min, max }: Range, usual: number): number {
    if (given === undefined || given === 0) return usual;
    if (!Number.isInteger(given) || given < min || given > max) {
      this.#problems.add(
        `workload.${field} (${given}) must be a whole number from ${min} to ${max}`,
      );
    }
    return given;
  }

  seconds(field: string, given: number | undefined): void {
    if (given === undefined || isPeriod(given)) return;
    this.#problems.add(`workload.${field} (${given} s) must be above 0 and at most 100 years`);
  }

  skew(given: WorkloadInput["skew"]): Skew {
    const { distribution = "", parameter, percentiles = [] } = given ?? {};
    if (percentiles.length > 0) {
      if (distribution !== "" || parameter !== undefined) {
        this.#problems.add(
          "workload.skew has percentiles and a distribution; give one of them and leave out the other",
        );
      }
      return { percentiles: this.#percentiles(percentiles) };
    }
    if (distribution === "") {
      if (parameter !== undefined) {
        this.#problems.add("workload.skew.parameter needs a distribution; name one");
      }
      this.assumed.push("skew is not given: assumed LOGNORMAL with parameter 1");
      return { distribution: "LOGNORMAL", parameter: certain(1) };
    }
    const named = NAMED_SKEWS.find((name) => name === distribution);
    if (named === undefined) {
      const name = JSON.stringify(distribution.slice(0, 40));
      this.#problems.add(
        `workload.skew.distribution (${name}) must be ${NAMED_SKEWS.join(" or ")}`,
      );
      return { distribution: "EVEN", parameter: NOTHING };
    }
    const { usual, ...range } = SKEW_PARAMETERS[named];
    if (parameter === undefined) return { distribution: named, parameter: certain(usual) };
    return {
      distribution: named,
      parameter: this.#checked("skew.parameter", parameter, range),
    };
  }

  #percentiles(given: readonly RatePercentile[]): readonly RatePercentile[] {
    const field = "workload.skew.percentiles";
    if (given.length > PERCENTILES_MAX) {
      this.#problems.add(
        `${field} has ${given.length} entries, the limit is ${PERCENTILES_MAX}; leave some out`,
      );
      return [{ percentile: 50, eventsPerDay: 1 }];
    }
    const sorted = given.toSorted((a, b) => a.percentile - b.percentile);
    for (const [at, { percentile, eventsPerDay }] of sorted.entries()) {
      if (!(percentile > 0 && percentile <= 100)) {
        this.#problems.add(`${field}: ${percentile} must be above 0 and at most 100`);
      }
      const { min, max } = EVENTS_PER_DAY;
      if (!(eventsPerDay >= min && eventsPerDay <= max)) {
        this.#problems.add(`${field}: ${eventsPerDay} events a day must be from ${min} to ${max}`);
      }
      const before = sorted[at - 1];
      if (before === undefined) continue;
      if (before.percentile === percentile || before.eventsPerDay > eventsPerDay) {
        this.#problems.add(
          `${field}: percentile ${percentile} must be above percentile ${before.percentile}, ` +
            "with at least as many events a day",
        );
      }
    }
    return sorted;
  }

  #checked(field: string, given: EstimateInput, { min, max }: Range): Estimate {
    const { mid, confidence = CONFIDENCE } = given;
    const name = `workload.${field}`;
    if (mid === undefined) {
      this.#problems.add(`${name}.mid is required`);
      return NOTHING;
    }
    const estimate = { low: given.low ?? mid, mid, high: given.high ?? mid, confidence };
    const parts = isCertain(estimate)
      ? { [name]: mid }
      : { [`${name}.low`]: estimate.low, [`${name}.mid`]: mid, [`${name}.high`]: estimate.high };
    for (const [part, value] of Object.entries(parts)) {
      if (value >= min && value <= max) continue;
      this.#problems.add(`${part} (${value}) must be from ${min} to ${max}`);
    }
    if (!(estimate.low <= mid && mid <= estimate.high)) {
      this.#problems.add(`${name}: low, mid and high must be in this order`);
    }
    if (!(confidence >= CONFIDENCE_MIN && confidence <= CONFIDENCE_MAX) && !isCertain(estimate)) {
      this.#problems.add(
        `${name}.confidence (${confidence}) must be from ${CONFIDENCE_MIN} to ${CONFIDENCE_MAX}`,
      );
    }
    return estimate;
  }
}

function isPeriod(seconds: number): boolean {
  return seconds > 0 && seconds <= CENTURY_SECONDS;
}

function periodOf(seconds: number | undefined): number | undefined {
  return seconds !== undefined && isPeriod(seconds) ? seconds : undefined;
}

function estimateText(field: string, estimate: Estimate): string {
  const { low, mid, high, confidence } = estimate;
  if (!isCertain(estimate)) return `${mid}, from ${low} to ${high} with confidence ${confidence}`;
  if (field === "eventBytes") return formatBytes(mid);
  if (field === "readIntervalSeconds") return formatDurationMs(mid * 1_000);
  return String(mid);
}
