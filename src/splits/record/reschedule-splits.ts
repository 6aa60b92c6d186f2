/**
 * Reschedules splits after acceptLimit is lowered: splits that wait for time to be sealed become
 * due as soon as the new floor is settled, instead of when the old limit would have passed. After a
 * backfill that is the difference between minutes and a day.
 *
 * It only brings forward work that is scheduled anyway, so a process that stops in the middle loses
 * nothing but time.
 */
import { LOST, tryCompareAndSet } from "../../lib/compare-and-set.ts";
import type { Clock } from "../../lib/clock.ts";
import type { PartitionKey } from "../../model/partition.ts";
import type { SplitRecord, SplitState } from "../../model/split.ts";
import type { Catalog } from "../../ports/catalog.ts";
import { forEachSplit, readIfSound } from "./each-split.ts";
import { moveSplit } from "./move-split.ts";

/** A process that interferes has processed the split itself, most likely by the new limit. */
const ATTEMPTS_MAX = 3;

/**
 * Splits that wait in these states wait for time. FAILED waits for its retry, and the other states
 * are processed anyway.
 */
const WAITING: readonly SplitState[] = ["PARKED", "INVALIDATED", "COMPLETED"];

/** `at`: the new due time of splits that would be due later. */
export async function rescheduleSplits(
  catalog: Catalog,
  clock: Clock,
  namespaceId: string,
  at: number,
  signal?: AbortSignal,
): Promise<void> {
  await forEachSplit(
    catalog,
    namespaceId,
    (partition) => rescheduleSplit(catalog, clock, partition, at),
    signal,
  );
}

/** The same for one split, for a worker that owned it meanwhile. */
export async function rescheduleSplit(
  catalog: Catalog,
  clock: Clock,
  partition: PartitionKey,
  at: number,
): Promise<void> {
  await tryCompareAndSet(async () => {
    const record = await readIfSound(catalog, partition);
    if (record === undefined || !isWaiting(record, at)) return;
    const moved = await moveSplit(catalog, clock, record, { ...record, dueAt: at });
    return moved === undefined ? LOST : undefined;
  }, ATTEMPTS_MAX);
}

function isWaiting({ state, owner, heldBy, dueAt }: SplitRecord, at: number): boolean {
  if (owner !== null || heldBy !== null || dueAt === null) return false;
  return dueAt > at && WAITING.includes(state);
}
