/**
 * What comparisons of splits with their originals have shown: space `evidence/<namespace id>`, key =
 * layout with its version, and strategy (rule C13). It counts for one round of the read mode, and
 * every change of the mode begins another round, so a fall-back clears it.
 *
 * Evidence counts once (rule C29). Each process counts for itself and writes its totals of the
 * round, not what was added: a write that is repeated after a lost answer changes nothing. Distinct
 * splits are a union of marks. A record keeps the totals of a bounded number of counters; those with
 * the fewest reads are left out, which only means that more reads must be compared.
 *
 * The record also says that a difference is not settled; this mark outlasts the round.
 */
import { z } from "zod";
import { compareAndSet, LOST } from "../lib/compare-and-set.ts";
import type { Evidence, SplitKind } from "../model/read-mode.ts";
import { uniteMarks } from "../model/split-marks.ts";
import type { SplitMarks } from "../model/split-marks.ts";
import type { Catalog } from "../ports/catalog.ts";
import { decodeStored, encodeStored, listAll, storedObject } from "./stored-json.ts";

/** While a difference is not settled, the process that has seen it reports it this often. */
export const UNSETTLED_EVERY_MS = 3_000;
/**
 * A report counts for this long. A process may miss a few reports, and one that died does not hold
 * a mode back for ever.
 */
export const UNSETTLED_FOR_MS = 20 * UNSETTLED_EVERY_MS;

/** In one record. A fleet or a process that restarts often may have more. */
export const COUNTERS_MAX = 32;

/** Sums of one counter in one round. None of them ever falls. */
export interface EvidenceTotals {
  readonly readsCompared: number;
  readonly bytesMatched: number;
  readonly bytesDiffered: number;
}

/** All that one process has counted for one kind of split in one round. */
export interface CounterEvidence extends SplitKind, EvidenceTotals {
  readonly round: number;
  /** Unique to one start of a process. */
  readonly counter: string;
  readonly marks: SplitMarks;
  /** Microseconds. */
  readonly since: number;
}

/** Evidence over all processes. */
export interface SummedEvidence extends Evidence {
  /** When a server last reported that a difference is not settled (rule C14). Microseconds. */
  readonly unsettledAt?: number | undefined;
}

interface StoredEvidence extends SplitKind {
  readonly round: number;
  readonly since: number;
  readonly counters: Readonly<Record<string, EvidenceTotals>>;
  readonly marks: SplitMarks;
  readonly unsettledAt?: number | undefined;
}

/** Stores what a process has counted. Evidence of an older round than the stored one is dropped. */
export async function writeEvidence(
  catalog: Catalog,
  namespaceId: string,
  seen: CounterEvidence,
): Promise<void> {
  const { counter, marks, since, round } = seen;
  await change(catalog, namespaceId, seen, (known) => {
    if (known !== undefined && known.round > round) return undefined;
    const before = inRound(known, seen);
    return {
      ...before,
      since: Math.min(before.since, since),
      counters: withCounter(before.counters, counter, seen),
      marks: uniteMarks(before.marks, marks),
    };
  });
}

/** Stores that a difference is not settled yet (rule C14). */
export async function markUnsettled(
  catalog: Catalog,
  namespaceId: string,
  seen: SplitKind & { readonly round: number },
  at: number,
): Promise<void> {
  await change(catalog, namespaceId, seen, (known) => {
    const before = inRound(known, { ...seen, since: at });
    return { ...before, unsettledAt: Math.max(before.unsettledAt ?? 0, at) };
  });
}

/** For all kinds and of any round; only evidence of the mode's present round counts. */
export async function readEvidence(
  catalog: Catalog,
  namespaceId: string,
): Promise<SummedEvidence[]> {
  const space = evidenceSpace(namespaceId);
  const all: SummedEvidence[] = [];
  for await (const stored of listAll(catalog, space)) {
    all.push(sumOf(decodeStored(evidenceSchema, space, stored)));
  }
  return all;
}

async function change(
  catalog: Catalog,
  namespaceId: string,
  { layout, layoutVersion, strategy }: SplitKind,
  next: (known: StoredEvidence | undefined) => StoredEvidence | undefined,
): Promise<void> {
  const space = evidenceSpace(namespaceId);
  const key = `${layout}/${layoutVersion}|${strategy}`;
  const message = "other processes are changing the evidence; try again soon";
  await compareAndSet({ message }, async () => {
    const stored = await catalog.read(space, key);
    const known = stored === undefined ? undefined : decodeStored(evidenceSchema, space, stored);
    const after = next(known);
    if (after === undefined) return;
    const value = encodeStored(after);
    if (value === stored?.value) return;
    const written = await catalog.write(space, key, value, stored?.version ?? 0);
    return written === undefined ? LOST : undefined;
  });
}

/**
 * The record in the later of the two rounds; a round begins without evidence, and keeps the mark of
 * an unsettled difference: no change of the mode settles it.
 */
function inRound(
  known: StoredEvidence | undefined,
  seen: SplitKind & { readonly round: number; readonly since: number },
): StoredEvidence {
  if (known !== undefined && known.round >= seen.round) return known;
  const { layout, layoutVersion, strategy, round, since } = seen;
  const empty = { layout, layoutVersion, strategy, round, since, counters: {}, marks: [] };
  return { ...known, ...empty };
}

function withCounter(
  counters: StoredEvidence["counters"],
  counter: string,
  seen: EvidenceTotals,
): StoredEvidence["counters"] {
  const known = counters[counter];
  // Two writes of one process may arrive in the other order.
  const totals: EvidenceTotals = {
    readsCompared: Math.max(seen.readsCompared, known?.readsCompared ?? 0),
    bytesMatched: Math.max(seen.bytesMatched, known?.bytesMatched ?? 0),
    bytesDiffered: Math.max(seen.bytesDiffered, known?.bytesDiffered ?? 0),
  };
  const all = Object.entries({ ...counters, [counter]: totals });
  if (all.length <= COUNTERS_MAX) return Object.fromEntries(all);
  // A difference is never left out: one that stays holds the mode back.
  const kept = all.toSorted(
    ([, a], [, b]) => b.bytesDiffered - a.bytesDiffered || b.readsCompared - a.readsCompared,
  );
  return Object.fromEntries(kept.slice(0, COUNTERS_MAX));
}

function sumOf(stored: StoredEvidence): SummedEvidence {
  const { layout, layoutVersion, strategy, round, since, marks, unsettledAt } = stored;
  let [readsCompared, bytesMatched, bytesDiffered] = [0, 0, 0];
  for (const totals of Object.values(stored.counters)) {
    readsCompared += totals.readsCompared;
    bytesMatched += totals.bytesMatched;
    bytesDiffered += totals.bytesDiffered;
  }
  return {
    layout,
    layoutVersion,
    strategy,
    round,
    readsCompared,
    bytesMatched,
    bytesDiffered,
    splitsCompared: marks.length,
    since,
    ...(unsettledAt !== undefined && { unsettledAt }),
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
  since: z.number().int(),
  counters: z.record(
    z.string(),
    storedObject({ readsCompared: count, bytesMatched: count, bytesDiffered: count }),
  ),
  marks: z.array(count),
  unsettledAt: z.number().int().optional(),
});
