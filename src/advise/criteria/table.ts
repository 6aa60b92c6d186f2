/** The criteria, in the order of the deck: five, and two prices. */
import { findOne } from "./find-one.ts";
import { hotSpots } from "./hot-spots.ts";
import { knownKeys } from "./known-keys.ts";
import { order } from "./order.ts";
import { overShrinking } from "./over-shrinking.ts";
import { sizeLimit } from "./size-limit.ts";
import { tombstones } from "./tombstones.ts";
import type { Criterion } from "./criterion.ts";

export const CRITERION_TABLE: readonly Criterion[] = [
  sizeLimit,
  overShrinking,
  knownKeys,
  hotSpots,
  tombstones,
  order,
  findOne,
];
