/**
 * Tunes one namespace: measures what earlier tunings did, takes back one that made things worse,
 * and decides whether the histograms ask for another.
 *
 * Any number of processes may do this at once: every move is compare-and-set, and a change of the
 * configuration names the partitioning that it replaces.
 */
import { isDeepStrictEqual } from "node:util";
import { formatBytes } from "../lib/units.ts";
import { isSealed } from "../model/epochs.ts";
import type { Tuning } from "../model/tuning.ts";
import { readHistograms } from "../records/histogram-records.ts";
import { readNamespace } from "../records/namespace-records.ts";
import type { NamespaceRecord } from "../records/namespace-records.ts";
import { lastReadAt } from "../records/read-activity-records.ts";
import { isStampedAhead } from "../records/stamped-ahead.ts";
import { readTunings, trimTunings, writeTuning } from "../records/tuning-records.ts";
import type { TuningRecord } from "../records/tuning-records.ts";
import { decideTuning, usableHistograms } from "./decide-tuning.ts";
import type { TuningDecision, TuningFacts } from "./decide-tuning.ts";
import { measureEffect } from "./measure-effect.ts";
import type { TuningEffect } from "./measure-effect.ts";
import {
  applyTuning,
  isConflict,
  moveTuning,
  settleTuning,
  takeBackTuning,
} from "./move-tuning.ts";
import { newTuning, proposalOf } from "./new-tuning.ts";
import { observedInLog } from "./observed-text.ts";
import type { TuneContext } from "./tune-context.ts";

/** In the history of what nobody else did. */
export const TUNER = "tuner";

/** Undefined if there is no such namespace any more. */
export async function tuneNamespace(
  context: TuneContext,
  { name, id }: { readonly name: string; readonly id: string },
): Promise<TuningDecision | undefined> {
  const { catalog, unreadable } = context;
  // The configuration is read after the tunings: every step of a change writes the record first.
  const stored = await readTunings(catalog, id, unreadable);
  const record = await readNamespace(catalog, name);
  if (record?.phase !== "READY" || record.id !== id) return undefined;
  const settled: TuningRecord[] = [];
  for (const tuning of stored) settled.push(await settleTuning(context, record, tuning, TUNER));
  const facts = await factsOf(context, record, settled);
  if (context.time.inDoubt) return decideTuning(facts);
  const measured: TuningRecord[] = [];
  for (const tuning of settled) measured.push(await measure(context, record, tuning, facts));
  // The configuration has changed under this round: the next one sees it.
  const tookBack = measured.some(
    (each, nth) => each.state !== settled[nth]?.state && each.state === "TAKEN_BACK",
  );
  if (tookBack) return { kind: "none", why: "COOLING_DOWN" };
  const decision = decideTuning({ ...facts, tunings: measured });
  if (decision.kind === "none") {
    if (decision.why === "FITS") await supersede(context, record, measured, NOW_FITS);
    return decision;
  }
  if (decision.kind === "apply") {
    const waiting = measured.find((each) => each.id === decision.id);
    if (waiting !== undefined) await applyUnlessChanged(context, record, waiting);
    return decision;
  }
  const made = await propose(context, record, measured, decision);
  if (made !== undefined && record.config.tuning.mode === "AUTO" && decision.automatic) {
    await applyUnlessChanged(context, record, made);
  }
  await trimTunings(catalog, record.id, measured);
  return decision;
}

const NOW_FITS = "the newest slices have the target size";

/** Everything that a decision is based on, as it is stored now. */
export async function factsOf(
  { catalog, time, margins, unreadable }: TuneContext,
  record: NamespaceRecord,
  tunings: readonly Tuning[],
): Promise<TuningFacts> {
  const readAt = await lastReadAt(catalog, record.id);
  const now = time.nowMicros();
  return {
    config: record.config,
    // By a clock that was far ahead: else no slice would count until then.
    createdAt: isStampedAhead(record.createdAt, now) ? -Infinity : record.createdAt,
    isReopened: ({ epoch, end }) => !isSealed(record.epochStarts, { epoch, to: end }),
    lastReadAt: readAt === undefined || isStampedAhead(readAt, now) ? undefined : readAt,
    clockInDoubt: time.inDoubt,
    histograms: await readHistograms(catalog, record.id, unreadable),
    tunings,
    margins,
  };
}

async function measure(
  context: TuneContext,
  record: NamespaceRecord,
  tuning: TuningRecord,
  facts: TuningFacts,
): Promise<TuningRecord> {
  const { config } = record;
  // The configuration may have changed since it was read; a later round settles that.
  if (tuning.state !== "APPLIED" || !isDeepStrictEqual(config.timePartition, tuning.to)) {
    return tuning;
  }
  const effect = measureEffect(tuning, usableHistograms(facts, tuning.to), config.tuning);
  if (effect === undefined) return tuning;
  const why = effectText(tuning, effect);
  if (!effect.worse) {
    const move = { by: TUNER, to: "EFFECTIVE", why } as const;
    return (await moveTuning(context, record, { ...tuning, got: effect.got }, move)) ?? tuning;
  }
  const measured =
    tuning.got === null
      ? await writeTuning(context.catalog, record.id, { ...tuning, got: effect.got })
      : tuning;
  // Tuning that is off changes nothing; once it is on again, it takes the change back.
  if (measured === undefined || config.tuning.mode === "OFF") return measured ?? tuning;
  try {
    return (await takeBackTuning(context, record, measured, TUNER, why)) ?? tuning;
  } catch (error) {
    if (!isConflict(error)) throw error;
    return tuning;
  }
}

/** Replaces proposals that nobody has decided. Undefined if another process was first. */
async function propose(
  context: TuneContext,
  record: NamespaceRecord,
  tunings: readonly TuningRecord[],
  decision: TuningDecision & { readonly kind: "propose" },
): Promise<TuningRecord | undefined> {
  const { catalog, time, observe } = context;
  const { name, id, config } = record;
  await supersede(context, record, tunings, "newer slices ask for another partitioning");
  const by = { at: Math.round(time.nowMicros()), by: TUNER };
  const made = newTuning(newId(tunings, decision), proposalOf(decision, config), by);
  const written = await writeTuning(catalog, id, { ...made, version: 0 });
  if (written !== undefined) {
    const observed = observedInLog(decision.direction, config.tuning);
    observe?.(name, written, `Observed: ${observed} Proposed: ${made.proposed}`);
  }
  return written;
}

async function supersede(
  context: TuneContext,
  record: NamespaceRecord,
  tunings: readonly TuningRecord[],
  why: string,
): Promise<void> {
  for (const tuning of tunings) {
    if (tuning.state !== "PROPOSED") continue;
    await moveTuning(context, record, tuning, { by: TUNER, to: "SUPERSEDED", why });
  }
}

async function applyUnlessChanged(
  context: TuneContext,
  record: NamespaceRecord,
  tuning: TuningRecord,
): Promise<void> {
  try {
    await applyTuning(context, record, tuning, TUNER, "tuning.mode is AUTO");
  } catch (error) {
    // The next round sees what the configuration has become.
    if (!isConflict(error)) throw error;
  }
}

/** The newest slice of the evidence, and a number where that has been used. */
function newId(
  tunings: readonly Tuning[],
  { evidence }: TuningDecision & { readonly kind: "propose" },
): string {
  const base = (evidence.at(-1)?.timeSlice ?? "tuning").replace(/^data_/, "");
  const taken = new Set(tunings.map(({ id }) => id));
  let id = base;
  for (let nth = 2; taken.has(id); nth++) id = `${base}-${nth}`;
  return id;
}

function effectText({ dryRun }: Tuning, { got, otherwise, worse }: TuningEffect): string {
  const promised = `promised p99 ${formatBytes(dryRun.after.p99)}, got ${formatBytes(got.p99)}`;
  if (!worse) return promised;
  return `${promised}; the former partitioning would have given ${formatBytes(otherwise.p99)}`;
}
