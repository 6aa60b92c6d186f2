/**
 * What a killed server has left half done, as its data directory says before another server
 * continues it.
 */
import { openEmbeddedEngine } from "../../src/engines/embedded/index.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { ServiceError } from "../../src/lib/errors.ts";
import { namespacePages } from "../../src/records/namespace-records.ts";
import type { NamespaceRecord } from "../../src/records/namespace-records.ts";
import { listSplits, slicesWithSplits } from "../../src/records/split-records.ts";
import type { SplitRecord } from "../../src/model/split.ts";
import type { Catalog } from "../../src/ports/catalog.ts";

/** Each kind of work once: "split SPLITTING", "namespace LEAVING". */
export async function storedWork(directory: string): Promise<string[]> {
  const engine = await openEmbeddedEngine({ directory, clock: systemClock });
  try {
    return [...new Set(await Array.fromAsync(workIn(engine.catalog)))].toSorted();
  } finally {
    await engine.close();
  }
}

async function* workIn(catalog: Catalog): AsyncGenerator<string, void, undefined> {
  for await (const page of namespacePages(catalog)) {
    for (const { record } of page) {
      if (record instanceof ServiceError) throw record;
      yield* workOf(record);
      for (const slice of await slicesWithSplits(catalog, record.id)) {
        for await (const split of listSplits(catalog, { namespaceId: record.id, slice })) {
          const work = workOfSplit(split);
          if (work !== undefined) yield `split ${work}`;
        }
      }
    }
  }
}

function* workOf(record: NamespaceRecord): Generator<string, void, undefined> {
  if (record.phase !== "READY") yield `namespace ${record.phase}`;
  if (record.reopening !== null) yield "acceptLimit being raised";
  if (record.resealing !== null) yield "time being sealed again";
  if (record.changing !== null) yield "slices being changed";
  if (record.blockedChanging.length > 0) yield "ids being blocked";
  if (record.idStrategyChanging.length > 0) yield "id strategy being changed";
}

function workOfSplit({ state, owner, segments }: SplitRecord): string | undefined {
  const unconfirmed = segments.some((each) => each.confirmedAt === null);
  if (state === "COMPLETED" && unconfirmed) return "unconfirmed";
  const atRest = state === "COMPLETED" || state === "PARKED" || state === "INVALIDATED";
  return owner === null && atRest ? undefined : state;
}
