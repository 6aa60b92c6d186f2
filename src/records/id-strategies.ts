/**
 * Ids that have more event buckets than their slices, in the catalog: space
 * `id-strategies/<namespace id>`, key = the series id. Append-only (rule C15).
 *
 * A step applies from a time bucket that no process can write to yet, and multiplies the previous
 * number of buckets by a whole factor. So an event placed with fewer buckets lies in one of those
 * that a reader with more buckets asks. As with blocked ids, a change is noted in the namespace
 * before it is made and counted there afterwards, so that views re-read the ids only then.
 */
import { z } from "zod";
import { ServiceError } from "../lib/errors.ts";
import type { IdStrategyStep } from "../model/read-mode.ts";
import type { Catalog } from "../ports/catalog.ts";
import {
  endedIdStrategyChanges,
  readReadyNamespace,
  requireReady,
  updateNamespace,
} from "./namespace-records.ts";
import type { NamespaceRecord } from "./namespace-records.ts";
import { decodeStored, encodeStored, listAll, storedObject } from "./stored-json.ts";

/** Every server holds all of them in memory, for the namespaces it serves. */
export const ID_STRATEGIES_MAX = 10_000;
/** Limits the event buckets of one time bucket: a read asks each of them. */
const FACTOR_MAX = 1_024;
const CHANGES_AT_ONCE_MAX = 100;

/** A change that is under way for longer counts as dead: it is fenced, and ended. */
export const ID_CHANGE_MAX_MS = 60_000;
/**
 * A change that has not ended is fenced by this time, so no step is stored later. The bound allows
 * for another reconciler that takes over and restarts the count, for the time until its next run,
 * and for the fencing.
 */
export const ID_CHANGE_FENCED_MS = 3 * ID_CHANGE_MAX_MS;

export interface IdStrategy {
  readonly seriesId: string;
  /** Oldest first. */
  readonly steps: readonly IdStrategyStep[];
}

/** By the bytes of the id. */
export async function* readIdStrategies(
  catalog: Catalog,
  namespaceId: string,
): AsyncGenerator<IdStrategy, void, undefined> {
  const space = strategiesSpace(namespaceId);
  for await (const stored of listAll(catalog, space)) {
    yield { ...decodeStored(strategySchema, space, stored), seriesId: stored.key };
  }
}

/** Undefined if the id has none. */
export async function readIdSteps(
  catalog: Catalog,
  namespaceId: string,
  seriesId: string,
): Promise<readonly IdStrategyStep[] | undefined> {
  const space = strategiesSpace(namespaceId);
  const stored = await catalog.read(space, seriesId);
  return stored === undefined ? undefined : decodeStored(strategySchema, space, stored).steps;
}

/**
 * Gives an id more event buckets from a time on. Returns false and changes nothing if the id has as
 * many by then, if the step does not continue the existing ones, if another process was faster, if
 * the namespace has too many changes at once, or if it is too late. CONFLICT if the namespace has
 * no room for another such id: an operator has to know. `inTime` is called right before the write, because a process can pause between deciding on a step and
 * storing it. It gets the namespace as it was when the change was noted in it, by compare-and-set:
 * its limits may have changed as well.
 */
export async function addIdStep(
  catalog: Catalog,
  name: string,
  seriesId: string,
  step: IdStrategyStep,
  inTime: (namespace: NamespaceRecord) => boolean = () => true,
): Promise<boolean> {
  const { id } = await readReadyNamespace(catalog, name);
  const space = strategiesSpace(id);
  // Read before the change is noted: a process that considers this one dead can then make the write
  // below fail.
  const stored = await catalog.read(space, seriesId);
  const known = stored === undefined ? NO_STEPS : decodeStored(strategySchema, space, stored);
  const { steps } = known;
  if (!continues(steps, step)) return false;
  const begun = await begin(catalog, name, id, { seriesId, isNew: stored === undefined });
  if (begun === undefined) return false;
  let added = false;
  try {
    if (inTime(begun)) {
      const value = encodeStored({ ...known, steps: [...steps, step] });
      const written = await catalog.write(space, seriesId, value, stored?.version ?? 0);
      added = written !== undefined;
    }
  } catch (error) {
    // The step may have been stored, so it counts; or it may still be on its way, and must not be
    // stored after the end.
    await fenceIdStrategy(catalog, id, seriesId);
    await end(catalog, begun, 0);
    throw error;
  }
  await end(catalog, begun, added && stored === undefined ? 0 : -1);
  return added;
}

/**
 * Ensures that a change considered dead can no longer be made: its id gets another version. No view
 * would learn of such a change, and processes that start later would place events where others do
 * not look.
 */
export async function fenceIdStrategy(
  catalog: Catalog,
  namespaceId: string,
  seriesId: string,
): Promise<void> {
  const space = strategiesSpace(namespaceId);
  const stored = await catalog.read(space, seriesId);
  const value = stored?.value ?? encodeStored(NO_STEPS);
  await catalog.write(space, seriesId, value, stored?.version ?? 0);
}

/** Whether a step continues the existing ones: later, and by a whole factor greater than 1. */
function continues(steps: readonly IdStrategyStep[], step: IdStrategyStep): boolean {
  const last = steps.at(-1) ?? { from: -Infinity, factor: 1 };
  return (
    Number.isInteger(step.from) &&
    step.from > last.from &&
    Number.isInteger(step.factor) &&
    step.factor > last.factor &&
    step.factor % last.factor === 0 &&
    step.factor <= FACTOR_MAX
  );
}

/** Counts before it is known whether the id is new: the count is never too low. */
async function begin(
  catalog: Catalog,
  name: string,
  id: string,
  { seriesId, isNew }: { readonly seriesId: string; readonly isNew: boolean },
): Promise<NamespaceRecord | undefined> {
  let isBusy = false;
  const noted = await updateNamespace(catalog, name, (found) => {
    const current = requireReady(found.id === id ? found : undefined, name);
    if (isNew && current.idStrategyCount >= ID_STRATEGIES_MAX) throw noRoom(name);
    isBusy = current.idStrategyChanging.length >= CHANGES_AT_ONCE_MAX;
    if (isBusy) return undefined;
    const idStrategyChange = current.idStrategyChange + 1;
    return {
      ...current,
      idStrategyChange,
      idStrategyChanging: [...current.idStrategyChanging, { began: idStrategyChange, seriesId }],
      idStrategyCount: current.idStrategyCount + 1,
    };
  });
  return isBusy ? undefined : noted;
}

function noRoom(namespace: string): ServiceError {
  const ids = ID_STRATEGIES_MAX.toLocaleString("en-US");
  return new ServiceError(
    "CONFLICT",
    `${ids} ids of namespace "${namespace}" have a number of event buckets of their own, and there can ` +
      "be no more: give new slices more event buckets or shorter time buckets (braid doctor)",
    { details: { namespace } },
  );
}

/** Also if the reconciler has ended it as dead meanwhile. */
async function end(catalog: Catalog, begun: NamespaceRecord, count: number): Promise<void> {
  await updateNamespace(catalog, begun.name, (current) => {
    if (current.id !== begun.id || current.phase !== "READY") return undefined;
    return {
      ...current,
      ...endedIdStrategyChanges(current, [begun.idStrategyChange]),
      idStrategyCount: Math.max(0, current.idStrategyCount + count),
    };
  });
}

function strategiesSpace(namespaceId: string): string {
  return `id-strategies/${namespaceId}`;
}

const NO_STEPS: Pick<IdStrategy, "steps"> = { steps: [] };

const strategySchema = storedObject({
  steps: z.array(
    storedObject({ from: z.number().int(), factor: z.number().int().min(2).max(FACTOR_MAX) }),
  ),
});
