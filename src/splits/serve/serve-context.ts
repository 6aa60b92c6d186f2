/**
 * What a process needs to serve from splits, and how it plans a partition's read. One per process.
 */
import type { Clock } from "../../lib/clock.ts";
import type { Random } from "../../lib/random.ts";
import type { ViewSource } from "../../model/namespace.ts";
import type { PartitionKey } from "../../model/partition.ts";
import type { RouteRecord, RouteSegment } from "../../model/split.ts";
import type { EventStore, ScanRange } from "../../ports/event-store.ts";
import type { Comparison } from "./comparison.ts";
import type { ServeFacts, TrustState } from "./may-serve.ts";
import type { ServeObserver } from "./observer.ts";
import { planRoute } from "./plan-route.ts";
import type { RoutePlan } from "./plan-route.ts";
import type { RouteCache } from "./route-cache.ts";

/** This process's copy of the kill switch. */
export interface KnownSwitch {
  /** Also true when the copy is stale. */
  on(): boolean;
  /** Whether there is no answer younger than `viewMaxAge`. */
  stale(): boolean;
}

export interface ServeContext {
  readonly store: EventStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly views: ViewSource;
  readonly killSwitch: KnownSwitch;
  readonly routes: RouteCache;
  /** What this server has seen of a copy of a partition (`partitionText`). */
  readonly trustOf: (partition: string, segment: RouteSegment) => TrustState;
  readonly observe: ServeObserver;
  /** The filter answered "perhaps", and the partition has no route. */
  readonly falsePositive: (partition: PartitionKey) => void;
  readonly compare: (comparison: Comparison) => void;
  /** Starts a recheck of the split, which is not served meanwhile. */
  readonly integrityError: (comparison: Comparison) => void;
  /** One read in this many is compared when not every read is. */
  readonly shadowSample: number;
  readonly serveSample: number;
}

/**
 * One partition: its namespace's name, its key, and the key as text (`partitionText`), made once.
 */
export interface ServedPartition {
  readonly namespace: string;
  readonly partition: PartitionKey;
  readonly text: string;
}

/** The present facts: a long stream's own view is old. */
export function factsNow(
  { views, killSwitch }: ServeContext,
  { namespace: name, partition }: ServedPartition,
  route: RouteRecord | undefined,
): ServeFacts {
  const stale = killSwitch.stale();
  const namespace = stale ? undefined : views.current(name)?.namespace;
  return {
    // A recreated namespace of the same name is a different namespace.
    namespace: namespace?.id === partition.namespaceId ? namespace : undefined,
    killed: !stale && killSwitch.on(),
    route,
  };
}

/** Plans how a partition with that route is read now. */
export function planNow(
  context: ServeContext,
  served: ServedPartition,
  route: RouteRecord | undefined,
  range: Pick<ScanRange, "from" | "to" | "order" | "after">,
): RoutePlan {
  const { trustOf, random, shadowSample, serveSample } = context;
  const facts = factsNow(context, served, route);
  const oneIn = facts.namespace?.readMode.mode === "SERVE" ? serveSample : shadowSample;
  return planRoute({
    ...facts,
    range,
    trustOf: (segment) => trustOf(served.text, segment),
    sampled: random.fraction() * oneIn < 1,
  });
}
