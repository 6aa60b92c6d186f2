/**
 * Finishes a re-opening that a crash has left half done (rule C3): it waits for `view_max_age`, and
 * then puts the new limit in force.
 */
import type { NamespaceRecord } from "../../records/namespace-records.ts";
import { finishReopening } from "../reopen.ts";
import type { ReconcileRun } from "./reconcile-run.ts";

/** Returns the resulting record. */
export async function finishLeftReopening(
  { catalog, margins, sightings, changed, observe }: ReconcileRun,
  record: NamespaceRecord,
): Promise<NamespaceRecord> {
  if (record.reopening === null) return record;
  const mark = `reopening/${record.id}/${record.epoch}`;
  const waited = sightings.seenForMs(mark) >= margins.viewMaxAge.ms;
  if (catalog.shared && !waited) return record;
  const finished = await finishReopening(catalog, record);
  await changed(record.name);
  observe({ kind: "reopened", namespace: record.name });
  return finished;
}
