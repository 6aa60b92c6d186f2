/**
 * A server's views of the namespaces it serves: every request reads one first.
 *
 * A server acts on a view only while it is younger than view_max_age, counted on the monotonic
 * clock from the moment the server asked for it. `current` costs a lookup. In the background the
 * server refreshes the views in use every third of view_max_age, so that requests seldom wait. If it
 * has many, it asks for the versions of all namespaces at once and loads only those that have
 * changed. If the catalog fails, views stay in use until they are as old as view_max_age; after that
 * there are none. The server does not cache names that do not exist.
 */
import { LRUCache } from "lru-cache";
import type { Clock } from "../lib/clock.ts";
import { ServiceError } from "../lib/errors.ts";
import { forEachBounded } from "../lib/for-each-bounded.ts";
import type { BlockedId, NamespaceView, ViewSource } from "../model/namespace.ts";
import type { IdStrategyStep } from "../model/read-mode.ts";
import type { TimeSlice } from "../model/time-slice.ts";
import type { Catalog, CatalogVersion } from "../ports/catalog.ts";
import { readBlocked } from "../records/blocked-records.ts";
import { readIdStrategies } from "../records/id-strategies.ts";
import { listNamespaceVersions, readReadyNamespace } from "../records/namespace-records.ts";
import type { NamespaceRecord } from "../records/namespace-records.ts";
import { readSlices } from "../records/slice-records.ts";

export interface NamespaceViewsOptions {
  readonly catalog: Catalog;
  readonly clock: Clock;
  /** view_max_age: the server does not act on a view as old as this. Default 10 s. */
  readonly viewMaxAgeMs?: number;
  /**
   * Blocks from the configuration file, by namespace. They exist beside those of the API and
   * override them.
   */
  readonly configuredBlocks?: ReadonlyMap<string, readonly BlockedId[]>;
  /**
   * How many views are held at most; beyond it the server evicts the view it loaded longest ago.
   */
  readonly viewsMax?: number;
  /** A view that no request has used for this long is evicted. */
  readonly idleMs?: number;
  /** Called when a refresh in the background fails; the view stays in use until it is too old. */
  readonly onRefreshFailed?: (name: string, error: unknown) => void;
}

const REFRESHES_AT_ONCE = 8;
/** With more views than this, one listing of versions costs less than a read of each. */
const READ_EACH_MAX = 16;
const ASKED_MAX = 2;

interface Entry {
  /** Replaced by one with a later `askedAtMs` when the catalog says that nothing has changed. */
  view: NamespaceView;
  readonly record: NamespaceRecord;
  usedAtMs: number;
}

export class NamespaceViews implements ViewSource {
  readonly #catalog: Catalog;
  readonly #clock: Clock;
  readonly #maxAgeMs: number;
  readonly #configuredBlocks: ReadonlyMap<string, readonly BlockedId[]>;
  readonly #idleMs: number;
  readonly #onRefreshFailed: (name: string, error: unknown) => void;
  /**
   * By name, in the order of loading. The view loaded longest ago is evicted first: loading counts
   * as use, because the server reloads views in use.
   */
  readonly #entries: LRUCache<string, Entry>;
  readonly #loading = new Map<string, Promise<NamespaceView>>();

  constructor(options: NamespaceViewsOptions) {
    this.#catalog = options.catalog;
    this.#clock = options.clock;
    this.#maxAgeMs = options.viewMaxAgeMs ?? 10_000;
    this.#configuredBlocks = options.configuredBlocks ?? new Map();
    this.#entries = new LRUCache({ max: options.viewsMax ?? 20_000 });
    this.#idleMs = options.idleMs ?? 300_000;
    this.#onRefreshFailed = options.onRefreshFailed ?? (() => undefined);
  }

  current(name: string): NamespaceView | undefined {
    const entry = this.#entries.peek(name);
    if (entry === undefined) return undefined;
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - entry.view.askedAtMs >= this.#maxAgeMs) return undefined;
    entry.usedAtMs = nowMs;
    return entry.view;
  }

  async get(name: string): Promise<NamespaceView> {
    const current = this.current(name);
    if (current !== undefined) return current;
    for (let attempt = 0; attempt < ASKED_MAX; attempt++) {
      let view: NamespaceView;
      try {
        view = await this.#load(name);
      } catch (error) {
        throw asUnavailable(name, error);
      }
      const nowMs = this.#clock.monotonicMs();
      const entry = this.#entries.peek(name);
      if (entry !== undefined) entry.usedAtMs = nowMs;
      // The answer may have taken longer than viewMaxAge; and a caller that joins a request made
      // before this process slept makes one request itself.
      if (nowMs - view.askedAtMs < this.#maxAgeMs) return view;
    }
    throw new ServiceError(
      "STORAGE_UNAVAILABLE",
      `the catalog took longer than ${this.#maxAgeMs} ms to answer; try again`,
      { details: { namespace: name }, retryAfterMs: 1_000 },
    );
  }

  /**
   * After a change in this process: when it resolves, this process returns no view from before the
   * change. Never rejects: if the catalog does not answer, the view is evicted.
   */
  async refresh(name: string): Promise<void> {
    const before = this.#loading.get(name);
    // A request under way may have started before the change, so it does not count.
    if (before !== undefined) await before.catch(() => undefined);
    try {
      await this.#load(name);
    } catch {
      // The next request reads the catalog, and its error says why there is no view.
      this.#entries.delete(name);
    }
  }

  /** The first of the namespaces in use whose splits are paused. */
  pausedNames(max: number): readonly string[] {
    const names: string[] = [];
    for (const [name, { record }] of this.#entries) {
      if (names.length === max) break;
      if (record.splitsPaused !== null) names.push(name);
    }
    return names;
  }

  /** How many views are held, and how long ago the oldest was asked for. */
  ages(): { readonly count: number; readonly oldestMs: number } {
    const nowMs = this.#clock.monotonicMs();
    let oldestMs = 0;
    for (const { view } of this.#entries.values()) {
      oldestMs = Math.max(oldestMs, nowMs - view.askedAtMs);
    }
    return { count: this.#entries.size, oldestMs };
  }

  /** Keeps the views in use young, until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#clock.sleep(this.#maxAgeMs / 3, signal);
      if (!signal.aborted) await this.#refreshUsed(signal);
    }
  }

  async #refreshUsed(signal: AbortSignal): Promise<void> {
    const nowMs = this.#clock.monotonicMs();
    const used: string[] = [];
    // Those loaded longest ago first: they are the first to become too old.
    for (const name of this.#entries.rkeys()) {
      const entry = this.#entries.peek(name);
      if (entry === undefined || nowMs - entry.usedAtMs >= this.#idleMs) this.#entries.delete(name);
      else used.push(name);
    }
    const refreshOne = async (name: string): Promise<void> => {
      if (signal.aborted) return;
      try {
        await this.#load(name);
      } catch (error) {
        if (!isNotFound(error)) this.#onRefreshFailed(name, error);
      }
    };
    const changed = used.length <= READ_EACH_MAX ? used : await this.#changedOf(used, signal);
    await forEachBounded(changed, refreshOne, REFRESHES_AT_ONCE);
  }

  /** Those of the names whose view the catalog does not confirm. Never rejects. */
  async #changedOf(names: readonly string[], signal: AbortSignal): Promise<readonly string[]> {
    const changed = new Set(names);
    try {
      for (let after: string | undefined = ""; after !== undefined && !signal.aborted;) {
        const askedAtMs = this.#clock.monotonicMs();
        const page = await listNamespaceVersions(this.#catalog, after);
        for (const listed of page.versions) {
          if (this.#confirm(listed, askedAtMs)) changed.delete(listed.key);
        }
        after = page.after;
      }
    } catch {
      // The others are read one by one, which reports why the catalog cannot be asked.
    }
    return names.filter((name) => changed.has(name));
  }

  /** Whether the view is still right as of then. A change under way is read again each time. */
  #confirm({ key: name, version }: CatalogVersion, askedAtMs: number): boolean {
    const entry = this.#entries.peek(name);
    if (entry?.record.version !== version || isChanging(entry.record)) return false;
    // A load that began later may have ended meanwhile.
    if (entry.view.askedAtMs < askedAtMs) {
      entry.view = { ...entry.view, askedAtMs };
      this.#entries.set(name, entry);
    }
    return true;
  }

  /**
   * One request to the catalog at a time for each namespace; concurrent callers wait for that one.
   */
  #load(name: string): Promise<NamespaceView> {
    const loading = this.#loading.get(name);
    if (loading !== undefined) return loading;
    const load = this.#ask(name).finally(() => this.#loading.delete(name));
    this.#loading.set(name, load);
    return load;
  }

  async #ask(name: string): Promise<NamespaceView> {
    const askedAtMs = this.#clock.monotonicMs();
    let record: NamespaceRecord;
    try {
      record = await readReadyNamespace(this.#catalog, name);
    } catch (error) {
      if (isNotFound(error)) this.#entries.delete(name);
      throw error;
    }
    const known = this.#entries.peek(name);
    const same = known !== undefined && known.record.id === record.id ? known : undefined;
    const slices =
      same !== undefined && record.changing === null && same.record.changing === null
        ? sameCount(same.record.slicesChange, record.slicesChange, same.view.slices)
        : undefined;
    const blocked =
      same !== undefined && record.blockedChanging.length === 0
        ? sameCount(same.record.blockedChange, record.blockedChange, same.view.blocked)
        : undefined;
    const idStrategies =
      same !== undefined && record.idStrategyChanging.length === 0
        ? sameCount(same.record.idStrategyChange, record.idStrategyChange, same.view.idStrategies)
        : undefined;
    const view: NamespaceView = {
      namespace: record,
      slices: slices ?? (await this.#openSlices(record)),
      blocked: blocked ?? (await this.#allBlocked(record)),
      idStrategies: idStrategies ?? (await this.#allIdStrategies(record)),
      askedAtMs,
    };
    this.#entries.set(name, { view, record, usedAtMs: known?.usedAtMs ?? askedAtMs });
    return view;
  }

  async #openSlices(record: NamespaceRecord): Promise<readonly TimeSlice[]> {
    const slices = await readSlices(this.#catalog, record.id);
    return slices.filter((slice) => slice.state === "OPEN");
  }

  async #allBlocked(record: NamespaceRecord): Promise<ReadonlyMap<string, BlockedId>> {
    const blocked = new Map<string, BlockedId>();
    if (record.blockedChange > 0) {
      for await (const block of readBlocked(this.#catalog, record.id)) {
        blocked.set(block.seriesId, block);
      }
    }
    for (const block of this.#configuredBlocks.get(record.name) ?? []) {
      blocked.set(block.seriesId, block);
    }
    return blocked;
  }

  async #allIdStrategies(
    record: NamespaceRecord,
  ): Promise<ReadonlyMap<string, readonly IdStrategyStep[]>> {
    const strategies = new Map<string, readonly IdStrategyStep[]>();
    if (record.idStrategyChange === 0) return strategies;
    for await (const { seriesId, steps } of readIdStrategies(this.#catalog, record.id)) {
      if (steps.length > 0) strategies.set(seriesId, steps);
    }
    return strategies;
  }
}

function isChanging({ changing, blockedChanging, idStrategyChanging }: NamespaceRecord): boolean {
  return changing !== null || blockedChanging.length > 0 || idStrategyChanging.length > 0;
}

function sameCount<T>(before: number, now: number, value: T): T | undefined {
  return before === now ? value : undefined;
}

function isNotFound(error: unknown): boolean {
  return error instanceof ServiceError && error.code === "NAMESPACE_NOT_FOUND";
}

function asUnavailable(name: string, error: unknown): unknown {
  if (error instanceof ServiceError) return error;
  return new ServiceError(
    "STORAGE_UNAVAILABLE",
    `the catalog cannot be asked for namespace "${name}"; try again`,
    { details: { namespace: name }, cause: error, retryAfterMs: 1_000 },
  );
}
