/**
 * Marks a creation that died for deletion, which removes what it made. A creation that was only
 * slow owns its slices, or finds its record changed and removes them itself.
 */
import { writeNamespace } from "../../records/namespace-records.ts";
import type { NamespaceRecord } from "../../records/namespace-records.ts";
import { asOwner } from "./reconcile-run.ts";
import type { ReconcileRun } from "./reconcile-run.ts";

/** A creation that takes longer than this, and no longer owns its slices, has died. */
const CREATING_MAX_MS = 60_000;

export async function removeDeadCreation(
  run: ReconcileRun,
  record: NamespaceRecord,
): Promise<void> {
  if (run.sightings.seenForMs(`creating/${record.id}`) < CREATING_MAX_MS) return;
  await asOwner(run, record, () => writeNamespace(run.catalog, { ...record, phase: "DELETING" }));
}
