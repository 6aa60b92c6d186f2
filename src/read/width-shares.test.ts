import { deepEqual } from "node:assert/strict";
import { test } from "node:test";
import type { RouteName } from "../partition/partition-source.ts";
import { widthShares } from "./width-shares.ts";
import type { SharedSource } from "./width-shares.ts";

const NONE = { bytes: 0, events: 0 };

/** Ten bytes for each event. */
function source(original: number, covered = 0, route: RouteName = "ORIGINAL_NOT_SPLIT") {
  const told: SharedSource = {
    route: { route, why: "", parts: 0 },
    bytes: 10 * (original + covered),
    originalBytes: 10 * original,
    originalEvents: original,
  };
  return told;
}

function eventsOf(sources: readonly SharedSource[], before: number, examined: number): number[] {
  const width = (events: number) => ({ bytes: 10 * events, events });
  const shares = widthShares(sources, width(before), width(examined));
  for (const { bytes, events } of shares) deepEqual(bytes, 10 * events);
  return shares.map(({ events }) => events);
}

test("width is shared in proportion to the originals read, and a split has no share", () => {
  deepEqual(eventsOf([source(12), source(0, 12), source(0, 12, "SPLIT")], 0, 12), [12, 0, 0]);
  deepEqual(eventsOf([source(30), source(10)], 0, 40), [30, 10]);
  // A page had no room for everything that the sources returned.
  deepEqual(eventsOf([source(30), source(10)], 0, 20), [15, 5]);
  deepEqual(widthShares([source(0)], NONE, NONE), [NONE]);
});

test("earlier pages are shared evenly, without the split event buckets", () => {
  deepEqual(eventsOf([source(12), source(0, 12)], 100, 12), [112, 0]);
  deepEqual(eventsOf([source(2), source(2)], 100, 4), [52, 52]);
  // The last few events of a bucket may be distributed by chance: they say nothing about earlier
  // pages.
  deepEqual(eventsOf([source(3), source(1), source(0), source(0)], 1_000, 4), [253, 251, 250, 250]);
  deepEqual(eventsOf([source(0), source(0, 0, "SPLIT")], 100, 0), [100, 0]);
  deepEqual(eventsOf([source(0, 5), source(0, 0, "SPLIT")], 100, 0), [0, 0]);
});
