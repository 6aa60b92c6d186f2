/** How long pages took on each route in the last minute, and what that says. */
import { maxOf, meanOf } from "../../api/samples.ts";
import type { History } from "../../api/use-history.ts";
import { durationText, rateText } from "../../kit/format.ts";
import type { Tone } from "../../kit/tone.ts";

/** What was timed: a route of reads, or writes. The names are those of the history's series. */
export interface Timed {
  readonly series: string;
  /** The series that counts it. */
  readonly counts: string;
  readonly label: string;
  readonly meaning: string;
}

export const TIMED: readonly Timed[] = [
  {
    series: "read_latency.original",
    counts: "reads.original",
    label: "Original",
    meaning: "pages of partitions that are not wide",
  },
  {
    series: "read_latency.wide_original",
    counts: "reads.wide_original",
    label: "Wide original",
    meaning: "pages with a wide partition that is not read from its split",
  },
  {
    series: "read_latency.split",
    counts: "reads.split",
    label: "Split",
    meaning: "pages with a partition that is read from its split",
  },
  { series: "write_latency", counts: "writes", label: "Writes", meaning: "requests that write" },
];

export const PARTS = ["p50", "p95", "p99", "max"] as const;

/** The last minute of one of them, in ms; undefined where nothing was timed. */
export interface TimedNow extends Timed {
  readonly perSecond: number | undefined;
  /** The mean of the samples; of the others the largest. */
  readonly p50: number | undefined;
  readonly p95: number | undefined;
  readonly p99: number | undefined;
  readonly max: number | undefined;
}

const MINUTE_MS = 60_000;

export function timedNow(history: Pick<History, "values" | "stepMs">): readonly TimedNow[] {
  const samples = Math.max(1, Math.round(MINUTE_MS / history.stepMs));
  return TIMED.map((timed) => {
    const of = (part: string): readonly (number | null)[] =>
      history.values(`${timed.series}.${part}`, 1000);
    return {
      ...timed,
      perSecond: meanOf(history.values(timed.counts), samples),
      p50: meanOf(of("p50"), samples),
      p95: maxOf(of("p95"), samples),
      p99: maxOf(of("p99"), samples),
      max: maxOf(of("max"), samples),
    };
  });
}

export interface Verdict {
  readonly tone: Tone;
  readonly sentence: string;
}

/** The one thing that matters: requests that got no answer in time, then the slowest reads. */
export function verdictOf(rows: readonly TimedNow[], timeoutsPerSecond: number): Verdict {
  if (timeoutsPerSecond > 0) {
    return {
      tone: "bad",
      sentence:
        `In the last minute ${rateText(timeoutsPerSecond)} got no answer in time: ` +
        "look at the doctor's remedies.",
    };
  }
  const reads = rows.filter(({ series, p99 }) => series.startsWith("read") && p99 !== undefined);
  const slowest = reads.toSorted((a, b) => (b.p99 ?? 0) - (a.p99 ?? 0))[0];
  if (slowest === undefined) {
    return { tone: "idle", sentence: "Nothing was read in the last minute." };
  }
  const p99 = durationText(slowest.p99 ?? 0);
  if (slowest.series === "read_latency.wide_original" && reads.length > 1) {
    return {
      tone: "warn",
      sentence:
        `Wide partitions that are read whole are the slowest, with p99 ${p99}: ` +
        "their splits shorten it once the read mode is SERVE.",
    };
  }
  return {
    tone: "ok",
    sentence: `No request timed out in the last minute; the slowest reads have p99 ${p99}.`,
  };
}
