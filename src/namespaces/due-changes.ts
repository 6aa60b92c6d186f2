/**
 * What time has made due in one namespace: a higher floor, slices to make, close, open again or
 * drop. A pure decision.
 *
 * The floor follows believed time, so a step of the wall clock does not move it (rule C25). While
 * the clock is in doubt nothing is closed or dropped, and no row of slices begins behind a gap
 * (rule C26).
 */
import { widestAcceptMicros } from "../records/namespace-records.ts";
import type { NamespaceRecord } from "../records/namespace-records.ts";
import type { SliceRecord } from "../records/slice-records.ts";
import { floorFor, sliceWindow } from "./slice-window.ts";
import { planSlices } from "../model/plan-slices.ts";
import type { TimeSlice } from "../model/time-slice.ts";
import type { Micros } from "../lib/time-units.ts";

/** What a run knows of the time. */
export interface TimeSeen {
  /** By this machine's clock: what its server accepts events by. */
  readonly wallMicros: Micros;
  /** The time to act on. */
  readonly believedMicros: Micros;
  readonly inDoubt: boolean;
}

export interface DueChanges {
  readonly floor: number;
  readonly make: readonly TimeSlice[];
  readonly close: readonly SliceRecord[];
  readonly open: readonly SliceRecord[];
  readonly drop: readonly SliceRecord[];
  /** Slices that are past their retention by a clock that is in doubt. */
  readonly refused: number;
}

/** Three weeks of hours: as long as a server may well have been down. */
const MADE_IN_DOUBT_MAX = 500;

export function dueChanges(
  record: NamespaceRecord,
  slices: readonly SliceRecord[],
  { wallMicros, believedMicros, inDoubt }: TimeSeen,
  clockSkewMicros: Micros,
): DueChanges {
  const { closeAfterMicros, deleteAfterMicros } = record.config.retention;
  const config = { ...record.config, acceptLimitMicros: widestAcceptMicros(record) };
  const reached = floorFor(config.acceptLimitMicros, believedMicros, clockSkewMicros);
  const window = sliceWindow(config, record.floor, wallMicros, clockSkewMicros);
  const planned = planSlices(slices, window, config.timePartition);
  // A row that begins behind a gap gives up the time between for good, and thousands of slices are
  // a burden for as long as they are kept.
  const rash = leavesGap(slices, planned) || planned.length > MADE_IN_DOUBT_MAX;
  const there = slices.filter(({ state }) => state !== "DROPPED");
  const isOver = ({ end }: TimeSlice, now: Micros): boolean => end + deleteAfterMicros <= now;
  const drop = inDoubt ? [] : there.filter((slice) => isOver(slice, believedMicros));
  const dropped = new Set(drop);
  const close = there.filter(
    (slice) =>
      slice.state === "OPEN" &&
      slice.end + closeAfterMicros <= believedMicros &&
      !dropped.has(slice),
  );
  return {
    floor: Math.max(record.floor, reached),
    make: inDoubt && rash ? [] : planned,
    // Readers would miss what a wrong clock closes, if only for a while.
    close: inDoubt ? [] : close,
    open: there.filter(
      ({ state, end }) => state === "CLOSED" && end + closeAfterMicros > believedMicros,
    ),
    drop,
    refused: inDoubt ? there.filter((slice) => isOver(slice, wallMicros)).length : 0,
  };
}

/** Whether there is anything to write into the slices' records. */
export function changesSlices({ make, close, open, drop }: DueChanges): boolean {
  return make.length + close.length + open.length + drop.length > 0;
}

function leavesGap(slices: readonly TimeSlice[], planned: readonly TimeSlice[]): boolean {
  const last = slices.at(-1);
  const next = planned.find(({ start }) => last !== undefined && start >= last.end);
  return next !== undefined && next.start !== last?.end;
}
