/** Composes the serving from splits: the opener that reads use, and the tasks behind it. */
import type { Clock } from "../lib/clock.ts";
import type { Random } from "../lib/random.ts";
import type { TimeMargins } from "../model/time-margins.ts";
import { namespaceNameOf } from "../model/namespace.ts";
import type { ViewSource } from "../model/namespace.ts";
import type { PartitionKey } from "../model/partition.ts";
import type { Catalog } from "../ports/catalog.ts";
import type { EventStore } from "../ports/event-store.ts";
import { readSplit } from "../records/split-records.ts";
import { ComparisonReaders } from "../splits/compare/comparison-readers.ts";
import { Comparer } from "../splits/compare/comparer.ts";
import { Differences } from "../splits/compare/differences.ts";
import type { DifferencesOptions } from "../splits/compare/differences.ts";
import { EvidenceFlusher } from "../splits/compare/evidence-flusher.ts";
import { comparisonOf } from "../splits/compare/comparison-of.ts";
import type { ReportedDifference } from "../model/reported-difference.ts";
import type { ServeObserver } from "../splits/serve/observer.ts";
import { RouteCache } from "../splits/serve/route-cache.ts";
import type { KnownSwitch } from "../splits/serve/serve-context.ts";
import { SliceFilters } from "../splits/serve/slice-filters.ts";
import type { FilterFigures, FilterSize } from "../splits/serve/slice-filters.ts";
import { SplitOpener } from "../splits/serve/split-opener.ts";
import { TrustStates } from "../splits/compare/trust-states.ts";

export interface SplitServingOptions {
  readonly catalog: Catalog;
  readonly store: EventStore;
  readonly views: ViewSource;
  readonly clock: Clock;
  readonly random: Random;
  readonly killSwitch: KnownSwitch;
  readonly margins: Pick<TimeMargins, "viewMaxAge" | "clockSkew">;
  readonly observe: ServeObserver;
  /** The splits of a namespace cannot be trusted: its read mode falls back. */
  readonly fallBack: DifferencesOptions["fallBack"];
  /** The name of this process, for the history of splits. */
  readonly by: string;
  /** In modes that compare a sample, one read in this many is compared. */
  readonly shadowSample?: number;
  readonly serveSample?: number;
  /** Memory for routes and lists of parts. */
  readonly routeBytesMax?: number;
}

const SHADOW_SAMPLE = 10;
const SERVE_SAMPLE = 1_000;
const ROUTE_BYTES_MAX = 32 * 1024 * 1024;

export class SplitServing {
  readonly opener: SplitOpener;
  readonly #filters: SliceFilters;
  readonly #routes: RouteCache;
  readonly #comparer: Comparer;
  readonly #differences: Differences;
  readonly #evidence: EvidenceFlusher;

  constructor(options: SplitServingOptions) {
    const { catalog, store, views, clock, random, killSwitch, observe, by, fallBack } = options;
    const { margins } = options;
    const trouble = observe.trouble.bind(observe);
    this.#routes = new RouteCache({
      catalog,
      clock,
      viewMaxAgeMs: margins.viewMaxAge.ms,
      bytesMax: options.routeBytesMax ?? ROUTE_BYTES_MAX,
      observe: ({ namespaceId }, result) =>
        observe.routeCache(namespaceNameOf(namespaceId), result),
      fetchTook: ({ namespaceId }, seconds) =>
        observe.routeFetchTook(namespaceNameOf(namespaceId), seconds),
      trouble,
    });
    this.#filters = new SliceFilters({
      catalog,
      clock,
      margins,
      onChange: (partition) => this.#routes.forget(partition),
      trouble,
    });
    const trustStates = new TrustStates({ seed: Math.floor(random.fraction() * 2 ** 32) });
    const readers = new ComparisonReaders(store, clock, (partition, segment) =>
      this.#routes.parts(partition, segment),
    );
    this.#evidence = new EvidenceFlusher({ catalog, clock, by, trouble });
    this.#differences = new Differences({
      catalog,
      clock,
      by,
      readers,
      trustStates,
      observe,
      fallBack,
      differed: (comparison) => this.#evidence.differed(comparison),
      changed: (partition) => this.changed(partition),
    });
    this.#comparer = new Comparer({
      readers,
      trustStates,
      observe,
      matched: (comparison) => this.#evidence.matched(comparison),
      differed: (comparison) => this.#differences.submit(comparison),
    });
    this.opener = new SplitOpener({
      store,
      clock,
      random,
      views,
      killSwitch,
      filters: this.#filters,
      falsePositive: (partition) => this.#filters.falsePositive(partition),
      splitOf: (partition) => readSplit(catalog, partition),
      routes: this.#routes,
      trustOf: (partition, segment) => trustStates.of(partition, segment),
      observe,
      compare: (comparison) => this.#comparer.submit(comparison),
      integrityError: (comparison) => this.#differences.submit(comparison),
      shadowSample: options.shadowSample ?? SHADOW_SAMPLE,
      serveSample: options.serveSample ?? SERVE_SAMPLE,
    });
  }

  /** This process changed a split: it sees the change at once, others within `viewMaxAge`. */
  changed(partition: PartitionKey): void {
    this.#filters.add(partition);
    this.#routes.forget(partition);
  }

  /** Refreshes filters and routes and stores evidence, until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const following = Promise.all([this.#filters.run(signal), this.#routes.run(signal)]);
    await Promise.all([following, this.#evidence.run(signal)]);
    await Promise.all([this.#comparer.close(), this.#differences.close()]);
    await this.#evidence.flush();
  }

  /**
   * A split is not its original, by an offline comparison: it is not served here until a recheck.
   * See `Differences.settle`.
   */
  recheck(reported: ReportedDifference, signal: AbortSignal): Promise<boolean> {
    return this.#differences.settle(comparisonOf(reported), signal);
  }

  filterSizes(): Iterable<FilterSize> {
    return this.#filters.sizes();
  }

  /** Of every slice whose filter is loaded. */
  filterFigures(): Iterable<FilterFigures> {
    return this.#filters.figures();
  }

  /** How long ago the filter that lags most was brought up to date; undefined without filters. */
  oldestFilterMs(): number | undefined {
    return this.#filters.oldestMs();
  }

  /** Memory of the cached routes and lists of parts. */
  get routeBytes(): number {
    return this.#routes.bytes;
  }
}
