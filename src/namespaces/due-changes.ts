/**
 * The changes that time has made due in one namespace: a higher floor, or one to take back, slices
 * to make, close, reopen or drop. A pure decision.
 *
 * The floor follows believed time, so a step of the wall clock does not move it (rule C25). While
 * the clock is in doubt, the reconciler closes and drops nothing, and makes no slices that begin
 * after a gap (rule C26).
 */
import type { BelievedLeap } from "../records/believed-time.ts";
import { elapsedSince } from "./believed-time.ts";
import { widestAcceptMicros } from "../records/namespace-records.ts";
import type { NamespaceRecord } from "../records/namespace-records.ts";
import type { SliceRecord } from "../records/slice-records.ts";
import { floorFor, sliceWindow } from "./slice-window.ts";
import { SECOND_MICROS } from "../model/namespace-config.ts";
import { planSlices, writableFrom } from "../model/plan-slices.ts";
import type { TimeSlice } from "../model/time-slice.ts";
import type { TimeMargins } from "../model/time-margins.ts";
import type { Micros } from "../lib/time-units.ts";

/** The clocks as one run read them. */
export interface TimeSeen {
  /** By this machine's clock: the server accepts events by it. */
  readonly wallMicros: Micros;
  /** The time to act on. */
  readonly believedMicros: Micros;
  readonly inDoubt: boolean;
  /** Leaps that no grace counts (rule C26). */
  readonly leaps: readonly BelievedLeap[];
}

export interface DueChanges {
  readonly floor: number;
  /** The floor of a new epoch, if a wrong clock has raised the present one (rule C25). */
  readonly takenBackFloor: number | undefined;
  readonly make: readonly TimeSlice[];
  readonly close: readonly SliceRecord[];
  readonly open: readonly SliceRecord[];
  /** Slices to mark as DROPPING: an undrop can restore them during the grace. */
  readonly dropping: readonly SliceRecord[];
  /** DROPPING slices whose retention has become longer, or that a wrong clock marked. */
  readonly undrop: readonly SliceRecord[];
  /** Slices to drop permanently. */
  readonly drop: readonly SliceRecord[];
  /** Number of slices that are past their retention by a clock that is in doubt. */
  readonly refused: number;
}

/**
 * A floor that is no further ahead than this and twice the clock skew stays: believed time reaches
 * it soon, and two owners of the slices need not agree exactly.
 */
const FLOOR_AHEAD_MICROS_MAX = 60 * SECOND_MICROS;
/** Three weeks of hourly slices: a plausible downtime of a server. */
const MADE_IN_DOUBT_MAX = 500;

export function dueChanges(
  record: NamespaceRecord,
  slices: readonly SliceRecord[],
  { wallMicros, believedMicros, inDoubt, leaps }: TimeSeen,
  margins: Pick<TimeMargins, "clockSkew" | "dropGrace">,
): DueChanges {
  const clockSkewMicros = margins.clockSkew.micros;
  const { closeAfterMicros, deleteAfterMicros } = record.config.retention;
  const config = { ...record.config, acceptLimitMicros: widestAcceptMicros(record) };
  const reached = floorFor(config.acceptLimitMicros, believedMicros, clockSkewMicros);
  const lowest = Math.max(reached, writableFrom(slices));
  const ahead = record.floor - lowest > FLOOR_AHEAD_MICROS_MAX + 2 * clockSkewMicros;
  const takeBack = ahead && !inDoubt && record.reopening === null;
  const from = takeBack ? lowest : record.floor;
  const plannedFor = (now: Micros): TimeSlice[] =>
    planSlices(slices, sliceWindow(config, from, now, clockSkewMicros), config.timePartition);
  const byWallClock = plannedFor(wallMicros);
  // A wrong clock must not keep the slices from being made that believed time needs.
  const planned = inDoubt && isRash(slices, byWallClock) ? plannedFor(believedMicros) : byWallClock;
  const there = slices.filter(({ state }) => state !== "DROPPED");
  const isOver = ({ end }: TimeSlice, now: Micros): boolean => end + deleteAfterMicros <= now;
  const over = there.filter(
    (slice) => isOver(slice, believedMicros) && slice.keptUntil <= believedMicros,
  );
  const graceMicros = dropGraceOf(record, margins);
  const hadGrace = ({ state, droppingSince }: SliceRecord): boolean =>
    graceMicros === 0 ||
    (state === "DROPPING" && elapsedSince(droppingSince, believedMicros, leaps) >= graceMicros);
  const drop = inDoubt ? [] : over.filter(hadGrace);
  const dropping = inDoubt
    ? []
    : over.filter((slice) => slice.state !== "DROPPING" && !hadGrace(slice));
  const dropped = new Set([...drop, ...dropping]);
  const close = there.filter(
    (slice) =>
      slice.state === "OPEN" &&
      slice.end + closeAfterMicros <= believedMicros &&
      !dropped.has(slice),
  );
  return {
    floor: Math.max(record.floor, reached),
    // Its slices are made first.
    takenBackFloor: takeBack && planned.length === 0 ? lowest : undefined,
    make: inDoubt && isRash(slices, planned) ? [] : planned,
    // Readers would miss the slices that a wrong clock closes, if only for a while.
    close: inDoubt ? [] : close,
    open: there.filter(
      ({ state, end }) => state === "CLOSED" && end + closeAfterMicros > believedMicros,
    ),
    dropping,
    undrop: there.filter((slice) => slice.state === "DROPPING" && !isOver(slice, believedMicros)),
    drop,
    refused: inDoubt ? there.filter((slice) => isOver(slice, wallMicros)).length : 0,
  };
}

/** Whether there is anything to write into the slices' records. */
export function changesSlices(due: DueChanges): boolean {
  const { make, close, open, dropping, undrop, drop } = due;
  return [make, close, open, dropping, undrop, drop].some(({ length }) => length > 0);
}

/** How long a slice of the namespace is DROPPING (rule C26). */
export function dropGraceOf(
  { config }: Pick<NamespaceRecord, "config">,
  { dropGrace }: Pick<TimeMargins, "dropGrace">,
): Micros {
  return Math.min(dropGrace.micros, Math.floor(config.retention.deleteAfterMicros / 4));
}

/**
 * Slices that begin after a gap give up the time in the gap permanently, and thousands of slices
 * are a burden for as long as they are kept.
 */
function isRash(slices: readonly TimeSlice[], planned: readonly TimeSlice[]): boolean {
  return leavesGap(slices, planned) || planned.length > MADE_IN_DOUBT_MAX;
}

function leavesGap(slices: readonly TimeSlice[], planned: readonly TimeSlice[]): boolean {
  const last = slices.at(-1);
  const next = planned.find(({ start }) => last !== undefined && start >= last.end);
  return next !== undefined && next.start !== last?.end;
}
