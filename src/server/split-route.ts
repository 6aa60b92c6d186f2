/** How a server reads a partition that has a split, for lists: as if it had compared the split. */
import type { Namespace } from "../model/namespace.ts";
import { timeBucketRange } from "../model/partition.ts";
import { routeOf } from "../model/split.ts";
import type { SplitRecord } from "../model/split.ts";
import type { TimeSlice } from "../model/time-slice.ts";
import type { RouteName } from "../partition/partition-source.ts";
import { heldRoute, heldWhole, mayServe } from "../splits/serve/may-serve.ts";
import type { ServeFacts } from "../splits/serve/may-serve.ts";

export function splitRouteOf(
  namespace: Namespace,
  slice: TimeSlice,
  split: SplitRecord,
  killed: boolean,
): RouteName {
  const route = { partition: split.partition, ...routeOf(split) };
  const facts: ServeFacts = { namespace, killed, route };
  const held = heldWhole(facts);
  if (held !== undefined) return heldRoute(held, facts).route;
  const causes = route.segments.map((segment) => mayServe(facts, segment, "PROVEN"));
  const first = causes[0];
  if (first !== undefined && first !== "YES") return heldRoute(first, facts).route;
  const { end } = timeBucketRange(slice, split.partition.timeBucket);
  const whole = causes.every((cause) => cause === "YES") && route.segments.at(-1)?.to === end;
  return whole ? "SPLIT" : "SPLIT_AND_ORIGINAL";
}
