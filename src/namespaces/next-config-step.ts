/**
 * The next step from a namespace's record to a new configuration: slices, then the epoch, then the
 * configuration itself.
 *
 * A pure decision, repeated after each step, until the step writes the configuration.
 */
import { isDeepStrictEqual } from "node:util";
import type { Micros } from "../lib/time-units.ts";
import type { NamespaceConfig } from "../model/namespace-config.ts";
import { closedBelow } from "../model/namespace.ts";
import { planSlices, writableFrom } from "../model/plan-slices.ts";
import { configured, widestAcceptMicros } from "../records/namespace-records.ts";
import type { NamespaceRecord } from "../records/namespace-records.ts";
import type { SliceChange } from "../records/slice-change.ts";
import type { SliceRecord } from "../records/slice-records.ts";
import { beginEpoch } from "./reopen.ts";
import { floorFor, sliceWindow } from "./slice-window.ts";

export type ConfigStep =
  /** Carries out the decision on slices in the record, if there is one, or else `due`. */
  | {
      readonly kind: "change slices";
      readonly record: NamespaceRecord;
      readonly due: Partial<SliceChange>;
    }
  /** The record with the new configuration; `reopening` holds a higher acceptLimit. */
  | { readonly kind: "write"; readonly record: NamespaceRecord };

export function nextConfigStep(
  before: NamespaceRecord,
  slices: readonly SliceRecord[],
  config: NamespaceConfig,
  now: Micros,
  clockSkewMicros: Micros,
): ConfigStep {
  if (before.reopening === null && isSameForSlices(before.config, config)) {
    return { kind: "write", record: configured(before, config) };
  }
  if (before.changing !== null) return { kind: "change slices", record: before, due: {} };

  const { acceptLimitMicros } = config;
  const opens = acceptLimitMicros > before.config.acceptLimitMicros;
  const lower = floorFor(acceptLimitMicros, now, clockSkewMicros);
  // Dropped time never comes back, whatever the limit says.
  const floor = opens ? Math.max(lower, writableFrom(slices)) : before.floor;
  const window = sliceWindow(config, Math.min(floor, before.floor), now, clockSkewMicros);
  const make = planSlices(slices, window, config.timePartition);
  if (make.length > 0) {
    return { kind: "change slices", record: keepingLonger(before, config), due: { make } };
  }
  if (opens) {
    const inForce = { ...config, acceptLimitMicros: before.config.acceptLimitMicros };
    const present = configured(before, inForce);
    // A raise to a limit that is being opened continues that epoch, whose floor is low enough (rule
    // C3).
    if (before.reopening !== null && acceptLimitMicros <= before.reopening.acceptLimitMicros) {
      const reopening = { ...before.reopening, acceptLimitMicros };
      return { kind: "write", record: { ...present, reopening } };
    }
    return { kind: "write", record: beginEpoch(present, floor, acceptLimitMicros) };
  }
  const reached = floorFor(acceptLimitMicros, now, clockSkewMicros);
  // A re-opening that is given up has let no event in below the floor before it.
  const raised = Math.max(raisedFloor(before, acceptLimitMicros, reached), closedBelow(before));
  const record = { ...configured(before, config), floor: raised, reopening: null };
  return { kind: "write", record };
}

/**
 * The floor that the lower limit implies at the time of the last raise of the floor. So the update
 * need not wait until the reconciler believes a leap of the clock. A clock that is behind is
 * believed.
 */
function raisedFloor(before: NamespaceRecord, acceptLimitMicros: number, reached: number): number {
  const sealed = before.floor + widestAcceptMicros(before) - acceptLimitMicros;
  return Math.max(before.floor, Math.min(sealed, reached));
}

/** Whether a change of configuration does not affect slices, and need not wait for them. */
function isSameForSlices(before: NamespaceConfig, after: NamespaceConfig): boolean {
  return isDeepStrictEqual(slicesConfig(before), slicesConfig(after));
}

function slicesConfig({
  timePartition,
  acceptLimitMicros,
  futureLimitMicros,
  retention,
}: NamespaceConfig): unknown {
  return { timePartition, acceptLimitMicros, futureLimitMicros, retention };
}

/**
 * A longer retention is written before the slices change: the reconciler of another process would
 * close and drop the slices that the present retention does not keep.
 */
function keepingLonger(before: NamespaceRecord, config: NamespaceConfig): NamespaceRecord {
  const { closeAfterMicros, deleteAfterMicros } = before.config.retention;
  const retention = {
    closeAfterMicros: Math.max(closeAfterMicros, config.retention.closeAfterMicros),
    deleteAfterMicros: Math.max(deleteAfterMicros, config.retention.deleteAfterMicros),
  };
  return { ...before, config: { ...before.config, retention } };
}
