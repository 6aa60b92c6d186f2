import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { SeededRandom } from "../lib/seeded-random.ts";
import { drawSample, SampleError, samplePartitions } from "./draw-sample.ts";
import { NO_DELETES } from "./roles.ts";
import type { ColumnRoles } from "./roles.ts";
import type { PartitionSource, RowSource, SourcePartition, SourceRow } from "./row-source.ts";
import { bytesOf, rowsOf } from "./sample.ts";
import type { Sample } from "./sample.ts";

const ROLES: ColumnRoles = {
  table: "views",
  partitionKey: ["video"],
  clustering: [{ column: "id", order: "DESC" }],
  time: "at",
  written: undefined,
  valueBytes: undefined,
  deleted: undefined,
  ttl: undefined,
  deletes: NO_DELETES,
  weight: 1,
  candidates: ["device"],
  hashed: ["id"],
  types: {},
};
const signal = new AbortController().signal;

function sourceOf(rows: readonly SourceRow[], repeatable = true): RowSource {
  return {
    name: "rows",
    repeatable,
    async *batches() {
      for (let at = 0; at < rows.length; at += 1_000) yield { rows: rows.slice(at, at + 1_000) };
    },
  };
}

/** A few videos with most of the rows. */
function viewsOf(seed: number, videos: number): SourceRow[] {
  const random = new SeededRandom(seed);
  return Array.from({ length: videos }).flatMap((_, video) =>
    Array.from({ length: video < 3 ? 4_000 : 1 + random.below(20) }, (__, nth) => ({
      video: `v${video}`,
      id: `${video}-${nth}`,
      at: 1_700_000_000 + random.below(1_000_000),
      device: random.one(["tv", "phone", "web"]),
    })),
  );
}

function shuffled<T>(items: readonly T[], seed: number): T[] {
  const random = new SeededRandom(seed);
  return items
    .map((item) => ({ item, at: random.fraction() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}

const total = ({ partitions }: Sample): number =>
  partitions.reduce((sum, partition) => sum + partition.weight * rowsOf(partition), 0);

test("rows that fit are all of the sample", async () => {
  const rows = viewsOf(1, 50);
  const sample = await drawSample(sourceOf(rows), { roles: ROLES, rowsMax: 100_000 }, signal);
  equal(total(sample), rows.length);
  equal(sample.partitions.length, 50);
  deepEqual(sample.notes, []);
});

test("a sample does not depend on the order of the rows, with and without sampling", async () => {
  const rows = viewsOf(2, 300);
  await fc.assert(
    fc.asyncProperty(
      fc.integer(),
      fc.constantFrom(1_000, 3_000, 100_000),
      async (seed, rowsMax) => {
        const options = { roles: ROLES, rowsMax };
        const one = await drawSample(sourceOf(rows), options, signal);
        const other = await drawSample(sourceOf(shuffled(rows, seed)), options, signal);
        deepEqual(other, one);
      },
    ),
    { numRuns: 8, seed: 7 },
  );
});

test("a bounded sample keeps every large partition at about its size, and the number of small ones", async () => {
  const rows = viewsOf(3, 2_000);
  const rowsMax = 4_000;
  const sample = await drawSample(sourceOf(rows), { roles: ROLES, rowsMax }, signal);
  const held = sample.partitions.reduce((sum, partition) => sum + partition.rows.length, 0);
  ok(held <= 2 * rowsMax, `${held} rows in memory`);
  const large = sample.partitions.filter((partition) => rowsOf(partition) > 1_000);
  deepEqual(
    large.map(({ key }) => key),
    ["v0", "v1", "v2"],
  );
  for (const each of large) ok(Math.abs(rowsOf(each) / 4_000 - 1) < 0.15, `${rowsOf(each)}`);
  ok(Math.abs(total(sample) / rows.length - 1) < 0.15, `${total(sample)} of ${rows.length}`);
  const partitions = sample.partitions.reduce((sum, { weight }) => sum + weight, 0);
  ok(Math.abs(partitions / 2_000 - 1) < 0.2, `${partitions} partitions`);
});

test("one row in ten with weight ten gives about the same sizes", async () => {
  const rows = viewsOf(4, 20);
  const tenth = rows.filter((_, nth) => nth % 10 === 0);
  const options = { rowsMax: 100_000 };
  const whole = await drawSample(sourceOf(rows), { ...options, roles: ROLES }, signal);
  const part = await drawSample(
    sourceOf(tenth),
    { ...options, roles: { ...ROLES, weight: 10 } },
    signal,
  );
  for (const key of ["v0", "v1", "v2"]) {
    const [one, other] = [whole, part].map(({ partitions }) =>
      partitions.find((each) => each.key === key),
    );
    ok(one !== undefined && other !== undefined);
    ok(Math.abs(rowsOf(other) / rowsOf(one) - 1) < 0.02);
    ok(Math.abs(bytesOf(other) / bytesOf(one) - 1) < 0.02);
  }
});

test("a pipe with too many rows is refused with what to do", async () => {
  await rejects(
    drawSample(sourceOf(viewsOf(5, 10), false), { roles: ROLES, rowsMax: 100 }, signal),
    (error: Error) => error instanceof SampleError && /save it to a file/.test(error.message),
  );
});

test("rows without a partition key or a time are left out and counted", async () => {
  const rows = [{ video: "v", at: 1_700_000_000 }, { at: 1_700_000_000 }, { video: "v", at: "?" }];
  const sample = await drawSample(sourceOf(rows), { roles: ROLES, rowsMax: 100 }, signal);
  equal(total(sample), 1);
  deepEqual(sample.notes, ["left out 2 rows without a readable video or at"]);
  await rejects(
    drawSample(sourceOf(rows.slice(1)), { roles: ROLES, rowsMax: 100 }, signal),
    /--partition-key, --time and --weight/,
  );
});

test("sampled partitions of a table carry their weight, those of their rows and a lower bound", async () => {
  const rowsOfKey = (video: string, count: number): SourceRow[] =>
    Array.from({ length: count }, (_, nth) => ({ video, id: `${nth}`, at: 1_700_000_000 + nth }));
  const partitions: SourcePartition[] = [
    { key: ["b"], rows: rowsOfKey("b", 10), whole: true, weight: 100 },
    {
      key: ["a"],
      rows: rowsOfKey("a", 10),
      rowWeights: Array.from({ length: 10 }, () => 500),
      whole: true,
      bytes: 1e6,
      weight: 1,
    },
    { key: ["c"], rows: rowsOfKey("c", 10), whole: false, weight: 1 },
  ];
  const source: PartitionSource = {
    name: "ks.views",
    async *partitions() {
      yield* partitions;
    },
    notes: () => ["read 30 rows of a budget of 100"],
  };
  const sample = await samplePartitions(source, ROLES, signal);
  deepEqual(
    sample.partitions.map((each) => [each.key, each.weight, each.whole, rowsOf(each)]),
    [
      ["a", 1, true, 5_000],
      ["b", 100, true, 10],
      ["c", 1, false, 10],
    ],
  );
  const [a] = sample.partitions;
  ok(a !== undefined && Math.abs(bytesOf(a) / 1e6 - 1) < 0.001);
  deepEqual(sample.notes, [
    "read 30 rows of a budget of 100",
    "not read to the end: 1 partition; sizes are at least these",
  ]);
});
