/**
 * Every move of a tuning's record.
 *
 * A change is made in steps that can stop anywhere. To apply: the record becomes APPLIED, the
 * configuration changes, the record gets `effectiveFrom`. To take back: the record gets `got`, the
 * configuration changes, the record becomes TAKEN_BACK. `settleTuning` continues a sequence that a
 * crash has cut.
 */
import { isDeepStrictEqual } from "node:util";
import { ServiceError } from "../lib/errors.ts";
import { SECOND_MICROS } from "../model/namespace-config.ts";
import type { NamespaceConfig, TimePartition } from "../model/namespace-config.ts";
import { commonWidthSeconds } from "../model/plan-slices.ts";
import type { TuningState } from "../model/tuning.ts";
import { readNamespace } from "../records/namespace-records.ts";
import { readSlices } from "../records/slice-records.ts";
import { readTuning, writeTuning } from "../records/tuning-records.ts";
import type { TuningRecord } from "../records/tuning-records.ts";
import type { TuneContext } from "./tune-context.ts";

/** A history longer than this loses its middle: every tuning has few moves. */
const HISTORY_MAX = 20;

export interface Move {
  readonly by: string;
  readonly to: TuningState;
  readonly why: string;
}

interface NamespaceName {
  readonly name: string;
  readonly id: string;
}

/** Undefined if another process moved it first. */
export async function moveTuning(
  { catalog, time, observe }: TuneContext,
  { name, id }: NamespaceName,
  tuning: TuningRecord,
  { by, to, why }: Move,
): Promise<TuningRecord | undefined> {
  const entry = { at: Math.round(time.nowMicros()), by, to, why };
  const history = [...tuning.history, entry];
  const kept =
    history.length <= HISTORY_MAX ? history : [...history.slice(0, 1), ...history.slice(2)];
  const moved = await writeTuning(catalog, id, { ...tuning, state: to, history: kept });
  if (moved !== undefined) observe?.(name, moved, "tuning");
  return moved;
}

/**
 * Moves the record to APPLIED, changes the configuration, and notes from when on slices have it. So
 * an operator's refusal either comes first or comes too late, and never beside a change. Undefined
 * if another process moved it first; CONFLICT if the configuration has changed.
 */
export async function applyTuning(
  context: TuneContext,
  namespace: NamespaceName,
  tuning: TuningRecord,
  by: string,
  why: string,
): Promise<TuningRecord | undefined> {
  const begun = await moveTuning(context, namespace, tuning, { by, to: "APPLIED", why });
  return begun === undefined ? undefined : finishApplying(context, namespace, begun, by);
}

/**
 * Restores the former partitioning, then moves the record, which has what was measured. CONFLICT if
 * the configuration has changed.
 */
export async function takeBackTuning(
  context: TuneContext,
  namespace: NamespaceName,
  tuning: TuningRecord,
  by: string,
  why: string,
): Promise<TuningRecord | undefined> {
  await context.setPartitioning(namespace, tuning.to, tuning.from);
  return moveTuning(context, namespace, tuning, { by, to: "TAKEN_BACK", why });
}

/**
 * Brings a record into line with the configuration, which must have been read later: an operator
 * may have changed it, or a process may have died between the steps of a change.
 */
export async function settleTuning(
  context: TuneContext,
  namespace: NamespaceName & { readonly config: NamespaceConfig },
  tuning: TuningRecord,
  by: string,
): Promise<TuningRecord> {
  const { timePartition } = namespace.config;
  const isFrom = isDeepStrictEqual(timePartition, tuning.from);
  const isTo = isDeepStrictEqual(timePartition, tuning.to);
  const move = async (to: TuningState, why: string): Promise<TuningRecord> =>
    (await moveTuning(context, namespace, tuning, { by, to, why })) ?? tuning;
  switch (tuning.state) {
    case "PROPOSED": {
      if (isFrom) return tuning;
      if (!isTo) return move("SUPERSEDED", CHANGED);
      const found = await move("APPLIED", "the configuration has the proposed partitioning");
      return found.state === "APPLIED" ? begin(context, namespace, found) : found;
    }
    case "APPLIED": {
      const isBegun = tuning.effectiveFrom > 0;
      if (isTo) return isBegun ? tuning : begin(context, namespace, tuning);
      // In doubt about time no change of partitions takes effect (rule C26): it waits.
      if (isFrom && !isBegun) {
        if (context.time.inDoubt) return tuning;
        return (await finishApplying(context, namespace, tuning, by)) ?? tuning;
      }
      if (isFrom && tuning.got !== null) return move("TAKEN_BACK", "it made partitions worse");
      return move("SUPERSEDED", CHANGED);
    }
    default:
      return tuning;
  }
}

const CHANGED = "the configuration was changed meanwhile";

/** Safe to repeat. What the configuration cannot have (rule C4) is refused. */
async function finishApplying(
  context: TuneContext,
  namespace: NamespaceName,
  tuning: TuningRecord,
  by: string,
): Promise<TuningRecord | undefined> {
  try {
    await context.setPartitioning(namespace, tuning.from, tuning.to);
  } catch (error) {
    if (error instanceof ServiceError && error.code === "CONFIG_INVALID") {
      const why = `the configuration cannot have it: ${error.message}`;
      await moveTuning(context, namespace, tuning, { by, to: "REFUSED", why });
    }
    // Another process may have continued what this one began.
    if (!isConflict(error) || !(await hasPartitioning(context, namespace, tuning.to))) throw error;
  }
  return begin(context, namespace, tuning);
}

async function hasPartitioning(
  { catalog }: TuneContext,
  { name, id }: NamespaceName,
  timePartition: TimePartition,
): Promise<boolean> {
  const now = await readNamespace(catalog, name);
  return now?.id === id && isDeepStrictEqual(now.config.timePartition, timePartition);
}

/** The configuration has it: notes from when on slices do. */
async function begin(
  context: TuneContext,
  { id }: NamespaceName,
  tuning: TuningRecord,
): Promise<TuningRecord> {
  const effectiveFrom = await beginningOf(context, id, tuning.to);
  const { catalog } = context;
  const written = await writeTuning(catalog, id, { ...tuning, effectiveFrom });
  return written ?? (await readTuning(catalog, id, tuning.id)) ?? tuning;
}

/** Whether an error says that the configuration is no longer the one the tuning is about. */
export function isConflict(error: unknown): boolean {
  return error instanceof ServiceError && error.code === "CONFLICT";
}

/**
 * Event time from which slices have this partitioning, which the configuration has by now. Slices
 * of another one that exist are frozen: it begins after them, and slices of another width begin
 * where both widths do.
 */
async function beginningOf(
  { catalog }: TuneContext,
  namespaceId: string,
  to: TimePartition,
): Promise<number> {
  const slices = await readSlices(catalog, namespaceId);
  const other = slices.findLastIndex(({ timePartition }) => !isDeepStrictEqual(timePartition, to));
  const first = slices[other + 1];
  if (first !== undefined) return first.start;
  const last = slices[other];
  if (last === undefined) return 0;
  const boundary = commonWidthSeconds(last.timePartition, to) * SECOND_MICROS;
  return Math.ceil(last.end / boundary) * boundary;
}
