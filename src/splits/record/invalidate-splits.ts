/**
 * Invalidates splits when sealed time is re-opened (rule C3). Runs between the new epoch and the
 * acceptance of older events.
 *
 * Segments that end at or below the new floor are still sealed, and continue in the new epoch. The
 * other segments are removed, and their split becomes due when the time may be sealed again (rule
 * C17). Until a record is moved, its route belongs to another epoch, so no server follows it,
 * whatever fails here.
 *
 * Safe to repeat: it leaves alone the records that are already in the new epoch.
 */
import { compareAndSet, LOST } from "../../lib/compare-and-set.ts";
import type { Clock } from "../../lib/clock.ts";
import { SECOND_MICROS } from "../../model/namespace-config.ts";
import { movedSplit } from "../../model/split-moves.ts";
import type { PartitionKey } from "../../model/partition.ts";
import type { SplitRecord } from "../../model/split.ts";
import type { Catalog } from "../../ports/catalog.ts";
import { forEachSplit, readIfSound } from "./each-split.ts";
import { moveSplit } from "./move-split.ts";
import { widestAcceptMicros } from "../../records/namespace-records.ts";
import type { NamespaceRecord } from "../../records/namespace-records.ts";

/** A backfill may end long before the limit that was raised for it has passed. */
const LOOK_AGAIN_MICROS_MAX = 3_600 * SECOND_MICROS;

/** `namespace`: as written by `beginReopening`. */
export async function invalidateSplits(
  catalog: Catalog,
  clock: Clock,
  namespace: NamespaceRecord,
  signal?: AbortSignal,
): Promise<void> {
  await forEachSplit(
    catalog,
    namespace.id,
    (partition) => invalidate(catalog, clock, namespace, partition),
    signal,
  );
}

async function invalidate(
  catalog: Catalog,
  clock: Clock,
  namespace: NamespaceRecord,
  partition: PartitionKey,
): Promise<void> {
  const conflict = {
    message: `a split of namespace "${namespace.name}" is changed by others again and again; try again`,
    details: { namespace: namespace.name },
  };
  await compareAndSet(conflict, async () => {
    // If a record cannot be read, its route has an old epoch: it must not keep time closed.
    const record = await readIfSound(catalog, partition);
    if (record === undefined || record.epoch >= namespace.epoch) return;
    const after = reopened(record, namespace, clock.nowMicros());
    return (await moveSplit(catalog, clock, record, after)) === undefined ? LOST : undefined;
  });
}

/** The record in the namespace's new epoch. */
function reopened(record: SplitRecord, namespace: NamespaceRecord, nowMicros: number): SplitRecord {
  const { epoch, floor } = namespace;
  // A record that missed an epoch may have missed that its time was re-opened and sealed again.
  const missed = record.epoch < epoch - 1;
  const segments = record.segments.filter(({ to }) => to <= floor && !missed);
  if (segments.length === record.segments.length) return { ...record, epoch };
  const gone = record.segments.length - segments.length;
  const reason = `acceptLimit was raised, which opens the time of ${gone} of ${record.segments.length} segments again`;
  const recheckAt = Math.min(widestAcceptMicros(namespace), LOOK_AGAIN_MICROS_MAX);
  return movedSplit(
    record,
    "INVALIDATED",
    { at: nowMicros, by: "braid", cause: "reopened", reason },
    {
      epoch,
      segments,
      owner: null,
      fence: record.fence + 1,
      // A split held by an operator stays as it is (rule C17).
      dueAt: record.heldBy === null ? nowMicros + recheckAt : record.dueAt,
    },
  );
}
