/** HASH: events are spread over parts by the hash of their id. */
import { hash32 } from "../../lib/hash.ts";
import type { SpreadStrategy } from "./strategy.ts";

/**
 * Different from the seed of event buckets, which would put all events of one of them into few
 * parts. Stored data depends on it: it never changes.
 */
const SEED = 1;

export const hash: SpreadStrategy = {
  name: "HASH",
  ordered: false,
  onePass: false,
  // Every read merges all parts: beyond this number the merge costs more than the width did.
  partsMax: 64,
  whatFor: "parts of equal load, where the newest events are read far more than the others",
  whatItCosts: "a second pass to learn the size first, and every read merges all parts",
  partOf: (parts, eventId) => (parts <= 1 ? 0 : hash32(eventId, SEED) % parts),
};
