import { deepEqual, match } from "node:assert/strict";
import { test } from "node:test";
import type { ExplainedPartition, ExplainedRead } from "../../../client/connect.ts";
import { sentenceOf, stepsOf } from "./steps.ts";

const PARTITION: ExplainedPartition = {
  timeSlice: "data_20261118",
  timeBucket: 7,
  eventBucket: 0,
  route: "SPLIT",
  why: "",
  parts: 2,
  bytes: "1048576",
  events: "1000",
  millis: 4,
  read: true,
};

function explained(...partitions: ExplainedPartition[]): ExplainedRead {
  return {
    slices: [{ timeSlice: "data_20261118", timeBuckets: 24 }],
    partitions,
    totals: {
      partitions: String(partitions.length),
      partitionsRead: partitions.length,
      bytes: "1048576",
      events: "1000",
      eventsReturned: "100",
      millis: 4,
    },
  };
}

test("the steps of a route end at the source that answered", () => {
  const last = (route: ExplainedPartition["route"]) =>
    stepsOf({ ...PARTITION, route }).at(-1)?.text;
  deepEqual(
    (
      [
        "ORIGINAL_FILTER_MISS",
        "ORIGINAL_NOT_SPLIT",
        "ORIGINAL_HELD",
        "ORIGINAL_FALLBACK",
        "SPLIT",
        "SPLIT_AND_ORIGINAL",
      ] as const
    ).map(last),
    [
      "original",
      "original",
      "original",
      "original",
      "split, 2 parts",
      "original for what is newer",
    ],
  );
});

test("the sentence names the cost, and the reason of a split that was not used", () => {
  match(sentenceOf(explained(PARTITION)), /^1 partition in 1 slice, 1 MiB .* in 4 ms\.$/);
  const held = { ...PARTITION, route: "ORIGINAL_HELD", why: "the read mode is SHADOW" } as const;
  match(sentenceOf(explained(held)), /held back: the read mode is SHADOW\.$/);
  match(sentenceOf(explained({ ...PARTITION, read: false })), /no partition/);
});
