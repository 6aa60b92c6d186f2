/**
 * Counts dead changes of blocked ids and of ids' strategies as ended, so that views need not read
 * the ids repeatedly. A change that was only slow counts itself when it ends.
 */
import { fenceIdStrategy, ID_CHANGE_MAX_MS } from "../../records/id-strategies.ts";
import {
  endedBlockedChanges,
  endedIdStrategyChanges,
  writeNamespace,
} from "../../records/namespace-records.ts";
import type { NamespaceRecord } from "../../records/namespace-records.ts";
import type { ReconcileRun } from "./reconcile-run.ts";

/** Returns the resulting record. */
export async function endDeadIdChanges(
  { catalog, sightings }: ReconcileRun,
  record: NamespaceRecord,
): Promise<NamespaceRecord> {
  const isDead = (kind: string, began: number): boolean =>
    sightings.seenForMs(`${kind}/${record.id}/${began}`) >= ID_CHANGE_MAX_MS;
  const blocking = record.blockedChanging.filter((began) => isDead("blocking", began));
  const growing = record.idStrategyChanging.filter(({ began }) => isDead("growing", began));
  if (blocking.length + growing.length === 0) return record;
  for (const { seriesId } of growing) await fenceIdStrategy(catalog, record.id, seriesId);
  const grown = growing.map(({ began }) => began);
  const ended = {
    ...record,
    ...(blocking.length === 0 ? {} : endedBlockedChanges(record, blocking)),
    ...(grown.length === 0 ? {} : endedIdStrategyChanges(record, grown)),
  };
  // If another process has changed the namespace, the next run retries.
  return (await writeNamespace(catalog, ended)) ?? record;
}
