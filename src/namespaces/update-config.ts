/**
 * Changes the configuration of a namespace.
 *
 * The changes to slices, floor and epoch for the new configuration are a sequence of rounds: each
 * one reads the namespace, lets `nextConfigStep` decide, and takes that one step. A higher
 * acceptLimit is in force only after all of rule C3's steps, which take `view_max_age` where the
 * catalog is shared. If the signal aborts before that, the slice reconciler does the rest.
 */
import { isDeepStrictEqual } from "node:util";
import { ServiceError } from "../lib/errors.ts";
import { Problems } from "../lib/problems.ts";
import type { ProblemCollector } from "../lib/problems.ts";
import { checkConfig } from "../model/check-config.ts";
import { mergeConfig } from "../model/merge-config.ts";
import type { MergedConfig, NamespaceConfigPatch } from "../model/merge-config.ts";
import type { Namespace } from "../model/namespace.ts";
import { DEFAULT_NAMESPACE_CONFIG } from "../model/namespace-config.ts";
import type { NamespaceConfig, TimePartition } from "../model/namespace-config.ts";
import { commonWidthSeconds } from "../model/plan-slices.ts";
import { floorSettledAt } from "../model/time-margins.ts";
import type { TimeSlice } from "../model/time-slice.ts";
import {
  readNamespace,
  readReadyNamespace,
  widestAcceptMicros,
  writeNamespace,
} from "../records/namespace-records.ts";
import type { NamespaceRecord } from "../records/namespace-records.ts";
import { readSlices } from "../records/slice-records.ts";
import { rescheduleSplits } from "../splits/record/reschedule-splits.ts";
import type { NamespaceContext } from "./namespace-context.ts";
import { nextConfigStep } from "./next-config-step.ts";
import { openClosedSlices } from "./open-closed-slices.ts";
import { completeReopening } from "./reopen.ts";
import { changeSlicesInRound, inRounds } from "./slice-rounds.ts";
import type { RoundOutcome } from "./slice-rounds.ts";

export interface ConfigUpdate {
  readonly patch: NamespaceConfigPatch;
  /** Fields to reset to their defaults. */
  readonly reset: readonly string[];
  /** Otherwise the update is refused with CONFLICT. */
  readonly expected?: { readonly id: string; readonly timePartition: TimePartition };
}

const YEAR_SECONDS = 31_536_000;

export async function updateConfig(
  context: NamespaceContext,
  name: string,
  update: ConfigUpdate,
  signal: AbortSignal | undefined,
): Promise<Namespace> {
  const { catalog, changed } = context;
  const before = await readReadyNamespace(catalog, name);
  const written = await inRounds(context, name, () => changeConfig(context, name, update, signal));
  await changed(name);
  if (written.config.retention.closeAfterMicros > before.config.retention.closeAfterMicros) {
    await openClosedSlices(context, name, signal);
  }
  if (written.reopening !== null) return completeReopening(context, written, signal);
  if (written.config.acceptLimitMicros < widestAcceptMicros(before)) {
    await rescheduleWaiting(context, written, signal);
  }
  return readReadyNamespace(catalog, name);
}

/** One round. It bases every write on what it has read, at the version it has read. */
async function changeConfig(
  context: NamespaceContext,
  name: string,
  update: ConfigUpdate,
  signal: AbortSignal | undefined,
): Promise<RoundOutcome<NamespaceRecord>> {
  const { catalog, margins, time } = context;
  const before = await readReadyNamespace(catalog, name);
  requirePartitioning(before, update.expected);
  const slices = await readSlices(catalog, before.id);
  const problems = new Problems();
  const config = updatedConfig(context, before, slices, update, problems);
  problems.throwIfAny("CONFIG_INVALID");
  const step = nextConfigStep(before, slices, config, time.nowMicros(), margins.clockSkew.micros);
  switch (step.kind) {
    case "change slices":
      return changeSlicesInRound(context, step.record, step.due, signal);
    case "write":
      return written(await writeNamespace(catalog, step.record));
  }
}

/**
 * Adds the problems that the update would have now; those of the paths alone if there is no such
 * namespace.
 */
export async function checkUpdate(
  context: NamespaceContext,
  name: string,
  update: ConfigUpdate,
  problems: Problems,
): Promise<void> {
  const { catalog } = context;
  const record = await readNamespace(catalog, name);
  if (record?.phase === "READY") {
    updatedConfig(context, record, await readSlices(catalog, record.id), update, problems);
  } else addResetProblems(mergeConfig(DEFAULT_NAMESPACE_CONFIG, {}, update.reset), problems);
}

/** The configuration that the namespace would have. Adds its problems. */
function updatedConfig(
  { margins }: NamespaceContext,
  before: NamespaceRecord,
  slices: readonly TimeSlice[],
  update: ConfigUpdate,
  problems: Problems,
): NamespaceConfig {
  // A limit that is not in force yet counts as the present one: an update keeps the fields that it
  // does not name.
  const present = { ...before.config, acceptLimitMicros: widestAcceptMicros(before) };
  const merged = mergeConfig(present, update.patch, update.reset);
  addResetProblems(merged, problems);
  const ofConfig = problems.within("config");
  checkConfig(merged.config, margins, ofConfig);
  checkWidth(slices, merged.config, ofConfig);
  return merged.config;
}

function addResetProblems(merged: MergedConfig, problems: Problems): void {
  for (const { problem, field } of merged.problems) problems.add(problem, field);
}

function requirePartitioning(
  { name, id, config }: NamespaceRecord,
  expected: ConfigUpdate["expected"],
): void {
  if (expected === undefined) return;
  const isSame = isDeepStrictEqual(config.timePartition, expected.timePartition);
  if (isSame && id === expected.id) return;
  throw new ServiceError(
    "CONFLICT",
    `the partitioning of namespace "${name}" was changed meanwhile`,
    {
      details: { namespace: name },
      retryAfterMs: 1_000,
    },
  );
}

function written(record: NamespaceRecord | undefined): RoundOutcome<NamespaceRecord> {
  return record === undefined ? "overtaken" : { done: record };
}

/**
 * Reschedules splits that wait for sealed time, so that they wait no longer than a lower limit
 * requires.
 */
async function rescheduleWaiting(
  { catalog, clock, margins }: NamespaceContext,
  { id }: NamespaceRecord,
  signal: AbortSignal | undefined,
): Promise<void> {
  const at = floorSettledAt(clock.nowMicros(), margins, catalog);
  try {
    await rescheduleSplits(catalog, clock, id, at, signal);
  } catch (error) {
    signal?.throwIfAborted();
    // The limit is in force in any case, and each split has a due time of its own.
    if (!(error instanceof ServiceError)) throw error;
  }
}

/**
 * A new width begins at a common boundary of slices of both widths; if that is years away, the
 * change would do nothing.
 */
function checkWidth(
  slices: readonly TimeSlice[],
  config: NamespaceConfig,
  problems: ProblemCollector,
): void {
  const last = slices.at(-1);
  const field = "timePartition.secondsPerTimeSlice";
  if (last === undefined || !problems.sound(field)) return;
  if (commonWidthSeconds(last.timePartition, config.timePartition) <= YEAR_SECONDS) return;
  problems.add(
    `${field} (${config.timePartition.secondsPerTimeSlice}) has no boundary in common with the ` +
      `slices there are (${last.timePartition.secondsPerTimeSlice}) within a year; choose a multiple or a divisor of that`,
  );
}
