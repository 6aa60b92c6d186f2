import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { compareTables, sliceOfTable } from "./table-names.ts";
import { splitTableOf } from "./split.ts";

test("a split table belongs to its slice, however short the slice", () => {
  for (const slice of ["data_20260328", "data_20260328_0600", "data_20260328_060030"]) {
    equal(sliceOfTable(slice), slice);
    equal(sliceOfTable(splitTableOf({ namespaceId: "n", slice }).slice), slice);
  }
});

test("tables are ordered by time, whatever they contain", () => {
  const ordered = [
    "data_20260327",
    "wide_data_20260327_0",
    "data_20260328",
    "wide_data_20260328_0",
    "data_20260328_0600",
    "wide_data_20260328_0600_0",
    "data_20260329",
  ];
  deepEqual(ordered.toReversed().toSorted(compareTables), ordered);
});
