/** Where a partition's events are read from. Splits will give other answers; originals are all there is without them. */
import type { PartitionKey } from "../model/partition.ts";

export type RouteName =
  | "ORIGINAL_FILTER_MISS"
  | "ORIGINAL_NOT_SPLIT"
  | "ORIGINAL_FALLBACK"
  | "SPLIT"
  | "SPLIT_AND_ORIGINAL";

export interface PartitionRoute {
  readonly route: RouteName;
  /** The reason, for people. */
  readonly why: string;
}

/** Asked once per partition and read, before anything is read: it must cost next to nothing. */
export type PartitionRouter = (partition: PartitionKey) => PartitionRoute;

const ORIGINAL: PartitionRoute = {
  route: "ORIGINAL_NOT_SPLIT",
  why: "no partition of this slice is split",
};

export const routeToOriginals: PartitionRouter = () => ORIGINAL;
