import { deepEqual, equal, match } from "node:assert/strict";
import { test } from "node:test";
import { fakeBraid } from "../../tests/support/fake-braid.ts";
import { runBraid } from "../../tests/support/fake-terminal.ts";
import { WIDTH_MAP_EXAMPLE } from "../api/width-map-example.ts";

const MAP = {
  ...WIDTH_MAP_EXAMPLE.answer,
  asOf: "2026-11-15T10:00:00Z",
  columnCount: 8,
  rows: [
    { from: 0, upTo: 1_048_576 },
    { from: 1_048_576, upTo: 4_194_304 },
    { from: 10_485_760, upTo: 16_777_216 },
  ],
  cells: [
    { column: 0, row: 0, value: "1", partitions: "1", largestBytes: "9", splits: [] },
    { column: 1, row: 1, value: "1000", partitions: "1000", largestBytes: "9", splits: [] },
    {
      column: 7,
      row: 2,
      value: "1",
      partitions: "1",
      largestBytes: "9",
      splits: [{ state: "COMPLETED", count: 1 }],
    },
  ],
};

test("width-map draws the largest sizes at the top and marks target, limit and splits", async () => {
  await using server = await fakeBraid(() => MAP);
  const args = ["width-map", "plays", "--slice", "data_20261115", "--measure", "bytes"];
  const { code, out } = await runBraid(args, { url: server.url });
  equal(code, 0);
  deepEqual(server.requests[0]?.body, {
    namespace: "plays",
    timeSlice: "data_20261115",
    rows: "SIZE",
    measure: "BYTES",
    columnsMax: 88,
  });
  const lines = out.split("\n");
  match(lines[0] ?? "", /^1 partition over 10MiB: profile:123/);
  deepEqual(lines.slice(1, 4), ["   16 MiB !       S", "    4 MiB | @", "    1 MiB  ."]);
  match(out, /a column +1h, one time bucket/);
  match(out, /measured +2026-11-15T10:00:00Z \(2h ago\) by a walk/);
});

test("width-map says how to get a map where there is none", async () => {
  const { asOf: _asOf, ...without } = MAP;
  await using server = await fakeBraid(() => ({ ...without, sentence: "no map yet", cells: [] }));
  const { out } = await runBraid(["width-map", "plays"], { url: server.url });
  equal(out, "no map yet\n");
  const ran = await runBraid(["width-map", "plays", "-o", "csv"], { url: server.url });
  match(ran.out, /^column,row,value,partitions,largestBytes/);
});
