/**
 * Opens partitions for reading: from their splits where they may be, from the originals where not.
 *
 * Asked for every partition of every read. Where nothing is split that costs next to nothing: a mode, a
 * switch and a filter are looked at, in memory. Any doubt, error or disagreement means the original.
 */
import type { NamespaceView } from "../../model/namespace.ts";
import { partitionText, timeBucketRange } from "../../model/partition.ts";
import type { PartitionKey } from "../../model/partition.ts";
import { PartitionReader } from "../../partition/partition-reader.ts";
import type {
  PartitionOpener,
  PartitionRoute,
  PartitionSource,
} from "../../partition/partition-source.ts";
import type { ScanRange } from "../../ports/event-store.ts";
import type { FilterAnswer } from "./observer.ts";
import { STALE_WHY } from "./plan-route.ts";
import { RoutedSource } from "./routed-source.ts";
import { planFor, ServedPartition, unasked } from "./served-partition.ts";
import type { ServingParts } from "./served-partition.ts";
import type { SliceFilters } from "./slice-filters.ts";

export interface SplitOpenerOptions extends ServingParts {
  readonly filters: SliceFilters;
}

/** Checks of filters whose time is taken: taking it costs more than the check. */
const TIMED_CHECKS = 256;

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
    return new RoutedSource(
      new ServedPartition(this.#options, view, partition, range),
      partition,
      range,
      signal,
    );
  }

  async explain(view: NamespaceView, partition: PartitionKey): Promise<PartitionRoute> {
    const original = this.#originalAtOnce(view, partition);
    if (original !== undefined) return original;
    const slice = view.slices.find(({ name }) => name === partition.slice);
    if (slice === undefined) return notSplit("its slice is not there any more");
    const { start: from, end: to } = timeBucketRange(slice, partition.timeBucket);
    const whole = { from, to, order: "NEWEST_FIRST" as const, after: undefined };
    try {
      const text = partitionText(partition);
      const { route } = await this.#options.routes.get(partition, text);
      return planFor(this.#options, view, partition, text, route, whole).route;
    } catch (error) {
      return unasked(error);
    }
  }

  /** The route, where it is known without asking anybody that the original is read. */
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
