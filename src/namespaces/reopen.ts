/**
 * Opening sealed time again, by a higher acceptLimit, takes steps (rule C3), each of them one
 * compare-and-set:
 *
 * 1. the slices are made, so that no write waits for them;
 * 2. `beginReopening`: a new epoch begins, with a floor that fits the new limit, which is not in
 *    force yet. The floor goes down here and not later, because within an epoch it may only rise
 *    (rule C1): whoever starts to copy in the new epoch already sees the lower line. What relied on
 *    the old line is invalidated after this step;
 * 3. L passes, where other processes may hold older views;
 * 4. `finishReopening`: the new limit is in force.
 *
 * A crash after the second step leaves `reopening` in the record, and the keeper goes on from
 * there.
 */
import type { Catalog } from "../ports/catalog.ts";
import { updateNamespace } from "../records/namespace-records.ts";
import type { NamespaceRecord } from "../records/namespace-records.ts";

/** The record of step 2, to be written by whoever changes it. */
export function beginReopening(
  record: NamespaceRecord,
  acceptLimitMicros: number,
  floor: number,
): NamespaceRecord {
  return {
    ...record,
    epoch: record.epoch + 1,
    floor: Math.min(record.floor, floor),
    reopening: { acceptLimitMicros },
  };
}

/**
 * Does nothing if a later change has begun another epoch: that one is finished by its own steps.
 */
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
