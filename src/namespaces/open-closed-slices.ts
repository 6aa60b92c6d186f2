/**
 * Opens the slices that a longer retention restores, so that they can be read at once, and written
 * if the limit allows it.
 */
import { readReadyNamespace } from "../records/namespace-records.ts";
import { readSlices } from "../records/slice-records.ts";
import type { NamespaceContext } from "./namespace-context.ts";
import { changeSlicesInRound, inRounds } from "./slice-rounds.ts";
import type { RoundOutcome } from "./slice-rounds.ts";

export async function openClosedSlices(
  context: NamespaceContext,
  name: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  await inRounds(context, name, () => openSome(context, name, signal));
  await context.changed(name);
}

async function openSome(
  context: NamespaceContext,
  name: string,
  signal: AbortSignal | undefined,
): Promise<RoundOutcome<true>> {
  const { catalog, time } = context;
  const record = await readReadyNamespace(catalog, name);
  // As the reconciler closes them: by believed time (rule C25).
  const closedBefore = time.nowMicros() - record.config.retention.closeAfterMicros;
  const slices = await readSlices(catalog, record.id);
  const due = slices.filter(({ state, end }) => state === "CLOSED" && end > closedBefore);
  if (due.length === 0) return { done: true };
  return changeSlicesInRound(context, record, { open: due.map((slice) => slice.name) }, signal);
}
