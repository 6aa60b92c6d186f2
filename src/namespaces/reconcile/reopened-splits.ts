/**
 * Returns the splits of re-opened time to DETECTED when the settled floor has passed it again (rules
 * C3 and C17): slice by slice, oldest first, a bounded number of pages in each run.
 *
 * The namespace's record says which time is left (`resealing`). A process that takes over, or
 * starts again, begins with the first slice of it.
 */
import { settledFloorOf, updateNamespace } from "../../records/namespace-records.ts";
import type { NamespaceRecord } from "../../records/namespace-records.ts";
import type { SliceRecord } from "../../records/slice-records.ts";
import { slicesWithSplits } from "../../records/split-records.ts";
import { returnReopened } from "../../splits/record/return-reopened.ts";
import type { ReconcileRun } from "./reconcile-run.ts";

/** Of one namespace in one run: the next namespace must not wait for long. */
const PAGES_MAX = 4;
const PAGE_RECORDS = 500;

/** Where the walk of a slice continues. */
interface Walk {
  readonly epoch: number;
  readonly slice: string;
  readonly cursor: string;
}

export class ReopenedSplits {
  /** By namespace id. */
  readonly #walks = new Map<string, Walk>();

  async return(
    run: ReconcileRun,
    record: NamespaceRecord,
    slices: readonly SliceRecord[],
  ): Promise<void> {
    const due = dueSlices(record, slices);
    if (due === undefined) return;
    const from = await this.#walk(run, record, due);
    if (from === undefined) return;
    await updateNamespace(run.catalog, record.name, (current) => {
      const { id, epoch, resealing } = current;
      // A later epoch has extended the time, which begins again then.
      if (id !== record.id || epoch !== record.epoch || resealing === null) return undefined;
      return { ...current, resealing: from < resealing.to ? { ...resealing, from } : null };
    });
  }

  forgetAllBut(ids: ReadonlySet<string>): void {
    for (const id of this.#walks.keys()) if (!ids.has(id)) this.#walks.delete(id);
  }

  /** Returns the end of the last slice that it has finished, if any. */
  async #walk(
    { catalog, clock, wait }: ReconcileRun,
    namespace: NamespaceRecord,
    { done, slices }: DueSlices,
  ): Promise<number | undefined> {
    const { id: namespaceId, epoch } = namespace;
    const context = { catalog, clock, namespace };
    const noted = slices.length === 0 ? undefined : await slicesWithSplits(catalog, namespaceId);
    let finished = done;
    let pages = 0;
    for (const { name: slice, end } of slices) {
      const walk = this.#walks.get(namespaceId);
      let cursor = walk?.epoch === epoch && walk.slice === slice ? walk.cursor : "";
      do {
        if (noted?.has(slice) !== true) break;
        if (pages++ === PAGES_MAX || wait.signal?.aborted === true) return finished;
        cursor = await returnReopened(context, { namespaceId, slice }, cursor, PAGE_RECORDS);
        this.#walks.set(namespaceId, { epoch, slice, cursor });
      } while (cursor !== "");
      this.#walks.delete(namespaceId);
      finished = end;
    }
    return finished;
  }
}

interface DueSlices {
  /** The re-opened time before it is sealed and has no slices left to visit. */
  readonly done: number | undefined;
  /** The slices to visit, oldest first. */
  readonly slices: readonly SliceRecord[];
}

/** Undefined if nothing is due: the settled floor has not passed the first of the slices that are left. */
function dueSlices(
  namespace: NamespaceRecord,
  slices: readonly SliceRecord[],
): DueSlices | undefined {
  const { resealing, reopening } = namespace;
  if (resealing === null || reopening !== null) return undefined;
  const { from, to } = resealing;
  const floor = settledFloorOf(namespace);
  const left = slices
    .filter(({ start, end, state }) => state !== "DROPPED" && end > from && start < to)
    .toSorted((a, b) => a.start - b.start);
  const due = left.filter(({ end }) => Math.min(end, to) <= floor);
  if (due.length > 0) return { done: undefined, slices: due };
  return left.length === 0 && to <= floor ? { done: to, slices: [] } : undefined;
}
