/** The fields of the plan page as a workload of the API, and as flags of `braid plan`. */
import type { WorkloadDescription } from "../../../client/connect.ts";

/** A field that is an estimate. Its slider moves by logarithm over the range. */
export interface EstimateField {
  readonly name: "ids" | "eventsPerDay" | "eventBytes" | "readsPerSecond" | "readHours";
  readonly label: string;
  readonly help: string;
  readonly flag: string;
  readonly fallback: number;
  readonly min: number;
  readonly max: number;
}

export const ESTIMATES: readonly EstimateField[] = [
  {
    name: "ids",
    label: "Ids",
    help: "How many ids have events.",
    flag: "--ids",
    fallback: 1_000_000,
    min: 100,
    max: 1_000_000_000,
  },
  {
    name: "eventsPerDay",
    label: "Events a day of one id",
    help: "The mean over all ids.",
    flag: "--events-per-day",
    fallback: 100,
    min: 1,
    max: 1_000_000,
  },
  {
    name: "eventBytes",
    label: "Bytes of one event",
    help: "With its ids, as the API encodes it.",
    flag: "--event-bytes",
    fallback: 1_024,
    min: 64,
    max: 1_048_576,
  },
  {
    name: "readsPerSecond",
    label: "Reads a second",
    help: "Of all ids together.",
    flag: "--reads-per-second",
    fallback: 100,
    min: 1,
    max: 1_000_000,
  },
  {
    name: "readHours",
    label: "Hours a read reaches back",
    help: "A read ends earlier if it has found enough events.",
    flag: "--read-interval",
    fallback: 24,
    min: 1,
    max: 720,
  },
];

export const SKEWS = ["EVEN", "LOGNORMAL", "ZIPF", "PARETO"] as const;
export type Skew = (typeof SKEWS)[number];
/** A usual parameter of each distribution. */
const SKEW_PARAMETERS = { LOGNORMAL: 1, ZIPF: 1, PARETO: 1.5 } as const;

export interface PlanFields {
  readonly values: Readonly<Record<EstimateField["name"], number>>;
  /** The truth is between a value divided by this and multiplied by it; 1 is certain. */
  readonly uncertainty: number;
  readonly skew: Skew;
  readonly retentionDays: number;
  readonly seed: number;
}

interface Estimated {
  readonly low?: number;
  readonly mid: number;
  readonly high?: number;
}

function estimate(value: number, uncertainty: number): Estimated {
  if (uncertainty <= 1) return { mid: value };
  return { low: value / uncertainty, mid: value, high: value * uncertainty };
}

export function workloadOf(fields: PlanFields): WorkloadDescription {
  const { values, uncertainty, skew, retentionDays } = fields;
  const of = (name: EstimateField["name"], unit = 1): Estimated =>
    estimate(values[name] * unit, uncertainty);
  return {
    ids: of("ids"),
    eventsPerDayPerId: of("eventsPerDay"),
    eventBytes: of("eventBytes"),
    readsPerSecond: of("readsPerSecond"),
    readIntervalSeconds: of("readHours", 3_600),
    skew: {
      distribution: skew,
      ...(skew !== "EVEN" && { parameter: { mid: SKEW_PARAMETERS[skew] } }),
    },
    retention: `${retentionDays * 86_400}s`,
  };
}

/** The same plan in the terminal. */
export function commandOf({ values, uncertainty, skew, retentionDays, seed }: PlanFields): string {
  const flags = ESTIMATES.map(({ name, flag }) => {
    const unit = name === "readHours" ? "h" : "";
    const { low, mid, high } = estimate(values[name], uncertainty);
    const numbers = low === undefined || high === undefined ? [mid] : [low, mid, high];
    return `${flag} ${numbers.map((number) => `${plain(number)}${unit}`).join(",")}`;
  });
  const parameter = skew === "EVEN" ? "" : `:${SKEW_PARAMETERS[skew]}`;
  return `plan ${flags.join(" ")} --skew ${skew}${parameter} --retention ${retentionDays}d --seed ${seed}`;
}

/** Without an exponent, and without more digits than anybody knows. */
function plain(value: number): string {
  return String(Number(value.toFixed(3)));
}

const STEPS = 100;

/** Where a value is on the slider: from 0 to 100, by logarithm. */
export function sliderOf(value: number, { min, max }: EstimateField): number {
  const share = Math.log(Math.max(value, min) / min) / Math.log(max / min);
  return Math.round(Math.min(1, share) * STEPS);
}

/** Two digits are enough of an estimate. */
export function valueAt(step: number, { min, max }: EstimateField): number {
  const value = min * (max / min) ** (step / STEPS);
  return Math.max(min, Number(value.toPrecision(2)));
}

/** A whole number of the address; the fallback if it is none. */
export function numberIn(text: string, fallback: number): number {
  const value = Number(text);
  return text !== "" && Number.isFinite(value) && value > 0 ? value : fallback;
}
