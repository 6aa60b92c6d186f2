/**
 * Lists splits in pages, for one namespace or for all: by the namespace's name, then by slice.
 *
 * A page reads a bounded number of records, slices and namespaces. If few splits have the requested
 * state, a page may be short or even empty and still have a token: only the empty token marks the
 * end.
 */
import { fromUtf8, utf8 } from "../../lib/bytes.ts";
import { ServiceError } from "../../lib/errors.ts";
import { timeBucketRange } from "../../model/partition.ts";
import type { SliceRef } from "../../model/partition.ts";
import type { SplitRecord, SplitState } from "../../model/split.ts";
import type { TimeSlice } from "../../model/time-slice.ts";
import type { Catalog } from "../../ports/catalog.ts";
import {
  listNamespaces,
  readNamespace,
  readReadyNamespace,
} from "../../records/namespace-records.ts";
import type { NamespaceRecord } from "../../records/namespace-records.ts";
import { readSlice } from "../../records/slice-records.ts";
import { listSplitsPage, slicesWithSplits } from "../../records/split-records.ts";
import type { UnreadableEntry } from "../../records/stored-json.ts";
import { readKillSwitch } from "../record/kill-switch.ts";
import type { PausedNamespace, SplitDetail, SplitPage } from "../use-cases.ts";

export interface ListOptions {
  /** Undefined: all. */
  readonly states: ReadonlySet<SplitState> | undefined;
  readonly pageSize: number;
  readonly pageToken: string;
  /** Receives each record that the list leaves out because it cannot be decoded (rule C28). */
  readonly skip?: (entry: UnreadableEntry) => void;
}

/** Records read for one page. A slice costs one call for each of its shards. */
const RECORDS_MAX = 5_000;
const SLICES_MAX = 200;
const NAMESPACES_MAX = 500;
/** Records requested at a time when a filter drops some of them. */
const RECORDS_PAGE = 500;
const NAMESPACES_PAGE = 100;
const PAGE_SIZE_DEFAULT = 100;

/** Where a page begins: at this record of the slice, or at the first one behind it. */
interface Place {
  readonly namespace: string;
  readonly slice: string;
  /** The cursor in the records of the slice; "" for the first record. */
  readonly cursor: string;
}

/** `namespace` "" means all namespaces. */
export async function listSplitPage(
  catalog: Catalog,
  namespace: string,
  options: ListOptions,
): Promise<SplitPage> {
  const from = readToken(options.pageToken, namespace);
  const page = new PageInProgress(catalog, options);
  const next =
    namespace === ""
      ? await page.addAll(from)
      : await page.add(await readReadyNamespace(catalog, namespace), from);
  return {
    splits: page.splits,
    paused: page.paused,
    unreadable: page.unreadable,
    killSwitch: await readKillSwitch(catalog),
    examinedAll: next === undefined,
    nextPageToken: next === undefined ? "" : tokenOf(next),
  };
}

class PageInProgress {
  readonly splits: SplitDetail[] = [];
  readonly paused: PausedNamespace[] = [];
  unreadable = 0;
  readonly #catalog: Catalog;
  readonly #states: ReadonlySet<SplitState> | undefined;
  readonly #size: number;
  readonly #skip: (entry: UnreadableEntry) => void;
  #records = 0;
  #slices = 0;

  constructor(catalog: Catalog, { states, pageSize, skip }: ListOptions) {
    this.#skip = skip ?? (() => undefined);
    this.#catalog = catalog;
    this.#states = states;
    this.#size = pageSize > 0 ? pageSize : PAGE_SIZE_DEFAULT;
  }

  /** Returns where the next page begins, or undefined at the end. */
  async addAll(from: Place): Promise<Place | undefined> {
    // The namespace where the last page ended may be gone; the search still finds the following
    // ones.
    const first =
      from.namespace === "" ? undefined : await readNamespace(this.#catalog, from.namespace);
    if (first?.phase === "READY") {
      const next = await this.add(first, from);
      if (next !== undefined) return next;
    }
    let after = from.namespace;
    for (let seen = 0; seen < NAMESPACES_MAX; seen += NAMESPACES_PAGE) {
      const namespaces = await listNamespaces(this.#catalog, after, NAMESPACES_PAGE);
      for (const { name, record } of namespaces) {
        after = name;
        // A namespace record that cannot be read must not hide the splits of the others.
        if (record instanceof Error) this.unreadable++;
        if (record instanceof Error || record.phase !== "READY") continue;
        const next = await this.add(record, { namespace: name, slice: "", cursor: "" });
        if (next !== undefined) return next;
      }
      if (namespaces.length < NAMESPACES_PAGE) return undefined;
    }
    return { namespace: after, slice: LAST_SLICE, cursor: "" };
  }

  async add(namespace: NamespaceRecord, from: Place): Promise<Place | undefined> {
    const { id, name, splitsPaused } = namespace;
    if (splitsPaused !== null) this.paused.push({ namespace: name, ...splitsPaused });
    const slices = await slicesWithSplits(this.#catalog, id);
    for (const slice of [...slices].toSorted(byText)) {
      if (slice < from.slice) continue;
      const cursor = slice === from.slice ? from.cursor : "";
      const behind = await this.#addSlice(namespace, slice, cursor);
      if (behind !== undefined) return { namespace: name, slice, cursor: behind };
    }
    return undefined;
  }

  /**
   * Returns the cursor behind the last record that was read, or undefined if that was the last one
   * of the slice.
   */
  async #addSlice(
    { id: namespaceId, name }: NamespaceRecord,
    slice: string,
    from: string,
  ): Promise<string | undefined> {
    const ref = { namespaceId, slice };
    let cursor = from;
    let timeSlice: TimeSlice | undefined;
    if (this.#slices++ >= SLICES_MAX) return cursor;
    do {
      const room = this.#size - this.splits.length;
      if (room === 0 || this.#records >= RECORDS_MAX) return cursor;
      const limit = this.#states === undefined ? room : RECORDS_PAGE;
      const page = await this.#list(ref, cursor, limit);
      this.#records += page.records.length;
      if (page.records.length > 0) {
        timeSlice ??= await readSlice(this.#catalog, namespaceId, slice);
      }
      // Records of a namespace that was restored may still have another name.
      const named = page.records.map((record) => ({ ...record, namespace: name }));
      const used = this.#take(named, timeSlice);
      // Reads again only the records that were used, to get the cursor behind them.
      const taken = used === page.records.length ? page : await this.#list(ref, cursor, used);
      for (const entry of taken.skipped) this.#skip(entry);
      this.unreadable += taken.skipped.length;
      ({ cursor } = taken);
    } while (cursor !== "");
    return undefined;
  }

  async #list(slice: SliceRef, cursor: string, limit: number) {
    const skipped: UnreadableEntry[] = [];
    const skip = (entry: UnreadableEntry): void => void skipped.push(entry);
    const page = await listSplitsPage(this.#catalog, slice, cursor, limit, skip);
    return { ...page, skipped };
  }

  /** Takes the matching records while there is room. Returns how many records it has examined. */
  #take(records: readonly SplitRecord[], slice: TimeSlice | undefined): number {
    let examined = 0;
    for (const record of records) {
      if (this.splits.length === this.#size) break;
      examined++;
      if (this.#states?.has(record.state) === false) continue;
      const bucket = slice && timeBucketRange(slice, record.partition.timeBucket);
      this.splits.push({ record, parts: [], bucket });
    }
    return examined;
  }
}

/** Sorts behind every slice: a page that ends between two namespaces begins here. */
const LAST_SLICE = "data_9";

/** Slice names are plain ASCII, so this is the order of their bytes, which is the order of time. */
function byText(a: string, b: string): number {
  return a < b ? -1 : 1;
}

/** Names of namespaces and slices contain no bar; the cursor follows the second bar. */
function tokenOf({ namespace, slice, cursor }: Place): string {
  return Buffer.from(utf8(`${namespace}|${slice}|${cursor}`)).toString("base64url");
}

function readToken(token: string, namespace: string): Place {
  if (token === "") return { namespace: "", slice: "", cursor: "" };
  try {
    const text = fromUtf8(Buffer.from(token, "base64url"));
    const [, name = "", slice = "", cursor = ""] = TOKEN_FORM.exec(text) ?? [];
    const place = { namespace: name, slice, cursor };
    const fits = name !== "" && (namespace === "" || namespace === name);
    if (fits && tokenOf(place) === token) return place;
  } catch {
    // Not UTF-8, so Braid did not issue this token; handled as below.
  }
  throw new ServiceError(
    "PAGE_TOKEN_INVALID",
    "pageToken is not one this server gave out for this list; begin again without it",
  );
}

const TOKEN_FORM = /^([a-z][a-z0-9_]*)\|(data_[0-9_]+)\|(.*)$/s;
