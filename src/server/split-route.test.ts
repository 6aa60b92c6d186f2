import { equal } from "node:assert/strict";
import { test } from "node:test";
import type { EpochStarts } from "../model/epochs.ts";
import type { Namespace } from "../model/namespace.ts";
import type { Segment, SplitRecord } from "../model/split.ts";
import { newSplit } from "../model/split-moves.ts";
import type { TimeSlice } from "../model/time-slice.ts";
import { splitRouteOf } from "./split-route.ts";

const HOUR = 3_600_000_000;
const SLICE: TimeSlice = {
  name: "data_20260328",
  start: 0,
  end: 24 * HOUR,
  timePartition: { secondsPerTimeSlice: 86_400, secondsPerTimeBucket: 3_600, eventBuckets: 1 },
  state: "OPEN",
};
const SEGMENT: Segment = {
  from: 2 * HOUR,
  to: 3 * HOUR,
  epoch: 0,
  state: "COMPLETED",
  generation: 0,
  layout: "PACKED",
  strategy: "EVENT_BUCKETS",
  why: "wide",
  partBytes: 1,
  partsPlanned: 0,
  partRanges: [],
  copiedTo: 2 * HOUR,
  bytes: 1,
  events: 1,
  checksum: "",
  confirmedAt: 1,
};

function splitOf(segments: readonly Segment[]): SplitRecord {
  const partition = {
    namespaceId: "plays-1",
    slice: SLICE.name,
    seriesId: "a",
    timeBucket: 2,
    eventBucket: 0,
  };
  const split = { partition, namespace: "plays", epoch: 0, bytes: 1, events: 1, detectedAt: 0 };
  const move = { at: 0, by: "test", cause: "detection", reason: "seen" } as const;
  return { ...newSplit({ ...split, immutable: true }, move), segments };
}

function routeIn(
  mode: Namespace["readMode"]["mode"],
  segments: readonly Segment[],
  { killed = false, epochStarts = [] }: { killed?: boolean; epochStarts?: EpochStarts } = {},
): string {
  const readMode = { mode, autoAdvance: true, since: 0, by: "", reason: "", round: 0, kinds: null };
  // The fields that a route depends on.
  const namespace = { epochStarts, readMode } as Namespace;
  return splitRouteOf(namespace, SLICE, splitOf(segments), killed);
}

test("a route follows the record, the read mode, the epoch and the kill switch", () => {
  equal(routeIn("SERVE", []), "ORIGINAL_NOT_SPLIT");
  equal(routeIn("SERVE", [{ ...SEGMENT, state: "SPLITTING" }]), "ORIGINAL_NOT_SPLIT");
  equal(routeIn("SERVE", [SEGMENT]), "SPLIT");
  equal(routeIn("SERVE", [{ ...SEGMENT, to: 2.5 * HOUR }]), "SPLIT_AND_ORIGINAL");
  equal(routeIn("SHADOW", [SEGMENT]), "ORIGINAL_HELD");
  equal(routeIn("SERVE", [{ ...SEGMENT, confirmedAt: null }]), "ORIGINAL_HELD");
  equal(routeIn("SERVE", [SEGMENT], { killed: true }), "ORIGINAL_HELD");
  const epochStarts = [{ epoch: 1, floor: SEGMENT.to - 1 }];
  equal(routeIn("SERVE", [SEGMENT], { epochStarts }), "ORIGINAL_FALLBACK");
});
