/**
 * Purges a deleted namespace when its grace is over, and finishes a purge that a crash has left half
 * done. While the clock is in doubt it begins no purge (rule C26).
 */
import { writeDeleted } from "../../records/deleted-records.ts";
import type { DeletedRecord } from "../../records/deleted-records.ts";
import { dropGraceOf } from "../due-changes.ts";
import { holdsName } from "../leave-name.ts";
import { finishPurge, markPurging } from "../purge-deleted.ts";
import type { ReconcileRun } from "./reconcile-run.ts";

export async function purgeDue(run: ReconcileRun, record: DeletedRecord): Promise<void> {
  const { catalog, ownership, wait, observe } = run;
  if (record.phase === "RESTORED") return;
  if (record.phase === "DELETED" && !(await isGraceOver(run, record))) return;
  // Servers may still act on views of it; and a purge may be under way in this process.
  if ((await holdsName(catalog, record)) || ownership.isTaken(record.id)) return;
  const marked = await markPurging(catalog, record);
  if (marked === undefined) return;
  const finished = await finishPurge(run, marked, wait);
  if (finished === "purged") observe({ kind: "purged", namespace: record.namespace.name });
}

/** The grace of a namespace that was deleted in doubt begins when the doubt is over. */
async function isGraceOver(
  { catalog, margins, time }: ReconcileRun,
  record: DeletedRecord,
): Promise<boolean> {
  if (time.inDoubt) return false;
  const now = Math.floor(time.nowMicros());
  if (record.graceFrom === null) {
    await writeDeleted(catalog, { ...record, graceFrom: now });
    return false;
  }
  return time.graceElapsed(record.graceFrom) >= dropGraceOf(record.namespace, margins);
}
