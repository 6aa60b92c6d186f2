/**
 * Re-opens sealed time in steps (rule C3), each of them one compare-and-set of the namespace:
 *
 * 1. make the slices, so that no write waits for them;
 * 2. `beginEpoch`: a new epoch begins with a lower floor. The floor is lowered here and not later,
 *    because within an epoch it may only rise (rule C1): a worker that starts to copy in the new
 *    epoch already sees the lower floor. From now on the copies of time above that floor are not
 *    served (`model/epochs.ts`); no record of a split changes. No server accepts older events yet;
 * 3. wait for `view_max_age`, where other processes may hold older views;
 * 4. `finishReopening`: the new limit is in force, and servers accept events down to the new floor.
 *
 * A repeat of a raise of acceptLimit, or a raise to a lower limit that is still above the one in
 * force, continues the epoch that has begun. A raise beyond it begins another.
 *
 * An update takes the last steps by `completeReopening`. A crash after the second step leaves
 * `reopening` in the record, and the slice reconciler continues from there. When the floor has
 * passed the opened time again, it returns the splits there to DETECTED (`resealing`).
 */
import { withEpochStart } from "../model/epochs.ts";
import { closedBelow } from "../model/namespace.ts";
import type { Catalog } from "../ports/catalog.ts";
import {
  namespaceConflict,
  requireReady,
  settledFloorOf,
  updateNamespace,
  widestAcceptMicros,
} from "../records/namespace-records.ts";
import type { NamespaceRecord } from "../records/namespace-records.ts";
import { waitForViews } from "./wait-for-views.ts";
import type { ViewWait } from "./wait-for-views.ts";

/**
 * The record of step 2, for the caller to write: a new epoch with a floor that is not higher,
 * whatever acceptLimit is. `acceptLimitMicros`: the limit of the last step, if it changes.
 */
export function beginEpoch(
  record: NamespaceRecord,
  lowerFloor: number,
  acceptLimitMicros: number = widestAcceptMicros(record),
): NamespaceRecord {
  const epoch = record.epoch + 1;
  const floor = Math.min(record.floor, lowerFloor);
  const sealedBelow = closedBelow(record);
  const epochStarts = withEpochStart(record.epochStarts, { epoch, floor });
  // If the two oldest pairs became one, the copies between their floors are stopped too.
  const [oldest] = epochStarts;
  const joined = oldest !== undefined && oldest !== record.epochStarts[0] ? oldest.floor : floor;
  const from = Math.min(floor, joined, record.resealing?.from ?? floor);
  const to = Math.max(sealedBelow, record.resealing?.to ?? sealedBelow);
  return {
    ...record,
    epoch,
    floor,
    // What was settled below the new floor stays settled: no server accepts events there, by a view
    // of either epoch.
    settled: { epoch, floor: Math.min(settledFloorOf(record), floor) },
    epochStarts,
    reopening: { acceptLimitMicros, sealedBelow },
    resealing: { from, to },
  };
}

/** Takes all steps after step 2 is written. */
export async function completeReopening(
  context: ViewWait & { readonly changed: (name: string) => Promise<void> },
  record: NamespaceRecord,
  signal: AbortSignal | undefined,
): Promise<NamespaceRecord> {
  const { catalog, changed } = context;
  const { name } = record;
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
