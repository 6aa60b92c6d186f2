/**
 * Rounds of a use case that changes slices: each one reads and decides again, because another
 * process may have changed the namespace, and because one change holds a bounded number of slices.
 */
import { namespaceConflict, slicesBusy } from "../records/namespace-records.ts";
import type { NamespaceRecord } from "../records/namespace-records.ts";
import type { SliceChange } from "../records/slice-change.ts";
import { changeSlices, finishChange } from "./change-slices.ts";
import type { Changing } from "./change-slices.ts";
import { OWNER_WAIT_MS } from "./slice-ownership.ts";

/** "overtaken": another process changed the namespace first, and this round did nothing. */
export type RoundOutcome<T> = { readonly done: T } | "progress" | "overtaken";

/**
 * Losing this often in a row is an error. Each change of slices counts as progress; there may be
 * many.
 */
const LOST_MAX = 10;
/** More than it takes to make SLICES_MAX slices. */
const ROUNDS_MAX = 200;

/** Runs rounds, each holding the namespace's mutex, until one is done or too many have lost. */
export async function inRounds<T>(
  { ownership }: Changing,
  name: string,
  round: () => Promise<RoundOutcome<T>>,
): Promise<T> {
  let lost = 0;
  for (let count = 0; count < ROUNDS_MAX && lost < LOST_MAX; count++) {
    const outcome = await ownership.take(name, round);
    if (typeof outcome === "object") return outcome.done;
    lost = outcome === "overtaken" ? lost + 1 : 0;
  }
  throw namespaceConflict(name);
}

/** Carries out the decision in the record, if there is one, or else decides on `due`. */
export async function changeSlicesInRound(
  changing: Changing,
  record: NamespaceRecord,
  due: Partial<SliceChange>,
  signal: AbortSignal | undefined,
): Promise<"progress" | "overtaken"> {
  const wait = { waitMs: OWNER_WAIT_MS, signal };
  const moved =
    record.changing === null
      ? await changeSlices(changing, record, due, wait)
      : await finishChange(changing, record, wait);
  if (moved === "busy") throw slicesBusy(record.name);
  return moved === "overtaken" ? moved : "progress";
}
