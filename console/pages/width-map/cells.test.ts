import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import type { WidthMap } from "../../../client/connect.ts";
import { WIDTH_MAP_EXAMPLE } from "../../../src/api/width-map-example.ts";
import { filterOf, rangeIn, rangeText, rowAt, rowsBetween, rowsOf, valuesOf } from "./cells.ts";

const MAP = WIDTH_MAP_EXAMPLE.answer as unknown as WidthMap;
const MIB = 1_048_576;

test("rows of sizes reach up to the limit, and rows of hashes stay", () => {
  equal(rowsOf(MAP).length, 2);
  const rows = rowsOf({ ...MAP, limitBytes: String(100 * MIB) });
  equal((rows.at(-1)?.upTo ?? 0) >= 100 * MIB, true);
  equal((rows.at(-2)?.upTo ?? 0) < 100 * MIB, true);
  const hashes = [{ from: 0, upTo: 1 }];
  deepEqual(rowsOf({ ...MAP, rowsBy: "ID_HASH", rows: hashes }), hashes);
});

test("cells are placed row by row from the bottom", () => {
  const values = valuesOf(MAP, 2);
  equal(values.length, 48);
  equal(values[7], 19);
  equal(values[24 + 7], 1);
});

test("the band has the rows that overlap the target, and the limit lies in a row", () => {
  const rows = rowsOf(MAP);
  deepEqual(rowsBetween(rows, 2 * MIB, 10 * MIB), { from: 0, to: 0 });
  equal(rowsBetween(rows, MIB, 2 * MIB), undefined);
  equal(rowAt(rows, 10 * MIB), 0);
  equal(rowAt(rows, 1024 * MIB), undefined);
});

test("a selection asks for its time buckets, and for its sizes or hashes", () => {
  const map = { ...MAP, timeBucketsPerColumn: 4 };
  const range = { from: { column: 1, row: 0 }, to: { column: 2, row: 1 } };
  deepEqual(filterOf(map, rowsOf(map), range), {
    timeBucketMin: 4,
    timeBucketMax: 11,
    bytesMin: "8388609",
    bytesMax: "16777216",
  });
  const rows = [
    { from: 0, upTo: 0.5 },
    { from: 0.5, upTo: 1 },
  ];
  deepEqual(filterOf({ ...map, rowsBy: "ID_HASH" }, rows, range), {
    timeBucketMin: 4,
    timeBucketMax: 11,
    hashFrom: 0,
    hashTo: 1,
  });
});

test("a selection is kept in the address, and one that does not fit is none", () => {
  const range = { from: { column: 1, row: 0 }, to: { column: 2, row: 1 } };
  deepEqual(rangeIn(rangeText(range), 24, 2), range);
  equal(rangeIn(rangeText(range), 2, 2), undefined);
  equal(rangeIn("anything", 24, 2), undefined);
});
