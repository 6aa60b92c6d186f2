/**
 * Deletes a namespace (rule C26): it moves to `deleted/<id>`, its name is free, and its events stay
 * for `drop_grace`, during which `undeleteNamespace` restores it. A namespace whose slices are all
 * empty has no grace, and `purge` skips it.
 *
 * A repeat after a failure continues where that stopped; if the process dies, the slice reconciler
 * finishes the deletion.
 */
import { ServiceError } from "../lib/errors.ts";
import { readDeleted } from "../records/deleted-records.ts";
import type { DeletedRecord } from "../records/deleted-records.ts";
import {
  beingMoved,
  requireReady,
  slicesBusy,
  updateNamespace,
} from "../records/namespace-records.ts";
import type { NamespaceRecord } from "../records/namespace-records.ts";
import { describeDeleted, findDeleted } from "./deleted-namespaces.ts";
import type { DeletedNamespace } from "./deleted-namespaces.ts";
import { finishDeletion } from "./finish-deletion.ts";
import { freeName, holdsName, recordDeletion } from "./leave-name.ts";
import type { NamespaceContext } from "./namespace-context.ts";
import { finishPurge, markPurging } from "./purge-deleted.ts";
import { OWNER_WAIT_MS } from "./slice-ownership.ts";
import { waitForViews } from "./wait-for-views.ts";

export interface DeletionRequest {
  readonly by: string;
  readonly reason: string;
  /** Removes the events now. */
  readonly purge: boolean;
}

/** A namespace that callers see. */
export async function deleteNamespace(
  context: NamespaceContext,
  name: string,
  request: DeletionRequest,
  signal: AbortSignal | undefined,
): Promise<DeletedNamespace> {
  const { catalog, ownership, changed, time } = context;
  const { by, reason, purge } = request;
  const { inDoubt } = time;
  const deletion = { at: Math.floor(time.nowMicros()), inDoubt, by, reason, purge };
  // Holding the namespace's mutex, so that nothing in this process is making slices when the
  // namespace is marked. Another process finds the mark, and removes what it has made.
  const marked = await ownership.take(name, () =>
    updateNamespace(catalog, name, (current) => {
      if (current.phase === "LEAVING" && purge && current.deletion?.purge !== true) {
        // Its grace was promised: only its id purges it, once it is deleted.
        throw beingMoved(name, "deleted");
      }
      if (current.phase === "DELETING" || current.phase === "LEAVING") return undefined;
      return { ...requireReady(current, name), phase: "LEAVING", deletion };
    }),
  );
  await changed(name);
  if (marked.phase === "DELETING") return removeFailedCreation(context, marked, signal);
  const recorded = await recordDeletion(context, marked);
  await waitForViews(context, signal);
  const freed = (await freeName(context, marked)) ?? recorded;
  const deleted = freed ?? (await readDeleted(catalog, marked.id));
  if (deleted?.phase === "RESTORED" && deleted.namespace.name !== name) {
    throw restoredElsewhere(name, deleted);
  }
  // A purge of another process was faster.
  if (deleted === undefined) return describeDeleted(context, leftOf(marked), "purged");
  if (!purge && deleted.phase !== "PURGING") return describeDeleted(context, deleted);
  return purgeDeleted(context, deleted, signal);
}

/**
 * Removes a namespace that is deleted already, before its grace is over. NAMESPACE_NOT_FOUND if
 * there is none.
 */
export async function purgeNamespace(
  context: NamespaceContext,
  id: string,
  signal: AbortSignal | undefined,
): Promise<DeletedNamespace> {
  const deleted = await findDeleted(context.catalog, { id });
  const marked = await markPurging(context.catalog, deleted);
  if (marked !== undefined && (await holdsName(context.catalog, marked))) {
    await waitForViews(context, signal);
    await freeName(context, marked.namespace);
  }
  return purgeDeleted(context, deleted, signal);
}

async function purgeDeleted(
  context: NamespaceContext,
  deleted: DeletedRecord,
  signal: AbortSignal | undefined,
): Promise<DeletedNamespace> {
  const marked = await markPurging(context.catalog, deleted);
  if (marked !== undefined) {
    const finished = await finishPurge(context, marked, { waitMs: OWNER_WAIT_MS, signal });
    if (finished === "busy") throw slicesBusy(deleted.namespace.name);
  }
  return describeDeleted(context, deleted, "purged");
}

/** Removes what a failed creation has left. */
async function removeFailedCreation(
  context: NamespaceContext,
  marked: NamespaceRecord,
  signal: AbortSignal | undefined,
): Promise<DeletedNamespace> {
  const { ownership } = context;
  await waitForViews(context, signal);
  const finished = await ownership.take(marked.name, () =>
    ownership.own(marked.id, { waitMs: OWNER_WAIT_MS, signal }, async (isOwner) => {
      await finishDeletion(context, marked, isOwner);
      return "finished";
    }),
  );
  if (finished === "busy") throw slicesBusy(marked.name);
  return describeDeleted(context, leftOf(marked), "purged");
}

/** Only the name was left over, of a restoration under another one that did not end. */
function restoredElsewhere(name: string, { id, namespace }: DeletedRecord): ServiceError {
  return new ServiceError(
    "NAMESPACE_NOT_FOUND",
    `there is no namespace "${name}": it was restored as "${namespace.name}", which stays`,
    { details: { namespace: namespace.name, id } },
  );
}

function leftOf(namespace: NamespaceRecord): DeletedRecord {
  const { id, createdAt } = namespace;
  const deletion = namespace.deletion ?? {
    at: createdAt,
    inDoubt: false,
    by: "",
    reason: "",
    purge: true,
  };
  return {
    id,
    phase: "PURGING",
    namespace,
    deletion,
    graceFrom: null,
    size: null,
    restoredOf: null,
    version: 0,
  };
}
