/**
 * Turns a sample of ids into the percentiles of a workload's skew.
 *
 * A line is the events a day of one id (a number, or `id,number`), or one event as `braid write`
 * takes it: then the events of each id are counted and divided by the days that the sample covers.
 * The first line may name the columns. Memory holds a number per id.
 */
import type { RatePercentile, WorkloadInput } from "../provision/workload.ts";
import { unreadableFile, UsageError } from "./failures.ts";

const PERCENTILES = [
  1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 98, 99, 99.5, 99.9, 99.99, 100,
] as const;
/** More ids say no more about the skew, and would fill the memory. */
const IDS_MAX = 5_000_000;
const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
/** Names of columns, as a query or a spreadsheet writes them. */
const HEADER = /^[a-z_][\w ]*(,[a-z_][\w ]*)*$/i;

interface RateSample {
  readonly ids: number;
  readonly meanPerDay: number;
  readonly percentiles: readonly RatePercentile[];
}

/** A sample gives the skew, and what the workload does not say about ids and their rates. */
export async function withSample(workload: WorkloadInput, path: string): Promise<WorkloadInput> {
  if (workload.skew !== undefined) {
    throw new UsageError("--sample gives the skew: leave out one of --sample and skew");
  }
  const { open } = await import("node:fs/promises");
  let sample;
  try {
    await using file = await open(path);
    sample = await readRateSample(path, file.readLines());
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw unreadableFile(path, error);
  }
  return {
    ids: { mid: sample.ids },
    eventsPerDayPerId: { mid: sample.meanPerDay },
    ...workload,
    skew: { percentiles: sample.percentiles },
  };
}

async function readRateSample(path: string, lines: AsyncIterable<string>): Promise<RateSample> {
  const rates: number[] = [];
  const counts = new Map<string, number>();
  let [first, last, number] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0];
  for await (const line of lines) {
    number++;
    if (rates.length + counts.size > IDS_MAX) {
      throw new UsageError(`--sample ${path}: has more than ${IDS_MAX} ids; sample fewer of them`);
    }
    const text = line.trim();
    if (text === "" || (number === 1 && HEADER.test(text))) continue;
    if (text.startsWith("{")) {
      const { id, time } = eventOf(text, path, number);
      counts.set(id, (counts.get(id) ?? 0) + 1);
      first = Math.min(first, time);
      last = Math.max(last, time);
    } else {
      const given = text.split(",").at(-1) ?? "";
      const rate = given.trim() === "" ? Number.NaN : Number(given);
      if (!(rate >= 0)) throw wrongLine(path, number);
      // An id without events has no partitions.
      if (rate > 0) rates.push(rate);
    }
  }
  // A sample of minutes says little about a day: it counts as an hour.
  const days = Math.max(HOUR_MS, last - first) / DAY_MS;
  for (const count of counts.values()) rates.push(count / days);
  if (rates.length === 0)
    throw new UsageError(`--sample ${path}: there is no id with events in it`);
  return sampleOf(rates);
}

function sampleOf(rates: readonly number[]): RateSample {
  const sorted = rates.toSorted((a, b) => a - b);
  const percentiles = PERCENTILES.filter(
    (each) => each === 100 || each <= 100 - 100 / sorted.length,
  ).map((percentile) => {
    const at = Math.ceil((percentile / 100) * sorted.length) - 1;
    return { percentile, eventsPerDay: sorted[Math.max(0, at)] ?? 0 };
  });
  const meanPerDay = sorted.reduce((sum, rate) => sum + rate, 0) / sorted.length;
  return { ids: sorted.length, meanPerDay, percentiles };
}

function eventOf(text: string, path: string, number: number): { id: string; time: number } {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw wrongLine(path, number);
  }
  const { timeSeriesId, eventTime } = parsed as Record<string, unknown>;
  const time = typeof eventTime === "string" ? Date.parse(eventTime) : Number.NaN;
  if (typeof timeSeriesId !== "string" || Number.isNaN(time)) throw wrongLine(path, number);
  return { id: timeSeriesId, time };
}

function wrongLine(path: string, number: number): UsageError {
  return new UsageError(
    `--sample ${path}: line ${number} is neither a number of events a day, nor id,number, ` +
      "nor an event with timeSeriesId and eventTime",
  );
}
