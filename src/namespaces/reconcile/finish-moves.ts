/** Finishes deletions and restorations of namespaces that a crash has left half done (rule C26). */
import type { NamespaceRecord } from "../../records/namespace-records.ts";
import { freeName, recordDeletion } from "../leave-name.ts";
import { finishRestoring } from "../undelete-namespace.ts";
import type { ReconcileRun } from "./reconcile-run.ts";

/** Frees the name once every process has seen the mark. */
export async function finishLeaving(run: ReconcileRun, record: NamespaceRecord): Promise<void> {
  const { catalog, margins, sightings, observe } = run;
  const waited = sightings.seenForMs(`leaving/${record.id}`) >= margins.viewMaxAge.ms;
  if (catalog.shared && !waited) {
    await recordDeletion(run, record);
    return;
  }
  const freed = await freeName(run, record);
  if (freed !== undefined) observe({ kind: "deleted", namespace: record.name });
}

export async function finishLeftRestoring(
  { catalog, changed, observe }: ReconcileRun,
  record: NamespaceRecord,
): Promise<void> {
  if ((await finishRestoring(catalog, record)) === undefined) return;
  await changed(record.name);
  observe({ kind: "restored", namespace: record.name });
}
