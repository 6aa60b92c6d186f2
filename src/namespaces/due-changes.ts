/**
 * What time has made due in one namespace: a higher floor, slices to make, close, open again or
 * drop.
 *
 * A pure decision. A raised floor and a dropped slice cannot be taken back, so they ask how far the
 * clock can be believed.
 */
import { widestAcceptMicros } from "../records/namespace-records.ts";
import type { NamespaceRecord } from "../records/namespace-records.ts";
import type { SliceRecord } from "../records/slice-records.ts";
import { floorFor, sliceWindow } from "./slice-window.ts";
import { planSlices } from "../model/plan-slices.ts";
import type { TimeSlice } from "../model/time-slice.ts";
import type { ClockTrust } from "./clock-watch.ts";
import type { Micros } from "../lib/time-units.ts";

export interface DueChanges {
  readonly floor: number;
  readonly make: readonly TimeSlice[];
  readonly close: readonly SliceRecord[];
  readonly open: readonly SliceRecord[];
  readonly drop: readonly SliceRecord[];
  /** Slices whose time is over by a clock that is not believed. */
  readonly refused: number;
}

/**
 * Dropping more than this, and more than half of what there is, in one run is what a wrong clock
 * looks like.
 */
const DROPS_TRUSTED_MAX = 10;
/** Three weeks of hours: what a server may well have slept through. */
const MADE_TRUSTED_MAX = 500;

export function dueChanges(
  record: NamespaceRecord,
  slices: readonly SliceRecord[],
  nowMicros: Micros,
  clockSkewMicros: Micros,
  trust: ClockTrust,
): DueChanges {
  const { closeAfterMicros, deleteAfterMicros } = record.config.retention;
  const config = { ...record.config, acceptLimitMicros: widestAcceptMicros(record) };
  const reached = floorFor(config.acceptLimitMicros, nowMicros, clockSkewMicros);
  // Just after the start nothing but the stored floor tells how late it is. A server that stood still
  // and a clock that is wrong look the same, so a leap is waited upon.
  const starting = !Number.isFinite(trust.doubtMicros);
  const leaps = starting && reached - record.floor > trust.jumpMicros;
  const believedFloor = starting ? reached : reached - trust.doubtMicros;
  const floor = Math.max(record.floor, leaps ? 0 : Math.floor(believedFloor));
  const window = sliceWindow(config, record.floor, nowMicros, clockSkewMicros);
  const planned = planSlices(slices, window, config.timePartition);
  // Beginning anew behind a gap gives up the time between for good, and thousands of slices are a
  // burden for as long as they are kept: not on a clock in doubt.
  const rash = leavesGap(slices, planned) || planned.length > MADE_TRUSTED_MAX;
  const make = (trust.jumped || leaps) && rash ? [] : planned;
  const there = slices.filter(({ state }) => state !== "DROPPED");
  const over = there.filter(({ end }) => end + deleteAfterMicros <= nowMicros);
  const many = over.length > DROPS_TRUSTED_MAX && over.length > there.length / 2;
  const believed = many ? nowMicros - trust.doubtMicros : nowMicros;
  const drop = trust.jumped ? [] : over.filter(({ end }) => end + deleteAfterMicros <= believed);
  const dropped = new Set(drop);
  const close = there.filter(
    (slice) =>
      slice.state === "OPEN" && slice.end + closeAfterMicros <= nowMicros && !dropped.has(slice),
  );
  return {
    floor,
    make,
    // Readers would miss what a wrong clock closes, if only for a while.
    close: trust.jumped ? [] : close,
    open: there.filter(
      ({ state, end }) => state === "CLOSED" && end + closeAfterMicros > nowMicros,
    ),
    drop,
    refused: over.length - drop.length,
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
