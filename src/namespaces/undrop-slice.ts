/**
 * What an operator does with a slice that retention has marked as DROPPING (rule C26).
 *
 * Restored, it is CLOSED again, and retention does not mark it for one more grace: a longer
 * `deleteAfter` keeps it permanently. Purged, it is DROPPED without the rest of its grace.
 */
import { ServiceError } from "../lib/errors.ts";
import { readReadyNamespace } from "../records/namespace-records.ts";
import { readSlice } from "../records/slice-records.ts";
import { dropGraceOf } from "./due-changes.ts";
import type { NamespaceContext } from "./namespace-context.ts";
import { changeSlicesInRound, inRounds } from "./slice-rounds.ts";
import type { RoundOutcome } from "./slice-rounds.ts";

/**
 * A slice that is not DROPPING stays as it is. TIME_SLICE_NOT_FOUND if it was dropped permanently.
 */
export async function undropSlice(
  context: NamespaceContext,
  name: string,
  timeSlice: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  await inRounds(context, name, () => undropInRound(context, name, timeSlice, signal));
  await context.changed(name);
}

async function undropInRound(
  context: NamespaceContext,
  name: string,
  timeSlice: string,
  signal: AbortSignal | undefined,
): Promise<RoundOutcome<true>> {
  const { catalog, margins, time } = context;
  const record = await readReadyNamespace(catalog, name);
  const slice = await readSlice(catalog, record.id, timeSlice);
  if (slice === undefined || slice.state === "DROPPED") throw gone(name, timeSlice, slice?.state);
  // A decision in the record may drop it: that decision is carried out first.
  if (slice.state !== "DROPPING" && record.changing === null) return { done: true };
  const keepUntil = time.nowMicros() + dropGraceOf(record, margins);
  return changeSlicesInRound(context, record, { undrop: [timeSlice], keepUntil }, signal);
}

/** A slice that is DROPPED stays so. CONFLICT if it is not past its retention. */
export async function purgeSlice(
  context: NamespaceContext,
  name: string,
  timeSlice: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  await inRounds(context, name, () => purgeInRound(context, name, timeSlice, signal));
  await context.changed(name);
}

async function purgeInRound(
  context: NamespaceContext,
  name: string,
  timeSlice: string,
  signal: AbortSignal | undefined,
): Promise<RoundOutcome<true>> {
  const { catalog } = context;
  const record = await readReadyNamespace(catalog, name);
  const slice = await readSlice(catalog, record.id, timeSlice);
  if (slice === undefined) throw gone(name, timeSlice, undefined);
  if (slice.state === "DROPPED") return { done: true };
  // A decision in the record may restore it: that decision is carried out first.
  if (slice.state !== "DROPPING" && record.changing === null) throw notDropping(name, timeSlice);
  return changeSlicesInRound(context, record, { drop: [timeSlice] }, signal);
}

function notDropping(namespace: string, timeSlice: string): ServiceError {
  return new ServiceError(
    "CONFLICT",
    `slice ${timeSlice} of namespace "${namespace}" is not DROPPING; only a slice that is past its ` +
      "retention can be purged: lower deleteAfter first",
    { details: { namespace, timeSlice } },
  );
}

function gone(namespace: string, timeSlice: string, state: string | undefined): ServiceError {
  const shown = timeSlice.slice(0, 64);
  const what = state === undefined ? `there is no slice "${shown}"` : `slice ${shown} was dropped`;
  return new ServiceError(
    "TIME_SLICE_NOT_FOUND",
    `${what} in namespace "${namespace}"; ListTimeSlices shows what there is`,
    { details: { namespace, timeSlice: shown } },
  );
}
