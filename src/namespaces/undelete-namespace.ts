/**
 * Restores a deleted namespace with its slices, splits and blocked ids, everything under its
 * internal id (rule C26), and makes the slices that time has made due since.
 *
 * It takes three steps. A record that is RESTORING takes the name: no caller sees it. Then
 * `deleted/<id>` becomes RESTORED by compare-and-set, which decides against a purge or another
 * restoration. Then the namespace is READY. Any process can finish the last two; a restoration that
 * lost gives the name back.
 */
import { LOST, tryCompareAndSet } from "../lib/compare-and-set.ts";
import { ServiceError } from "../lib/errors.ts";
import { namespaceNameProblem } from "../model/check-config.ts";
import type { Namespace } from "../model/namespace.ts";
import type { Catalog } from "../ports/catalog.ts";
import { readDeleted, writeDeleted } from "../records/deleted-records.ts";
import type { DeletedRecord } from "../records/deleted-records.ts";
import {
  beingMoved,
  namespaceConflict,
  readNamespace,
  readReadyNamespace,
  removeNamespace,
  writeNamespace,
} from "../records/namespace-records.ts";
import type { NamespaceRecord } from "../records/namespace-records.ts";
import { readSlices } from "../records/slice-records.ts";
import { rescheduleSplits } from "../splits/record/reschedule-splits.ts";
import { findDeleted } from "./deleted-namespaces.ts";
import type { DeletedRef } from "./deleted-namespaces.ts";
import { dueChanges } from "./due-changes.ts";
import { freeName } from "./leave-name.ts";
import type { NamespaceContext } from "./namespace-context.ts";
import { changeSlicesInRound, inRounds } from "./slice-rounds.ts";
import type { RoundOutcome } from "./slice-rounds.ts";

/** `asName` "": under the name it had. Restoring what is restored already changes nothing. */
export async function undeleteNamespace(
  context: NamespaceContext,
  ref: DeletedRef,
  asName: string,
  signal: AbortSignal | undefined,
): Promise<Namespace> {
  const { catalog, clock, ownership, changed } = context;
  const nameProblem = asName === "" ? undefined : namespaceNameProblem(asName);
  if (nameProblem !== undefined) throw new ServiceError("REQUEST_INVALID", nameProblem);
  const deleted = await findRestorable(catalog, ref);
  const name = asName === "" ? deleted.namespace.name : asName;
  const restored = await ownership.take(name, () => restore(context, deleted.id, name));
  await changed(name);
  await inRounds(context, name, () => makeDueSlices(context, name, signal));
  await changed(name);
  // Workers left them alone while the namespace was deleted.
  await rescheduleSplits(catalog, clock, restored.id, clock.nowMicros(), signal);
  return readReadyNamespace(catalog, name);
}

/** Also finds one that was restored already, so that a repeat after a lost answer succeeds. */
async function findRestorable(catalog: Catalog, ref: DeletedRef): Promise<DeletedRecord> {
  try {
    return await findDeleted(catalog, ref);
  } catch (error) {
    const isMissing = error instanceof ServiceError && error.code === "NAMESPACE_NOT_FOUND";
    if (!isMissing || "id" in ref) throw error;
    const there = await readNamespace(catalog, ref.name);
    const deleted = there && (await readDeleted(catalog, there.id));
    if (deleted?.phase === "RESTORED") return deleted;
    throw error;
  }
}

async function restore(
  context: NamespaceContext,
  id: string,
  name: string,
): Promise<NamespaceRecord> {
  const { catalog } = context;
  const restored = await tryCompareAndSet(async () => {
    const there = await readNamespace(catalog, name);
    const deleted = await readDeleted(catalog, id);
    if (there?.id === id) return (await continued(context, there)) ?? LOST;
    if (deleted?.phase !== "DELETED") throw notRestorable(id, name, deleted);
    if (await leavesOldName(context, deleted)) return LOST;
    if (there !== undefined) throw nameTaken(name, deleted);
    const reserved = await writeNamespace(catalog, {
      ...deleted.namespace,
      name,
      phase: "RESTORING",
      deletion: null,
      restores: deleted.version,
      version: 0,
    });
    if (reserved === undefined) return LOST;
    return (await finishRestoring(catalog, reserved)) ?? LOST;
  });
  if (restored === LOST) throw namespaceConflict(name);
  return restored;
}

/**
 * Under another name too it comes back only when the deletion has freed the old one. True: it was
 * there until now, and the caller tries again.
 */
async function leavesOldName(
  context: NamespaceContext,
  { id, namespace }: DeletedRecord,
): Promise<boolean> {
  const left = await readNamespace(context.catalog, namespace.name);
  if (left?.id !== id) return false;
  if (left.phase === "RESTORING") throw beingMoved(left.name, "restored");
  await continued(context, left);
  return true;
}

/** The namespace holds the name already. Undefined: it has made way, and the caller tries again. */
async function continued(
  context: NamespaceContext,
  there: NamespaceRecord,
): Promise<NamespaceRecord | undefined> {
  const { catalog } = context;
  if (there.phase === "READY") return there;
  if (there.phase === "RESTORING") return finishRestoring(catalog, there);
  // It is on its way out; other servers may still act on views from before.
  if (catalog.shared || there.phase !== "LEAVING") throw beingMoved(there.name, "deleted");
  await freeName(context, there);
  return undefined;
}

/**
 * Finishes a restoration from any point. Returns the READY namespace; undefined if the restoration
 * has lost, and then the name is given back.
 */
export async function finishRestoring(
  catalog: Catalog,
  restoring: NamespaceRecord,
): Promise<NamespaceRecord | undefined> {
  const { id, name } = restoring;
  const finished = await tryCompareAndSet(async () => {
    const deleted = await readDeleted(catalog, id);
    const current = await readNamespace(catalog, name);
    if (current?.id !== id) return undefined;
    if (current.phase === "READY") return current;
    if (current.phase !== "RESTORING") return undefined;
    if (deleted?.phase === "DELETED" && deleted.version === current.restores) {
      const namespace = { ...deleted.namespace, name };
      const restoredOf = deleted.version;
      const decided = { ...deleted, phase: "RESTORED", namespace, restoredOf } as const;
      await writeDeleted(catalog, decided);
      // Reads again: this process or another one has decided.
      return LOST;
    }
    const won =
      deleted?.phase === "RESTORED" &&
      deleted.restoredOf === current.restores &&
      deleted.namespace.name === name;
    if (won) {
      const ready = { ...current, phase: "READY", restores: null } as const;
      return (await writeNamespace(catalog, ready)) ?? LOST;
    }
    return (await removeNamespace(catalog, current)) ? undefined : LOST;
  });
  if (finished === LOST) throw namespaceConflict(name);
  return finished;
}

/** One round. No slice was made while the namespace was deleted. */
async function makeDueSlices(
  context: NamespaceContext,
  name: string,
  signal: AbortSignal | undefined,
): Promise<RoundOutcome<true>> {
  const { catalog, clock, margins, time } = context;
  const record = await readReadyNamespace(catalog, name);
  const slices = await readSlices(catalog, record.id);
  const { inDoubt, leaps } = time;
  const seen = { wallMicros: clock.nowMicros(), believedMicros: time.nowMicros(), inDoubt, leaps };
  const { make } = dueChanges(record, slices, seen, margins);
  if (make.length === 0 && record.changing === null) return { done: true };
  return changeSlicesInRound(context, record, { make }, signal);
}

function nameTaken(name: string, { id }: DeletedRecord): ServiceError {
  return new ServiceError(
    "NAMESPACE_EXISTS",
    `there is another namespace "${name}" by now; restore ${id} under another name with asName`,
    { details: { namespace: name, id } },
  );
}

function notRestorable(id: string, name: string, deleted: DeletedRecord | undefined): ServiceError {
  if (deleted?.phase === "RESTORED") {
    const restoredAs = deleted.namespace.name;
    return new ServiceError(
      "CONFLICT",
      `namespace ${id} was restored as "${restoredAs}" already, not as "${name}"`,
      { details: { namespace: restoredAs, id } },
    );
  }
  const what = deleted === undefined ? "is not there any more" : "is being purged";
  return new ServiceError(
    "NAMESPACE_NOT_FOUND",
    `the deleted namespace ${id} ${what} and cannot be restored`,
    { details: { id } },
  );
}
