/** What the source of one partition asks of whoever serves: where to read what, and whether it still may. */
import type { Clock } from "../../lib/clock.ts";
import type { Random } from "../../lib/random.ts";
import type { NamespaceView, ViewSource } from "../../model/namespace.ts";
import { partitionText } from "../../model/partition.ts";
import type { PartitionKey } from "../../model/partition.ts";
import { servesKind } from "../../model/split-kind.ts";
import type { RouteRecord, RouteSegment } from "../../model/split.ts";
import type { PartitionRoute } from "../../partition/partition-source.ts";
import type { EventStore, ScanRange } from "../../ports/event-store.ts";
import type { Comparison } from "./comparison.ts";
import type { FallbackReason, ServeObserver } from "./observer.ts";
import { planRoute } from "./plan-route.ts";
import type { RoutePlan, TrustState } from "./plan-route.ts";
import type { RouteCache } from "./route-cache.ts";
import type { ReadRange, SourceServing } from "./routed-source.ts";

/** What this process knows of the kill switch. */
export interface KnownSwitch {
  /** Also when it is stale. */
  on(): boolean;
  /** Nothing is known that is younger than L. */
  stale(): boolean;
}

export interface ServingParts {
  readonly store: EventStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly views: ViewSource;
  readonly killSwitch: KnownSwitch;
  readonly routes: RouteCache;
  /** What this server has seen of a copy of a partition (`partitionText`). */
  readonly trustOf: (partition: string, segment: RouteSegment) => TrustState;
  readonly observe: ServeObserver;
  readonly compare: (comparison: Comparison) => void;
  /** To be looked into, and not to be served meanwhile. */
  readonly integrityError: (comparison: Comparison) => void;
  /** One read in so many is compared, where not every one is. */
  readonly shadowSample: number;
  readonly serveSample: number;
}

export class ServedPartition implements SourceServing {
  readonly #options: ServingParts;
  readonly #view: NamespaceView;
  readonly #partition: PartitionKey;
  /** The partition as the key of maps: made once, asked with before each fetch. */
  readonly #text: string;
  readonly #range: ScanRange;
  readonly store: EventStore;
  readonly clock: Clock;

  constructor(
    options: ServingParts,
    view: NamespaceView,
    partition: PartitionKey,
    range: ScanRange,
  ) {
    this.#options = options;
    this.#view = view;
    this.#partition = partition;
    this.#text = partitionText(partition);
    this.#range = range;
    this.store = options.store;
    this.clock = options.clock;
  }

  async plan(): Promise<RoutePlan> {
    const { routes, observe } = this.#options;
    let route: RouteRecord | undefined;
    try {
      ({ route } = await routes.get(this.#partition, this.#text));
    } catch (error) {
      const told = unasked(error);
      this.fellBack("route", told.why);
      return { ...this.#planFor(undefined), route: told };
    }
    // An empty route is that of a split that was taken back: the filter has it until it is filled anew.
    if (route === undefined) observe.filterFalsePositive(this.#view.namespace.name);
    const plan = this.#planFor(route);
    if (plan.fallback !== undefined) this.fellBack(plan.fallback, plan.route.why);
    return plan;
  }

  stillServed(segment: RouteSegment): boolean | Promise<boolean> {
    const known = this.#options.routes.current(this.#partition, this.#text);
    return known === undefined ? this.#askedAgain(segment) : this.#allows(known.route, segment);
  }

  parts(segment: RouteSegment): ReturnType<RouteCache["parts"]> {
    return this.#options.routes.parts(this.#partition, segment);
  }

  fellBack(reason: FallbackReason, detail: string): void {
    this.#options.observe.fellBack(this.#view.namespace.name, reason, detail);
  }

  integrityError(read: ReadRange): void {
    this.#options.integrityError(this.#comparison(read));
  }

  compare(read: ReadRange): void {
    this.#options.compare(this.#comparison(read));
  }

  async #askedAgain(segment: RouteSegment): Promise<boolean> {
    const { routes } = this.#options;
    await routes.get(this.#partition, this.#text);
    // An answer that took too long is not acted on.
    const known = routes.current(this.#partition, this.#text);
    return known !== undefined && this.#allows(known.route, segment);
  }

  #allows(route: RouteRecord | undefined, segment: RouteSegment): boolean {
    const { views, killSwitch, trustOf } = this.#options;
    if (route === undefined || killSwitch.on()) return false;
    // The view of a long stream is old: what counts is the one of now.
    const now = views.current(this.#view.namespace.name)?.namespace;
    return (
      now?.id === this.#partition.namespaceId &&
      now.readMode.mode === "SERVE" &&
      servesKind(now.readMode, segment) &&
      now.epoch === route.epoch &&
      trustOf(this.#text, segment) === "PROVEN" &&
      route.segments.some(
        (s) => s.generation === segment.generation && s.from === segment.from && s.confirmed,
      )
    );
  }

  #planFor(route: RouteRecord | undefined): RoutePlan {
    return planFor(this.#options, this.#view, this.#partition, this.#text, route, this.#range);
  }

  #comparison(read: ReadRange): Comparison {
    const { name, readMode } = this.#view.namespace;
    const { round } = readMode;
    return { namespace: name, partition: this.#partition, round, read };
  }
}

/** How a partition with that route is read now. */
export function planFor(
  { views, killSwitch, trustOf, random, shadowSample, serveSample }: ServingParts,
  { namespace }: NamespaceView,
  partition: PartitionKey,
  text: string,
  route: RouteRecord | undefined,
  range: Pick<ScanRange, "from" | "to" | "order" | "after">,
): RoutePlan {
  const oneIn = namespace.readMode.mode === "SERVE" ? serveSample : shadowSample;
  const current = views.current(namespace.name);
  const stale = killSwitch.stale();
  return planRoute({
    // A namespace made again under the same name is another one.
    view: !stale && current?.namespace.id === partition.namespaceId ? current : undefined,
    killed: !stale && killSwitch.on(),
    route,
    range,
    trustOf: (segment) => trustOf(text, segment),
    sampled: random.fraction() * oneIn < 1,
  });
}

/** The route where the catalog could not say. */
export function unasked(error: unknown): PartitionRoute {
  const detail = error instanceof Error ? error.message : String(error);
  return {
    route: "ORIGINAL_FALLBACK",
    why: `the catalog could not be asked for the route: ${detail}`,
    parts: 0,
  };
}
