/**
 * Decides which slices of a namespace are to be walked now. Pure.
 *
 * A slice whose events can no longer change is walked once; again only if its time was re-opened,
 * or if the last walk did not reach its end. A slice that still takes events is walked now and then.
 */
import { isSealed } from "../model/epochs.ts";
import type { Micros } from "../lib/time-units.ts";
import type { Namespace } from "../model/namespace.ts";
import type { SliceHistogram } from "../model/slice-histogram.ts";
import type { TimeSlice } from "../model/time-slice.ts";

export type LastWalk = Pick<SliceHistogram, "asOf" | "endedAt" | "sealed" | "epoch" | "complete">;

export interface DueWalk<S extends TimeSlice = TimeSlice> {
  readonly slice: S;
  readonly sealed: boolean;
}

export interface WalkTimes {
  readonly now: Micros;
  /** Event time below it can no longer change in this epoch. */
  readonly settledFloor: number;
  /** How often a slice that takes events is walked. */
  readonly currentEvery: Micros;
  /** When a walk that did not reach the end is repeated. */
  readonly retryAfter: Micros;
  /** How many slices have a histogram, the newest ones: older slices are not walked. */
  readonly keptMax: number;
}

/** The sealed ones first, newest first: they are the most useful; then those that take events. */
export function dueWalks<S extends TimeSlice>(
  { epochStarts }: Pick<Namespace, "epochStarts">,
  slices: readonly S[],
  lastWalk: (slice: S) => LastWalk | undefined,
  times: WalkTimes,
): DueWalk<S>[] {
  const due: DueWalk<S>[] = [];
  for (const slice of newest(slices, times)) {
    // A slice that is about to be dropped, or was, is not worth a walk.
    if (slice.state === "DROPPING" || slice.state === "DROPPED") continue;
    const sealed = slice.end <= times.settledFloor;
    const last = lastWalk(slice);
    const final = last?.sealed === true && isSealed(epochStarts, { ...last, to: slice.end });
    if (isDue(last, { sealed, final }, times)) due.push({ slice, sealed });
  }
  return due.toSorted(
    (a, b) => Number(b.sealed) - Number(a.sealed) || b.slice.start - a.slice.start,
  );
}

function newest<S extends TimeSlice>(slices: readonly S[], { now, keptMax }: WalkTimes): S[] {
  const begun = slices.filter(({ start }) => start <= now);
  return begun.toSorted((a, b) => b.start - a.start).slice(0, keptMax);
}

/** `final`: the last walk found the slice sealed, and no re-opening came since. */
function isDue(
  last: LastWalk | undefined,
  { sealed, final }: { readonly sealed: boolean; readonly final: boolean },
  { now, currentEvery, retryAfter }: WalkTimes,
): boolean {
  if (last === undefined) return true;
  // A clock that went back must not stop walks for long.
  if (!sealed) return Math.abs(now - last.asOf) >= currentEvery;
  return !final || (!last.complete && Math.abs(now - last.endedAt) >= retryAfter);
}
