/**
 * Freezes a worker in the middle of a split and resumes it when another has taken over: the stale
 * owner of rule C8.
 *
 * It reads the catalog directly, because only the catalog shows which owner's heartbeat continues.
 */
import { readNamespace } from "../../src/records/namespace-records.ts";
import { listSplits, readSplit, slicesWithSplits } from "../../src/records/split-records.ts";
import type { SplitRecord } from "../../src/model/split.ts";
import type { Catalog } from "../../src/ports/catalog.ts";
import { LEASE_MS } from "../../src/lib/owner-liveness.ts";
import type { BraidProcess } from "../support/braid-processes.ts";
import { eventually } from "../e2e/splits-support.ts";
import { metricsOf } from "./splits-metrics.ts";

/** A live owner raises its counter more often. */
const STILL_MS = LEASE_MS / 2;

interface Owned {
  readonly record: SplitRecord;
  readonly sinceMs: number;
}

/**
 * Freezes a worker, and resumes it when another has taken over its split and made progress. Returns
 * a description of that split; undefined if the worker was between two splits. No other worker may
 * be dead at that time.
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
      "another has taken over the split and made progress",
      async () => (await readSplit(catalog, left.partition)) ?? left,
      (record) => record.fence > left.fence && progressOf(record) !== progressOf(left),
    );
    return `${left.partition.seriesId} when it was ${progressOf(left)}, until it was ${progressOf(now)}`;
  } finally {
    worker.resume();
    // The worker is back when it answers.
    await eventually(
      "it is awake",
      () => metricsOf(worker),
      (text) => text !== "",
    );
  }
}

/** The split whose owner's heartbeat has stopped; undefined if there is none. */
async function standingStill(
  catalog: Catalog,
  namespace: string,
): Promise<SplitRecord | undefined> {
  const seen = new Map<string, Owned>();
  const began = performance.now();
  const { still } = await eventually(
    "one owner's heartbeat has stopped, or all continue",
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
    // Well before another worker takes it over.
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
