/**
 * A creation that died is marked for deletion, which removes what it made. One that was only slow
 * owns its slices, or finds its record changed and removes them itself.
 */
import { writeNamespace } from "../../records/namespace-records.ts";
import type { NamespaceRecord } from "../../records/namespace-records.ts";
import { asOwner } from "./reconcile-run.ts";
import type { ReconcileRun } from "./reconcile-run.ts";

/** A creation that takes longer than this, and does not own its slices any more, has died. */
const CREATING_MAX_MS = 60_000;

export async function removeDeadCreation(
  run: ReconcileRun,
  record: NamespaceRecord,
): Promise<void> {
  if (run.sightings.seenForMs(`creating/${record.id}`) < CREATING_MAX_MS) return;
  await asOwner(run, record, () => writeNamespace(run.catalog, { ...record, phase: "DELETING" }));
}
