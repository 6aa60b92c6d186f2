/**
 * A server that reads through splits, in memory: what it serves, and what it reports on the way.
 */
import { ByteBudget } from "../../src/lib/byte-budget.ts";
import type { Random } from "../../src/lib/random.ts";
import type { NamespaceView } from "../../src/model/namespace.ts";
import type { PartitionKey } from "../../src/model/partition.ts";
import type { ReadMode } from "../../src/model/read-mode.ts";
import { splitTableOf } from "../../src/model/split.ts";
import { PageTokens } from "../../src/read/page-tokens.ts";
import type { PartitionRead } from "../../src/partition/partition-read.ts";
import { EventReader } from "../../src/read/read-events.ts";
import { DEFAULT_READ_LIMITS } from "../../src/read/read-limits.ts";
import type { ReadLimits } from "../../src/read/read-limits.ts";
import type { ServeObserver } from "../../src/splits/serve/observer.ts";
import { SplitServing } from "../../src/server/split-serving.ts";
import type { SplitServingOptions } from "../../src/server/split-serving.ts";
import type { MemoryCatalog } from "../support/memory-catalog.ts";
import type { MemoryStore } from "../support/memory-store.ts";
import { viewSource } from "../support/static-view.ts";
import { settle } from "../support/virtual-clock.ts";
import type { VirtualClock } from "../support/virtual-clock.ts";
import { timeMargins } from "../../src/model/time-margins.ts";

/** `viewMaxAge`, `writeMax` and the clock skew in the tests of serving. */
export const MARGINS = timeMargins({
  viewMaxAgeMs: 10_000,
  writeMaxMs: 10_000,
  clockSkewMs: 1_000,
});

export class ServedReads {
  readonly clock: VirtualClock;
  readonly store: MemoryStore;
  readonly catalog: MemoryCatalog;
  readonly serving: SplitServing;
  readonly reader: EventReader;
  /** What was reported, as `<what> <which>`, and how often. */
  readonly told = new Map<string, number>();
  readonly reads: PartitionRead[] = [];
  readonly fallBacks: string[] = [];
  readonly troubles: string[] = [];
  view: NamespaceView;
  killed = false;
  /** The kill switch could not be read within `viewMaxAge`. */
  switchStale = false;
  /** The random fraction: 0 picks every sample, 0.999 nearly none. */
  fraction = 0.999;
  readonly #leaving = new AbortController();
  readonly #running: Promise<void>;

  constructor(
    view: NamespaceView,
    parts: { store: MemoryStore; catalog: MemoryCatalog; clock: VirtualClock },
    options: { limits?: Partial<ReadLimits>; serving?: Partial<SplitServingOptions> } = {},
  ) {
    this.view = view;
    ({ store: this.store, catalog: this.catalog, clock: this.clock } = parts);
    const views = viewSource(() => this.view);
    const random: Random = {
      bytes: (length) => new Uint8Array(length),
      fraction: () => this.fraction,
    };
    this.serving = new SplitServing({
      ...parts,
      views,
      random,
      killSwitch: {
        on: () => this.killed || this.switchStale,
        stale: () => this.switchStale,
      },
      margins: MARGINS,
      observe: this.#observer(),
      fallBack: (namespace, reason) => void this.fallBacks.push(`${namespace.name}: ${reason}`),
      by: "server-1",
      ...options.serving,
    });
    const budget = new ByteBudget(1 << 26);
    this.reader = new EventReader({
      clock: this.clock,
      views,
      opener: this.serving.opener,
      search: {},
      budget,
      streamBudget: budget,
      tokens: new PageTokens(new Uint8Array(32)),
      limits: { ...DEFAULT_READ_LIMITS, ...options.limits },
      onPartitionRead: (read) => this.reads.push(read),
    });
    this.#running = this.serving.run(this.#leaving.signal);
  }

  count(what: string): number {
    return this.told.get(what) ?? 0;
  }

  setMode(mode: ReadMode): void {
    const { namespace } = this.view;
    const readMode = { ...namespace.readMode, mode };
    this.view = { ...this.view, namespace: { ...namespace, readMode } };
  }

  /** Waits until the filters of these partitions' slices are loaded. */
  async loaded(partitions: readonly PartitionKey[]): Promise<void> {
    for (const partition of partitions) await this.serving.opener.explain(this.view, partition);
    await this.quiet();
  }

  /** Lets background work end. */
  async quiet(): Promise<void> {
    for (let n = 0; n < 8; n++) await settle();
  }

  async makeTables(): Promise<void> {
    for (const { name } of this.view.slices) {
      const slice = { namespaceId: this.view.namespace.id, slice: name };
      await this.store.createSlice(splitTableOf(slice));
      await this.store.createSlice(slice);
    }
  }

  async close(): Promise<void> {
    this.#leaving.abort();
    await this.#running;
  }

  #observer(): ServeObserver {
    const tell = (what: string): void => void this.told.set(what, this.count(what) + 1);
    return {
      filterChecked: (_, result) => tell(`filter ${result}`),
      filterCheckTook: () => undefined,
      filterFalsePositive: () => tell("filter false positive"),
      routeCache: (result) => tell(`cache ${result}`),
      routeFetchTook: () => undefined,
      fellBack: (_, reason) => tell(`fallback ${reason}`),
      compared: (_, __, result) => tell(`compared ${result}`),
      differenceChecked: (_, verdict) => tell(`difference ${verdict}`),
      trouble: (what) => void this.troubles.push(what),
    };
  }
}
