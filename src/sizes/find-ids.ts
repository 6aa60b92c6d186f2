/**
 * Finds the ids of a namespace that begin with a prefix, over its newest slices, page by page. Each
 * call has a budget of time. Only engines whose keys begin with the id can do it.
 */
import type { Clock } from "../lib/clock.ts";
import { ServiceError } from "../lib/errors.ts";
import { compareListedIds } from "../model/listed-ids.ts";
import type { TimeSlice } from "../model/time-slice.ts";
import type { Catalog } from "../ports/catalog.ts";
import type { EventStore, IdPage } from "../ports/event-store.ts";
import { readReadyNamespace } from "../records/namespace-records.ts";
import { readSlices } from "../records/slice-records.ts";
import { requireSlice } from "./require-slice.ts";

export interface FindIdsOptions {
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly store: Pick<EventStore, "listIds">;
}

export interface IdsQuery {
  readonly prefix: string;
  /** Empty: the newest slices. */
  readonly timeSlice: string;
  readonly pageSize: number;
  /** The `next` of the page before; "" for the first page. */
  readonly after: string;
}

export interface FoundIds {
  /** In the order of `compareListedIds`, each once. */
  readonly ids: readonly string[];
  /** "" at the end. */
  readonly next: string;
  /** The slices that were searched, newest first. */
  readonly slices: readonly string[];
  /** How many older slices were not. */
  readonly notSearched: number;
}

/** A slice that nobody has read for long must be opened first, which takes time. */
const SLICES_MAX = 8;
/** Of all slices together. */
const MS_MAX = 2_000;

export class IdFinder {
  readonly #options: FindIdsOptions;

  constructor(options: FindIdsOptions) {
    this.#options = options;
  }

  /** Rejects with NOT_SUPPORTED if the engine cannot do it. */
  async find(namespace: string, query: IdsQuery, signal: AbortSignal): Promise<FoundIds> {
    const { catalog, clock, store } = this.#options;
    if (store.listIds === undefined) throw notSupported();
    const record = await readReadyNamespace(catalog, namespace);
    const all = await readSlices(catalog, record.id);
    const there =
      query.timeSlice === ""
        ? newestFirst(all, clock.nowMicros())
        : [requireSlice(all, namespace, query.timeSlice, 0)];
    const searched = there.slice(0, SLICES_MAX);
    const msMax = MS_MAX / Math.max(1, searched.length);
    const pages: IdPage[] = [];
    for (const { name } of searched) {
      const ref = { namespaceId: record.id, slice: name };
      const after = query.after === "" ? undefined : query.after;
      const search = { prefix: query.prefix, after, idsMax: query.pageSize, msMax };
      pages.push(await store.listIds(ref, search, signal));
    }
    return {
      ...mergedIds(pages, query.pageSize),
      slices: searched.map(({ name }) => name),
      notSearched: there.length - searched.length,
    };
  }
}

/** Those that may hold events: a slice that begins in the future has none yet. */
function newestFirst(slices: readonly TimeSlice[], now: number): TimeSlice[] {
  return slices
    .filter(({ state, start }) => state !== "DROPPED" && start <= now)
    .toSorted((a, b) => b.start - a.start);
}

/** Nothing behind the least id up to which all slices were searched. */
export function mergedIds(
  pages: readonly IdPage[],
  pageSize: number,
): Pick<FoundIds, "ids" | "next"> {
  const all = [...new Set(pages.flatMap(({ ids }) => ids))].sort(compareListedIds);
  const ends = pages.flatMap(({ ids, ended }) => (ended ? [] : (ids.at(-1) ?? "")));
  const [least] = ends.sort(compareListedIds);
  const known = least === undefined ? all : all.filter((id) => compareListedIds(id, least) <= 0);
  const ids = known.slice(0, pageSize);
  const more = least !== undefined || ids.length < known.length;
  return { ids, next: more ? (ids.at(-1) ?? "") : "" };
}

function notSupported(): ServiceError {
  return new ServiceError(
    "NOT_SUPPORTED",
    "this engine stores ids by their hash and cannot search them by prefix; ListPartitions (braid " +
      "partitions) lists the widest ones",
  );
}
