/**
 * The simulated fleet: namespaces of seven kinds, each with its traffic over a year and the
 * partitioning that its owner guessed. Seeded: the same seed gives the same fleet.
 */
import { DEFAULT_NAMESPACE_CONFIG, SECOND_MICROS } from "../../src/model/namespace-config.ts";
import type { NamespaceConfig, TimePartition } from "../../src/model/namespace-config.ts";
import { BUCKET_WIDTHS } from "../../src/model/partition-widths.ts";
import type { Traffic } from "../../tests/support/simulated-traffic.ts";

export const KINDS = [
  "misestimated",
  "step",
  "drifting",
  "seasonal",
  "bursty",
  "backfilled",
  "outliers",
] as const;

export type Kind = (typeof KINDS)[number];

export const DAY = 86_400 * SECOND_MICROS;
export const YEAR_DAYS = 364;

export interface SimulatedNamespace {
  readonly kind: Kind;
  readonly config: NamespaceConfig;
  readonly traffic: Traffic;
  /** How much is written at a day of the year, relative to the traffic's own level. */
  readonly level: (day: number) => number;
  /** The day of a step or of a backfill, else 0. */
  readonly eventDay: number;
  /** What a backfill multiplies the slices before `eventDay` by. */
  readonly backfillFactor: number;
}

export function makeNamespace(kind: Kind, random: () => number): SimulatedNamespace {
  const between = (low: number, high: number): number => low + (high - low) * random();
  const powerBetween = (low: number, high: number): number => 10 ** between(low, high);
  const traffic: Traffic = {
    ids: Math.round(powerBetween(2, 5)),
    bytesPerDay: powerBetween(3.5, 8.5),
    spread: between(0.2, 0.9),
    eventBytes: Math.round(powerBetween(2, 3.3)),
    ...(kind === "outliers"
      ? { outliers: { share: powerBetween(-4, -2.3), factor: powerBetween(1.5, 3) } }
      : {}),
  };
  const deleteDays = Math.round(between(60, 400));
  const wrongBy = kind === "misestimated" ? powerBetween(-3, 3) : powerBetween(-0.3, 0.3);
  const eventDay = kind === "step" || kind === "backfilled" ? Math.round(between(100, 200)) : 0;
  const step = random() < 0.5 ? powerBetween(-2, -1) : powerBetween(1, 2);
  const drift = powerBetween(-0.6, 1.2);
  const [week, year] = [between(0.1, 0.5), between(0, 0.4)];
  const noise = between(0.02, 0.15);
  const bursts = new Set(Array.from({ length: 12 }, () => Math.round(between(20, YEAR_DAYS))));
  const holiday = Math.round(between(20, YEAR_DAYS - 10));
  const holidayLevel = random() < 0.5 ? between(0.3, 0.6) : between(1.5, 2.5);
  const level = (day: number): number => {
    let at = 1 + noise * Math.sin(day * 12.9898 + traffic.ids);
    if (day >= holiday && day < holiday + 4) at *= holidayLevel;
    if (kind === "step" && day >= eventDay) at *= step;
    if (kind === "drifting") at *= drift ** (day / YEAR_DAYS);
    if (kind === "seasonal") {
      at *=
        (1 + week * Math.sin((day * 2 * Math.PI) / 7)) *
        (1 + year * Math.sin((day * 2 * Math.PI) / YEAR_DAYS));
    }
    if (kind === "bursty" && bursts.has(day)) at *= 8;
    return at;
  };
  return {
    kind,
    traffic,
    level,
    eventDay,
    backfillFactor: powerBetween(0.5, 2),
    config: {
      ...DEFAULT_NAMESPACE_CONFIG,
      timePartition: guessed(traffic.bytesPerDay * wrongBy),
      retention: {
        closeAfterMicros: (deleteDays - 1) * DAY,
        deleteAfterMicros: deleteDays * DAY,
      },
      tuning: { ...DEFAULT_NAMESPACE_CONFIG.tuning, mode: "AUTO" },
    },
  };
}

/** What a person who believes in this rate would choose: 3 MiB in a partition of the middle id. */
function guessed(bytesPerDay: number): TimePartition {
  const ideal = (3 * 2 ** 20 * 86_400) / bytesPerDay;
  const secondsPerTimeBucket =
    BUCKET_WIDTHS.findLast((width) => width <= Math.min(ideal, 604_800)) ?? 10;
  return {
    secondsPerTimeSlice:
      secondsPerTimeBucket > 86_400 ? 604_800 : secondsPerTimeBucket >= 60 ? 86_400 : 21_600,
    secondsPerTimeBucket,
    eventBuckets: 1,
  };
}
