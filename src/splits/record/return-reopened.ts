/**
 * Returns splits whose time was opened again to DETECTED, when the settled floor has passed that
 * time (rules C3 and C17).
 *
 * A re-opening changes no record of a split: servers see in the namespace which segments they must
 * not follow. So nothing depends on this walk but how soon those segments are copied again. It
 * visits one page of records at a time, and repeating it changes nothing more.
 */
import { LOST, tryCompareAndSet } from "../../lib/compare-and-set.ts";
import type { Clock } from "../../lib/clock.ts";
import { forEachBounded } from "../../lib/for-each-bounded.ts";
import type { Namespace } from "../../model/namespace.ts";
import type { PartitionKey, SliceRef } from "../../model/partition.ts";
import { movedSplit } from "../../model/split-moves.ts";
import { sealedSegments } from "../../model/split.ts";
import type { SplitRecord } from "../../model/split.ts";
import type { Catalog } from "../../ports/catalog.ts";
import { listSplitsPage } from "../../records/split-records.ts";
import { readIfSound } from "./each-split.ts";
import { moveSplit } from "./move-split.ts";

/** A process that interferes works on the split itself, and finds what was opened again. */
const ATTEMPTS_MAX = 3;

type Reopenings = Pick<Namespace, "epoch" | "epochStarts">;

export interface ReturnContext {
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly namespace: Reopenings;
}

/**
 * Visits at most `limit` records of a slice from `cursor` on ("" for the first), and returns those
 * with re-opened segments. The returned cursor is "" at the end of the slice.
 */
export async function returnReopened(
  context: ReturnContext,
  slice: SliceRef,
  cursor: string,
  limit: number,
): Promise<string> {
  // A record that cannot be read must not keep the others waiting; its route has its epochs.
  const skip = (): void => undefined;
  const page = await listSplitsPage(context.catalog, slice, cursor, limit, skip);
  const opened = page.records.filter((record) => isReturned(record, context.namespace));
  await forEachBounded(opened, ({ partition }) => returnOne(context, partition));
  return page.cursor;
}

/** Without the re-opened segments, and the reason. What an operator asked for stays asked for. */
export function begunAgain(
  record: SplitRecord,
  namespace: Reopenings,
): { readonly reason: string; readonly changes: Partial<SplitRecord> } {
  const segments = sealedSegments(record, namespace);
  const gone = record.segments.length - segments.length;
  const reason = `sealed again: the time of ${gone} of ${record.segments.length} segments was opened since they were copied`;
  const { askedBy, forced } = record;
  return { reason, changes: { epoch: namespace.epoch, segments, askedBy, forced } };
}

async function returnOne(
  { catalog, clock, namespace }: ReturnContext,
  partition: PartitionKey,
): Promise<void> {
  await tryCompareAndSet(async () => {
    const record = await readIfSound(catalog, partition);
    if (record === undefined || !isReturned(record, namespace)) return;
    const { reason, changes } = begunAgain(record, namespace);
    const at = clock.nowMicros();
    const why = { at, by: "braid", cause: "reopened" as const, reason };
    const after = movedSplit(record, "DETECTED", why, { ...changes, dueAt: at });
    return (await moveSplit(catalog, clock, record, after)) === undefined ? LOST : undefined;
  }, ATTEMPTS_MAX);
}

/**
 * A split held by an operator stays as it is (rule C17). A worker that owns one finds out itself.
 */
function isReturned(record: SplitRecord, namespace: Reopenings): boolean {
  if (record.heldBy !== null || record.owner !== null) return false;
  return sealedSegments(record, namespace).length < record.segments.length;
}
