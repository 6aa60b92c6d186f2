/**
 * A higher acceptLimit re-opens sealed time in steps (rule C3), each of them one compare-and-set:
 *
 * 1. make the slices, so that no write waits for them;
 * 2. `beginReopening`: a new epoch begins, with a floor that fits the new limit, which is not in
 *    force yet. The floor is lowered here and not later, because within an epoch it may only rise
 *    (rule C1): a worker that starts to copy in the new epoch already sees the lower floor. What
 *    relied on the old floor is invalidated after this step;
 * 3. wait for `view_max_age`, where other processes may hold older views;
 * 4. `finishReopening`: the new limit is in force.
 *
 * A repeat of the raise, or a raise to a lower limit that is still above the one in force,
 * continues the epoch that has begun. A raise beyond it begins another.
 *
 * An update takes the last steps by `completeReopening`. A crash after the second step leaves
 * `reopening` in the record, and the slice reconciler continues from there.
 */
import type { Catalog } from "../ports/catalog.ts";
import {
  namespaceConflict,
  requireReady,
  settledFloorOf,
  updateNamespace,
} from "../records/namespace-records.ts";
import type { NamespaceRecord } from "../records/namespace-records.ts";
import { invalidateSplits } from "../splits/record/invalidate-splits.ts";
import { waitForViews } from "./wait-for-views.ts";
import type { ViewWait } from "./wait-for-views.ts";

/** The record of step 2, for the caller to write. */
export function beginReopening(
  record: NamespaceRecord,
  acceptLimitMicros: number,
  floor: number,
): NamespaceRecord {
  const epoch = record.epoch + 1;
  const lowest = Math.min(record.floor, floor);
  return {
    ...record,
    epoch,
    floor: lowest,
    // What was settled below the new floor stays settled: no server accepts events there, by a view
    // of either epoch.
    settled: { epoch, floor: Math.min(settledFloorOf(record), lowest) },
    reopening: { acceptLimitMicros },
  };
}

/** Takes all steps after step 2 is written. */
export async function completeReopening(
  context: ViewWait & { readonly changed: (name: string) => Promise<void> },
  record: NamespaceRecord,
  signal: AbortSignal | undefined,
): Promise<NamespaceRecord> {
  const { catalog, clock, changed } = context;
  const { name } = record;
  // What relies on the old floor is invalidated between the new epoch and the acceptance.
  await invalidateSplits(catalog, clock, record, signal);
  await waitForViews(context, signal);
  const finished = requireReady(await finishReopening(catalog, record), name);
  await changed(name);
  // A concurrent change has begun its own epoch, and its limit is not in force yet.
  if (finished.reopening !== null) throw namespaceConflict(name);
  return finished;
}

/** Does nothing if a later change has begun another epoch: that change finishes its own epoch. */
export function finishReopening(
  catalog: Catalog,
  record: NamespaceRecord,
): Promise<NamespaceRecord> {
  return updateNamespace(catalog, record.name, (current) => {
    if (current.id !== record.id || current.epoch !== record.epoch) return undefined;
    if (current.reopening === null) return undefined;
    const { acceptLimitMicros } = current.reopening;
    return { ...current, config: { ...current.config, acceptLimitMicros }, reopening: null };
  });
}
