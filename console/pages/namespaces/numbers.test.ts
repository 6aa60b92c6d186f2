import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { changeOf, secondsOf } from "./numbers.ts";

test("times are read with their unit", () => {
  deepEqual(["90s", "15m", "1h", " 7d ", "", "1", "1.5h", "7w", "-1s"].map(secondsOf), [
    90,
    900,
    3_600,
    604_800,
    undefined,
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});

test("numbers that are left empty keep their default", () => {
  const empty = {
    slice: "",
    bucket: "",
    eventBuckets: "",
    closeAfter: "",
    deleteAfter: "",
    acceptLimit: "",
  };
  deepEqual(changeOf({ ...empty, slice: "1d", eventBuckets: "4", deleteAfter: "2d" }), {
    timePartition: { secondsPerTimeSlice: 86_400, eventBuckets: 4 },
    retention: { deleteAfter: "172800s" },
  });
  equal(JSON.stringify(changeOf(empty)), '{"timePartition":{},"retention":{}}');
});
