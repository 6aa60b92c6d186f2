/**
 * Which sealed time was open again since a copy of it was made (rule C3). Pure.
 *
 * A namespace keeps a pair (epoch, floor at its start) for each epoch that re-opened time. A copy
 * is of the epoch in which its range was frozen. An event may have been accepted at or above the
 * floor of any later epoch, so a copy is complete only up to the least of those floors. This file
 * is the only place that decides it: serving, detecting, planning, comparing and verifying ask here.
 *
 * So a re-opening changes the namespace's record and no record of a split.
 */
import { assert } from "../lib/errors.ts";

/** An epoch that re-opened time, and the floor with which it began. */
export interface EpochStart {
  readonly epoch: number;
  readonly floor: number;
}

/** Rising in epochs and in floors: `withEpochStart` leaves out the pairs that another dominates. */
export type EpochStarts = readonly EpochStart[];

/** A copied or frozen range: its end, and the epoch in which it was frozen. */
export interface FrozenRange {
  readonly epoch: number;
  readonly to: number;
}

/**
 * The number of pairs that are kept. A namespace that is opened for a backfill every week reaches
 * it after more than a year.
 */
export const EPOCH_STARTS_MAX = 64;

/** Whether no later epoch has opened time of the range. Reads ask per fetch: no allocation. */
export function isSealed(starts: EpochStarts, { epoch, to }: FrozenRange): boolean {
  return to <= sealedTo(starts, epoch);
}

/** A copy of that epoch is complete below this event time: the least floor of all later epochs. */
export function sealedTo(starts: EpochStarts, epoch: number): number {
  // Floors rise with the epochs, so the first later epoch has the least floor of all later ones.
  for (const start of starts) if (start.epoch > epoch) return start.floor;
  return Number.POSITIVE_INFINITY;
}

/**
 * Adds a new epoch. A pair with an earlier epoch and no lower floor says nothing more: each copy
 * that it stops is stopped by the new one too.
 *
 * Beyond the bound the two oldest pairs become one, with the later epoch and the lower floor. That
 * stops more copies than necessary, never fewer: the copies are made again.
 */
export function withEpochStart(starts: EpochStarts, added: EpochStart): EpochStarts {
  const last = starts.at(-1);
  assert(last === undefined || last.epoch < added.epoch, "epochs are added in their order");
  const kept = [...starts.filter(({ floor }) => floor < added.floor), added];
  const [first, second, ...rest] = kept;
  if (kept.length <= EPOCH_STARTS_MAX || first === undefined || second === undefined) return kept;
  return [{ epoch: second.epoch, floor: first.floor }, ...rest];
}
