/**
 * Decides which slices to make so that every event that may come belongs to exactly one.
 *
 * Slices begin at whole multiples of their width since the epoch and join without gap or overlap.
 * Existing slices are frozen; only uncovered time gets new ones, with the current strategy.
 *
 * When the width changes, slices of the old width continue up to an instant that is a multiple of
 * both widths: only there can a slice of the new width begin on its own grid without leaving a gap
 * or overlapping a slice that may already hold events.
 */
import { ServiceError } from "../lib/errors.ts";
import { SLICES_MAX } from "./check-config.ts";
import type { Namespace } from "./namespace.ts";
import { SECOND_MICROS } from "./namespace-config.ts";
import type { TimePartition } from "./namespace-config.ts";
import { factorBaseOf } from "./partition.ts";
import type { TimeSlice } from "./time-slice.ts";

export interface SliceWindow {
  /** Microseconds of event time; slices must cover [from, to). */
  readonly from: number;
  readonly to: number;
}

export type SliceStatus = "UPCOMING" | "ACTIVE" | "SEALED" | "CLOSED" | "DROPPING" | "DROPPED";

/**
 * The slices to make, in the order to make them: each touches an existing one, so that stopping
 * anywhere leaves no gap. `existing` are all slices that ever existed, in any state and order.
 *
 * No slice is made before dropped time, which would become readable again. If catching up would
 * take more than SLICES_MAX slices, the row restarts at the window: the time between is older than
 * any accepted event, and counts as dropped from then on.
 */
export function planSlices(
  existing: readonly TimeSlice[],
  window: SliceWindow,
  timePartition: TimePartition,
): TimeSlice[] {
  const row = newestRow(existing);
  const from = Math.max(0, window.from, row.writableFrom);
  const first = row.slices[0];
  const last = row.slices.at(-1);
  if (first === undefined || last === undefined) {
    return forward(alignDown(from, timePartition), window.to, timePartition, timePartition);
  }
  const factorBase = factorBaseOf(last);
  const restart = alignDown(from, timePartition);
  // A change to shorter slices may be under way: the narrower width says how many they would be.
  const count = Math.max(
    countAcross(window.to - last.end, last.timePartition),
    countAcross(window.to - last.end, timePartition),
  );
  if (count > SLICES_MAX && restart > last.end) {
    return forward(restart, window.to, timePartition, timePartition, factorBase);
  }
  return [
    ...backward(first.start, from, first.timePartition, timePartition, factorBase),
    ...forward(last.end, window.to, last.timePartition, timePartition, factorBase),
  ];
}

/**
 * The event time from which slices exist or can still be made. Time below it was dropped for good:
 * no limit may accept events there.
 */
export function writableFrom(existing: readonly TimeSlice[]): number {
  return newestRow(existing).writableFrom;
}

/** The API's name for the state of a slice at a time. */
export function statusOf(
  slice: TimeSlice,
  namespace: Pick<Namespace, "floor">,
  nowMicros: number,
): SliceStatus {
  if (slice.state !== "OPEN") return slice.state;
  if (slice.end <= namespace.floor) return "SEALED";
  return slice.start > nowMicros ? "UPCOMING" : "ACTIVE";
}

/**
 * `data_20260328`, with hours and minutes where slices are shorter than a day, and seconds where
 * they are shorter than a minute. Two slices of a namespace never share a name: they would have to
 * begin on the same day, minute or second, but are at least that long.
 */
export function sliceName(startMicros: number, secondsPerTimeSlice: number): string {
  const iso = new Date(startMicros / 1000).toISOString();
  const day = `data_${iso.slice(0, 4)}${iso.slice(5, 7)}${iso.slice(8, 10)}`;
  if (secondsPerTimeSlice >= 86_400) return day;
  const minute = `${day}_${iso.slice(11, 13)}${iso.slice(14, 16)}`;
  return secondsPerTimeSlice >= 60 ? minute : minute + iso.slice(17, 19);
}

/**
 * Seconds between two instants at which slices of both widths begin: the longest wait of a change
 * of width.
 */
export function commonWidthSeconds(a: TimePartition, b: TimePartition): number {
  return (
    (a.secondsPerTimeSlice / greatestCommonDivisor(a.secondsPerTimeSlice, b.secondsPerTimeSlice)) *
    b.secondsPerTimeSlice
  );
}

interface Row {
  /** Slices that join, behind the last gap, by start. */
  readonly slices: readonly TimeSlice[];
  readonly writableFrom: number;
}

function newestRow(existing: readonly TimeSlice[]): Row {
  const sorted = existing.toSorted((a, b) => a.start - b.start);
  let begin = 0;
  let from = 0;
  for (const [i, slice] of sorted.entries()) {
    const before = sorted[i - 1];
    if (before !== undefined && before.end !== slice.start) {
      begin = i;
      from = slice.start;
    }
    if (slice.state === "DROPPED") from = slice.end;
  }
  return { slices: sorted.slice(begin), writableFrom: from };
}

function forward(
  start: number,
  to: number,
  present: TimePartition,
  wanted: TimePartition,
  factorBase: number = wanted.eventBuckets,
): TimeSlice[] {
  const made: TimeSlice[] = [];
  let strategy = present;
  for (let at = start; at < to;) {
    if (at % widthMicros(wanted) === 0) strategy = wanted;
    made.push(sliceFrom(at, strategy, factorBase));
    at += widthMicros(strategy);
    checkCount(made.length);
  }
  return made;
}

function backward(
  start: number,
  from: number,
  present: TimePartition,
  wanted: TimePartition,
  factorBase: number = wanted.eventBuckets,
): TimeSlice[] {
  const made: TimeSlice[] = [];
  let strategy = present;
  for (let at = start; at > from;) {
    if (at % widthMicros(wanted) === 0) strategy = wanted;
    at -= widthMicros(strategy);
    made.push(sliceFrom(at, strategy, factorBase));
    checkCount(made.length);
  }
  return made;
}

function checkCount(count: number): void {
  if (count <= SLICES_MAX) return;
  throw new ServiceError(
    "CONFIG_INVALID",
    `this would make more than ${SLICES_MAX} slices at once; choose longer slices or a lower acceptLimit, ` +
      "and check the clock of this machine",
  );
}

function sliceFrom(start: number, timePartition: TimePartition, factorBase: number): TimeSlice {
  return {
    name: sliceName(start, timePartition.secondsPerTimeSlice),
    start,
    end: start + widthMicros(timePartition),
    timePartition,
    ...(factorBase !== timePartition.eventBuckets && { factorBase }),
    state: "OPEN",
  };
}

function widthMicros(timePartition: TimePartition): number {
  return timePartition.secondsPerTimeSlice * SECOND_MICROS;
}

function alignDown(time: number, timePartition: TimePartition): number {
  const width = widthMicros(timePartition);
  return Math.floor(time / width) * width;
}

function countAcross(micros: number, timePartition: TimePartition): number {
  return micros / widthMicros(timePartition);
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}
