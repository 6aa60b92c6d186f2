/** Removes a namespace that is marked as DELETING once every process has seen the mark. */
import type { NamespaceRecord } from "../../records/namespace-records.ts";
import { finishDeletion } from "../finish-deletion.ts";
import { asOwner } from "./reconcile-run.ts";
import type { ReconcileRun } from "./reconcile-run.ts";

export async function finishMarkedDeletion(
  run: ReconcileRun,
  record: NamespaceRecord,
): Promise<void> {
  const { catalog, margins, sightings, observe } = run;
  const waited = sightings.seenForMs(`deleting/${record.id}`) >= margins.viewMaxAge.ms;
  if (catalog.shared && !waited) return;
  await asOwner(run, record, async (isOwner) => {
    await finishDeletion(run, record, isOwner);
    observe({ kind: "deleted", namespace: record.name });
  });
}
