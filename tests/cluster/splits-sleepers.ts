/**
 * A worker that falls asleep in the middle of a split and wakes when another has it: the late riser
 * of rule C8.
 *
 * The catalog is looked into directly, since only there is to be seen whose heart still beats.
 */
import { readNamespace } from "../../src/records/namespace-records.ts";
import { listSplits, readSplit, slicesWithSplits } from "../../src/records/split-records.ts";
import type { SplitRecord } from "../../src/model/split.ts";
import type { Catalog } from "../../src/ports/catalog.ts";
import { LEASE_MS } from "../../src/splits/work/split-context.ts";
import type { BraidProcess } from "../support/braid-processes.ts";
import { eventually } from "../e2e/splits-support.ts";
import { metricsOf } from "./splits-metrics.ts";

/** Who lives moves its counter more often. */
const STILL_MS = LEASE_MS / 2;

interface Owned {
  readonly record: SplitRecord;
  readonly sinceMs: number;
}

/**
 * Freezes a worker, and wakes it when another has taken its split over and come further with it.
 * What it slept over, in words; undefined if it was between two splits. Nobody else may be dead
 * meanwhile.
 */
export async function sleepOverSplit(
  catalog: Catalog,
  namespace: string,
  worker: BraidProcess,
): Promise<string | undefined> {
  worker.pause();
  try {
    const left = await standingStill(catalog, namespace);
    if (left === undefined) return undefined;
    const now = await eventually(
      "another has taken the split over and come further",
      async () => (await readSplit(catalog, left.partition)) ?? left,
      (record) => record.fence > left.fence && progressOf(record) !== progressOf(left),
    );
    return `${left.partition.seriesId} when it was ${progressOf(left)}, until it was ${progressOf(now)}`;
  } finally {
    worker.resume();
    // It is back when it answers.
    await eventually(
      "it is awake",
      () => metricsOf(worker),
      (text) => text !== "",
    );
  }
}

/** The split that somebody owns and nobody moves; undefined if there is none. */
async function standingStill(
  catalog: Catalog,
  namespace: string,
): Promise<SplitRecord | undefined> {
  const seen = new Map<string, Owned>();
  const began = performance.now();
  const { still } = await eventually(
    "a split stands still, or all go on",
    async () => {
      const nowMs = performance.now();
      let found: SplitRecord | undefined;
      for await (const record of splitsOf(catalog, namespace)) {
        const key = JSON.stringify(record.partition);
        const before = seen.get(key);
        if (record.owner === null) seen.delete(key);
        else if (before?.record.version !== record.version)
          seen.set(key, { record, sinceMs: nowMs });
        else if (nowMs - before.sinceMs >= STILL_MS) found = record;
      }
      return { still: found, watchedMs: nowMs - began };
    },
    // Well before anybody takes it over.
    ({ still: found, watchedMs }) => found !== undefined || watchedMs > 1.5 * STILL_MS,
  );
  return still;
}

async function* splitsOf(
  catalog: Catalog,
  namespace: string,
): AsyncGenerator<SplitRecord, void, undefined> {
  const found = await readNamespace(catalog, namespace);
  if (found === undefined) return;
  for (const slice of await slicesWithSplits(catalog, found.id)) {
    yield* listSplits(catalog, { namespaceId: found.id, slice });
  }
}

function progressOf({ state, segments }: SplitRecord): string {
  const newest = segments.at(-1);
  const parts = newest?.partRanges.reduce((sum, { count }) => sum + count, 0) ?? 0;
  const confirmed = newest !== undefined && newest.confirmedAt !== null ? ", confirmed" : "";
  return `${state} with ${parts} parts${confirmed}`;
}
