/**
 * How far a namespace's reads trust its splits, and on what evidence (rule C13).
 *
 * The mode is in the namespace's record, so that views carry it, and changes by compare-and-set.
 * The evidence is separate: space `evidence/<namespace id>`, key = layout with its version, and
 * strategy. It counts for one round of the mode, and every change of the mode begins another round,
 * so a fall-back clears it. The evidence also records that a difference is not settled; this mark
 * outlasts the round.
 */
import { compareAndSet, LOST } from "../../lib/compare-and-set.ts";
import { z } from "zod";
import type { Evidence, ReadModeState } from "../../model/read-mode.ts";
import type { Catalog } from "../../ports/catalog.ts";
import { requireReady, updateNamespace } from "../../records/namespace-records.ts";
import type { NamespaceRecord } from "../../records/namespace-records.ts";
import { decodeStored, encodeStored, listAll, storedObject } from "../../records/stored-json.ts";

/** While a difference is not settled, the process that has seen it reports it this often. */
export const UNSETTLED_EVERY_MS = 3_000;
/**
 * A report counts for this long. A process may miss a few reports, and one that died does not hold
 * a mode back for ever.
 */
export const UNSETTLED_FOR_MS = 20 * UNSETTLED_EVERY_MS;

/** Evidence as it is stored. */
export interface StoredEvidence extends Evidence {
  /** When a server last reported that a difference is not settled (rule C14). Microseconds. */
  readonly unsettledAt?: number | undefined;
}

/**
 * Changes the mode, or leaves it if `change` returns undefined; `change` may be called several
 * times. This function raises the round, whatever `change` returns.
 */
export function setReadMode(
  catalog: Catalog,
  name: string,
  change: (current: NamespaceRecord) => Omit<ReadModeState, "round"> | undefined,
): Promise<NamespaceRecord> {
  return updateNamespace(catalog, name, (found) => {
    const current = requireReady(found, name);
    const next = change(current);
    if (next === undefined) return undefined;
    return { ...current, readMode: { ...next, round: current.readMode.round + 1 } };
  });
}

/**
 * Adds kinds to those that SERVE applies to, if the mode is still as it was read. The round
 * continues, with the evidence gathered in it. Returns false if nothing was added.
 */
export async function addServedKinds(
  catalog: Catalog,
  seen: NamespaceRecord,
  kinds: readonly string[],
): Promise<boolean> {
  let added = false;
  await updateNamespace(catalog, seen.name, (found) => {
    const { id, readMode } = requireReady(found, seen.name);
    const served = readMode.mode === "SERVE" ? readMode.kinds : null;
    const missing = kinds.filter((kind) => served?.includes(kind) === false);
    const { round, autoAdvance } = seen.readMode;
    const asSeen =
      id === seen.id && readMode.round === round && readMode.autoAdvance === autoAdvance;
    added = asSeen && missing.length > 0;
    if (!added) return undefined;
    return { ...found, readMode: { ...readMode, kinds: [...(served ?? []), ...missing] } };
  });
  return added;
}

/**
 * Adds results of comparisons to the stored evidence for the same kind of split. Evidence of an
 * older round is dropped, except the mark of an unsettled difference: no change of the mode settles
 * it.
 */
export async function addEvidence(
  catalog: Catalog,
  namespaceId: string,
  seen: StoredEvidence,
): Promise<void> {
  const space = evidenceSpace(namespaceId);
  const key = `${seen.layout}/${seen.layoutVersion}|${seen.strategy}`;
  const message = "the evidence is being added to by others; try again soon";
  await compareAndSet({ message }, async () => {
    const stored = await catalog.read(space, key);
    const known = stored === undefined ? undefined : decodeStored(evidenceSchema, space, stored);
    const isOld = known !== undefined && known.round > seen.round;
    if (isOld && seen.unsettledAt === undefined) return;
    const value = encodeStored(known === undefined ? seen : withMark(known, seen));
    const written = await catalog.write(space, key, value, stored?.version ?? 0);
    return written === undefined ? LOST : undefined;
  });
}

/** Evidence for all kinds and of any round; only evidence of the mode's present round counts. */
export async function readEvidence(
  catalog: Catalog,
  namespaceId: string,
): Promise<StoredEvidence[]> {
  const space = evidenceSpace(namespaceId);
  const all: StoredEvidence[] = [];
  for await (const stored of listAll(catalog, space)) {
    all.push(decodeStored(evidenceSchema, space, stored));
  }
  return all;
}

function withMark(known: StoredEvidence, seen: StoredEvidence): StoredEvidence {
  const unsettledAt = Math.max(known.unsettledAt ?? 0, seen.unsettledAt ?? 0);
  return { ...added(known, seen), ...(unsettledAt > 0 && { unsettledAt }) };
}

function added(known: StoredEvidence, seen: StoredEvidence): StoredEvidence {
  if (known.round !== seen.round) return known.round > seen.round ? known : seen;
  return {
    ...known,
    readsCompared: known.readsCompared + seen.readsCompared,
    bytesMatched: known.bytesMatched + seen.bytesMatched,
    bytesDiffered: known.bytesDiffered + seen.bytesDiffered,
    since: Math.min(known.since, seen.since),
  };
}

function evidenceSpace(namespaceId: string): string {
  return `evidence/${namespaceId}`;
}

const count = z.number().int().nonnegative();

const evidenceSchema: z.ZodType<StoredEvidence> = storedObject({
  layout: z.string(),
  layoutVersion: count,
  strategy: z.string(),
  round: count,
  readsCompared: count,
  bytesMatched: count,
  bytesDiffered: count,
  since: z.number().int(),
  unsettledAt: z.number().int().optional(),
});
