/**
 * Deletes a namespace with all its events. A repeat after a failure continues where that stopped;
 * if the process dies, the slice reconciler finishes the deletion.
 */
import { requireReady, slicesBusy, updateNamespace } from "../records/namespace-records.ts";
import { finishDeletion } from "./finish-deletion.ts";
import type { NamespaceContext } from "./namespace-context.ts";
import { OWNER_WAIT_MS } from "./slice-ownership.ts";
import { waitForViews } from "./wait-for-views.ts";

export async function deleteNamespace(
  context: NamespaceContext,
  name: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { catalog, ownership, changed } = context;
  // Holding the namespace's mutex, so that nothing in this process is making slices when the
  // namespace is marked. Another process finds the mark, and removes what it has made.
  const marked = await ownership.take(name, () =>
    updateNamespace(catalog, name, (current) => {
      if (current.phase === "DELETING") return undefined;
      return { ...requireReady(current, name), phase: "DELETING" };
    }),
  );
  await changed(name);
  await waitForViews(context, signal);
  const finished = await ownership.take(name, () =>
    ownership.own(marked.id, { waitMs: OWNER_WAIT_MS, signal }, async (isOwner) => {
      await finishDeletion(context, marked, isOwner);
      return "finished";
    }),
  );
  if (finished === "busy") throw slicesBusy(name);
}
