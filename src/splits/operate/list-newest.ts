/**
 * The splits that moved last, newest first, of one namespace or of all: for a board.
 *
 * Records lie by partition, not by time, so this examines a bounded number of them, in the newest
 * slices of each namespace first, and says whether these were all.
 */
import { timeBucketRange } from "../../model/partition.ts";
import type { SplitRecord, SplitState } from "../../model/split.ts";
import type { Catalog } from "../../ports/catalog.ts";
import { eachNamespace, readReadyNamespace } from "../../records/namespace-records.ts";
import type { NamespaceRecord } from "../../records/namespace-records.ts";
import { readSlice } from "../../records/slice-records.ts";
import { listSplitsPage, slicesWithSplits } from "../../records/split-records.ts";
import type { UnreadableEntry } from "../../records/stored-json.ts";
import { readKillSwitch } from "../record/kill-switch.ts";
import type { PausedNamespace, SplitDetail, SplitPage } from "../use-cases.ts";

export interface NewestOptions {
  /** Undefined: all. */
  readonly states: ReadonlySet<SplitState> | undefined;
  readonly pageSize: number;
  /** Receives each record that cannot be decoded (rule C28). */
  readonly skip?: ((entry: UnreadableEntry) => void) | undefined;
}

/** Bounds of one answer. A slice costs one call for each of its shards. */
const RECORDS_MAX = 5_000;
const SLICES_MAX = 200;
const NAMESPACES_MAX = 500;
const RECORDS_PAGE = 500;

/** `namespace` "" means all namespaces. */
export async function listNewest(
  catalog: Catalog,
  namespace: string,
  options: NewestOptions,
): Promise<SplitPage> {
  const search = new NewestSearch(catalog, options);
  if (namespace === "") await search.addAll();
  else await search.add(await readReadyNamespace(catalog, namespace));
  return {
    splits: await search.details(),
    nextPageToken: "",
    killSwitch: await readKillSwitch(catalog),
    paused: search.paused,
    unreadable: search.unreadable,
    examinedAll: search.examinedAll,
  };
}

class NewestSearch {
  readonly paused: PausedNamespace[] = [];
  unreadable = 0;
  examinedAll = true;
  readonly #catalog: Catalog;
  readonly #options: NewestOptions;
  #newest: SplitRecord[] = [];
  #records = 0;
  #slices = 0;

  constructor(catalog: Catalog, options: NewestOptions) {
    this.#catalog = catalog;
    this.#options = options;
  }

  async addAll(): Promise<void> {
    let seen = 0;
    for await (const { record } of eachNamespace(this.#catalog)) {
      if (seen++ === NAMESPACES_MAX) this.examinedAll = false;
      if (!this.examinedAll) return;
      if (record instanceof Error) this.unreadable++;
      else if (record.phase === "READY") await this.add(record);
    }
  }

  async add({ id, name, splitsPaused }: NamespaceRecord): Promise<void> {
    if (splitsPaused !== null) this.paused.push({ namespace: name, ...splitsPaused });
    // Their names are in the order of time.
    const slices = [...(await slicesWithSplits(this.#catalog, id))].toSorted().toReversed();
    for (const slice of slices) {
      if (this.#slices++ === SLICES_MAX) this.examinedAll = false;
      if (!this.examinedAll) return;
      await this.#addSlice(id, name, slice);
    }
  }

  async details(): Promise<SplitDetail[]> {
    const details: SplitDetail[] = [];
    for (const record of this.#newest) {
      const { namespaceId, slice, timeBucket } = record.partition;
      const timeSlice = await readSlice(this.#catalog, namespaceId, slice);
      const bucket = timeSlice && timeBucketRange(timeSlice, timeBucket);
      details.push({ record, parts: [], bucket });
    }
    return details;
  }

  async #addSlice(namespaceId: string, namespace: string, slice: string): Promise<void> {
    const { states, pageSize, skip } = this.#options;
    const skipped = (entry: UnreadableEntry): void => {
      this.unreadable++;
      skip?.(entry);
    };
    let cursor = "";
    do {
      if (this.#records >= RECORDS_MAX) this.examinedAll = false;
      if (!this.examinedAll) return;
      const ref = { namespaceId, slice };
      const page = await listSplitsPage(this.#catalog, ref, cursor, RECORDS_PAGE, skipped);
      this.#records += page.records.length;
      const wanted = page.records.filter(({ state }) => states?.has(state) ?? true);
      // Records of a namespace that was restored may still have another name.
      const named = wanted.map((record) => ({ ...record, namespace }));
      const sorted = [...this.#newest, ...named].toSorted((a, b) => movedAt(b) - movedAt(a));
      this.#newest = sorted.slice(0, pageSize);
      ({ cursor } = page);
    } while (cursor !== "");
  }
}

function movedAt({ history, detectedAt }: SplitRecord): number {
  return history.at(-1)?.at ?? detectedAt;
}
