/**
 * Opens partitions for reading: from their splits if those may be served, otherwise from the
 * originals.
 *
 * Every read calls it for each of its partitions. If nothing is split, that costs very little: it
 * checks a mode, a switch and a filter in memory. Any error or disagreement means the original.
 */
import type { NamespaceView } from "../../model/namespace.ts";
import { partitionText, timeBucketRange } from "../../model/partition.ts";
import type { PartitionKey } from "../../model/partition.ts";
import type { SplitRecord } from "../../model/split.ts";
import { PartitionReader } from "../../partition/partition-reader.ts";
import type {
  PartitionOpener,
  PartitionRoute,
  PartitionSource,
} from "../../partition/partition-source.ts";
import type { ScanRange } from "../../ports/event-store.ts";
import { formatTime } from "../../wire/time-text.ts";
import type { FilterAnswer } from "./observer.ts";
import { STALE_WHY } from "./may-serve.ts";
import { RoutedSource, unasked } from "./routed-source.ts";
import { planNow } from "./serve-context.ts";
import type { ServeContext } from "./serve-context.ts";
import type { SliceFilters } from "./slice-filters.ts";

export interface SplitOpenerOptions extends ServeContext {
  readonly filters: SliceFilters;
  /** The stored record of a partition's split. */
  readonly splitOf: (partition: PartitionKey) => Promise<SplitRecord | undefined>;
}

/** One filter check in this many is timed: reading the clock costs more than the check. */
const TIMED_CHECKS = 256;

/** For reads, which do not check whether the partition is split: `explain` does. */
const READ_MODE_OFF = notSplit("the read mode is OFF");
const KILLED = notSplit("the kill switch is on");
const STALE: PartitionRoute = { route: "ORIGINAL_FALLBACK", why: STALE_WHY, parts: 0 };
const FILTERED: Readonly<Record<Exclude<FilterAnswer, "HIT">, PartitionRoute>> = {
  NONE: filterMiss("no partition of this slice is split"),
  MISS: filterMiss("the filter of this slice does not have it"),
  NOT_LOADED: filterMiss("the filter of this slice is not loaded yet"),
};

export class SplitOpener implements PartitionOpener {
  readonly #options: SplitOpenerOptions;
  #checks = 0;

  constructor(options: SplitOpenerOptions) {
    this.#options = options;
  }

  open(
    view: NamespaceView,
    partition: PartitionKey,
    range: ScanRange,
    signal: AbortSignal,
  ): PartitionSource {
    const { store, clock } = this.#options;
    const original = this.#originalAtOnce(view, partition);
    if (original === STALE) {
      this.#options.observe.fellBack(view.namespace.name, "stale", STALE_WHY);
    }
    if (original !== undefined) {
      return new PartitionReader(store, clock, partition, range, signal, original);
    }
    return new RoutedSource(this.#options, view, partition, range, signal);
  }

  /** Asks the catalog where a read would not, so that it can also say why a split is held back. */
  async explain(view: NamespaceView, partition: PartitionKey): Promise<PartitionRoute> {
    const slice = view.slices.find(({ name }) => name === partition.slice);
    if (slice === undefined) return notSplit("its slice is not there any more");
    const answer = this.#check(view.namespace.name, partition);
    try {
      if (answer === "NONE" || answer === "MISS") {
        return (await this.#rolledBack(partition)) ?? FILTERED[answer];
      }
      const served = { namespace: view.namespace.name, partition, text: partitionText(partition) };
      const { route } = await this.#options.routes.get(partition, served.text);
      const { start: from, end: to } = timeBucketRange(slice, partition.timeBucket);
      const whole = { from, to, order: "NEWEST_FIRST" as const, after: undefined };
      const planned = planNow(this.#options, served, route, whole).route;
      if (route?.segments.length === 0) return (await this.#rolledBack(partition)) ?? planned;
      return answer === "HIT" || planned.route === "ORIGINAL_HELD" ? planned : FILTERED[answer];
    } catch (error) {
      return answer === "HIT" ? unasked(error) : FILTERED[answer];
    }
  }

  /**
   * The route of a split that is held until an operator retries it. Its stored route is empty, and
   * filters drop it.
   */
  async #rolledBack(partition: PartitionKey): Promise<PartitionRoute | undefined> {
    const record = await this.#options.splitOf(partition);
    if (record?.state !== "INVALIDATED" || record.heldBy === null) return undefined;
    const { at, reason } = record.history.at(-1) ?? { at: 0, reason: "" };
    const why = `the split is held by ${record.heldBy} since ${formatTime(at)}: ${reason}`;
    return { route: "ORIGINAL_HELD", why, parts: 0 };
  }

  /** The route, if it is known without a lookup that the original is read. */
  #originalAtOnce(view: NamespaceView, partition: PartitionKey): PartitionRoute | undefined {
    if (view.namespace.readMode.mode === "OFF") return READ_MODE_OFF;
    const { killSwitch } = this.#options;
    const killed = killSwitch.on();
    if (killed && !killSwitch.stale()) return KILLED;
    const answer = this.#check(view.namespace.name, partition);
    if (answer !== "HIT") return FILTERED[answer];
    return killed ? STALE : undefined;
  }

  #check(namespace: string, partition: PartitionKey): FilterAnswer {
    const { filters, clock, observe } = this.#options;
    let answer: FilterAnswer;
    if (this.#checks++ % TIMED_CHECKS === 0) {
      const startedMs = clock.monotonicMs();
      answer = filters.check(partition);
      observe.filterCheckTook(namespace, (clock.monotonicMs() - startedMs) / 1_000);
    } else answer = filters.check(partition);
    observe.filterChecked(namespace, answer);
    return answer;
  }
}

function notSplit(why: string): PartitionRoute {
  return { route: "ORIGINAL_NOT_SPLIT", why, parts: 0 };
}

function filterMiss(why: string): PartitionRoute {
  return { route: "ORIGINAL_FILTER_MISS", why, parts: 0 };
}
