/**
 * Every move of a tuning's record.
 *
 * A tuning is applied in three steps that can stop anywhere: it is recorded as PROPOSED, the
 * configuration changes, the record becomes APPLIED. `settleTuning` continues a sequence that a
 * crash has cut: what the configuration says decides.
 */
import { isDeepStrictEqual } from "node:util";
import { ServiceError } from "../lib/errors.ts";
import { SECOND_MICROS } from "../model/namespace-config.ts";
import type { NamespaceConfig, TimePartition } from "../model/namespace-config.ts";
import { commonWidthSeconds } from "../model/plan-slices.ts";
import type { TuningState } from "../model/tuning.ts";
import { readSlices } from "../records/slice-records.ts";
import { writeTuning } from "../records/tuning-records.ts";
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
  fields: Partial<TuningRecord> = {},
): Promise<TuningRecord | undefined> {
  const entry = { at: Math.round(time.nowMicros()), by, to, why };
  const history = [...tuning.history, entry];
  const kept =
    history.length <= HISTORY_MAX ? history : [...history.slice(0, 1), ...history.slice(2)];
  const moved = await writeTuning(catalog, id, { ...tuning, ...fields, state: to, history: kept });
  if (moved !== undefined) observe?.(name, moved);
  return moved;
}

/** Changes the configuration, then the record. CONFLICT if the configuration has changed. */
export async function applyTuning(
  context: TuneContext,
  namespace: NamespaceName,
  tuning: TuningRecord,
  by: string,
  why: string,
): Promise<TuningRecord | undefined> {
  const effectiveFrom = await beginningOf(context, namespace.id, tuning.to);
  await context.setPartitioning(namespace.name, tuning.from, tuning.to);
  return moveTuning(context, namespace, tuning, { by, to: "APPLIED", why }, { effectiveFrom });
}

/** Restores the former partitioning, then moves the record. */
export async function takeBackTuning(
  context: TuneContext,
  namespace: NamespaceName,
  tuning: TuningRecord,
  by: string,
  why: string,
): Promise<TuningRecord | undefined> {
  await context.setPartitioning(namespace.name, tuning.to, tuning.from);
  return moveTuning(context, namespace, tuning, { by, to: "TAKEN_BACK", why });
}

/**
 * Brings a record into line with the configuration: an operator may have changed it, or a process
 * may have died between the two steps of a change.
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
  if (tuning.state === "PROPOSED" && isTo) {
    const effectiveFrom = await beginningOf(context, namespace.id, tuning.to);
    const why = "the configuration has the proposed partitioning";
    const move = { by, to: "APPLIED", why } as const;
    return (await moveTuning(context, namespace, tuning, move, { effectiveFrom })) ?? tuning;
  }
  const isOpen = tuning.state === "PROPOSED" || tuning.state === "APPLIED";
  if (!isOpen || (tuning.state === "PROPOSED" ? isFrom : isTo)) return tuning;
  const why = "the configuration was changed meanwhile";
  return (await moveTuning(context, namespace, tuning, { by, to: "SUPERSEDED", why })) ?? tuning;
}

/** Whether an error says that the configuration is no longer the one the tuning is about. */
export function isConflict(error: unknown): boolean {
  return error instanceof ServiceError && error.code === "CONFLICT";
}

/**
 * Event time from which slices have this partitioning. Slices that exist are frozen: it begins after
 * them, and slices of another width begin where both widths do.
 */
async function beginningOf(
  { catalog }: TuneContext,
  namespaceId: string,
  to: TimePartition,
): Promise<number> {
  const last = (await readSlices(catalog, namespaceId)).at(-1);
  if (last === undefined) return 0;
  if (last.timePartition.secondsPerTimeSlice === to.secondsPerTimeSlice) return last.end;
  const boundary = commonWidthSeconds(last.timePartition, to) * SECOND_MICROS;
  return Math.ceil(last.end / boundary) * boundary;
}
