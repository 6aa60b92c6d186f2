import { deepEqual, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { adviceOn, sampleOf, VIEW_ROLES, verdictsOf } from "../../tests/support/advise-table.ts";
import type { AdviceOptions } from "../../tests/support/advise-table.ts";
import { SeededRandom } from "../lib/seeded-random.ts";
import { moveTo } from "./cql.ts";
import { queryOf } from "./examples/example.ts";
import { DAY_MICROS, DEFAULT_LIMITS } from "./limits.ts";
import type { Judged } from "./recommend.ts";
import type { SourceRow } from "./row-source.ts";
import { TIERS } from "./strategies/per-key-variable.ts";

const START = 1_700_000_000;
const DAY = 86_400;

/** `popular` videos with 50 times the views of the others, over ten days. */
function viewsOf(seed: number, videos: number, popular = 1): SourceRow[] {
  const random = new SeededRandom(seed);
  return Array.from({ length: videos }).flatMap((_, video) =>
    Array.from({ length: video < popular ? 2_000 : 40 }, (__, nth) => ({
      video: `v${video}`,
      id: `${video}-${nth}`,
      at: START + random.below(10 * DAY),
      device: random.one(["tv", "phone", "web"]),
      user: random.below(1_000_000),
    })),
  );
}

function judgedBy(judged: readonly Judged[], name: string): Judged {
  const found = judged.find(({ measured }) => measured.strategy.name === name);
  ok(found !== undefined, name);
  return found;
}

/** The limit is small, so that small tables have the problem. */
const SMALL: AdviceOptions = {
  limits: { rowsMax: 500 },
  choices: { widthsMicros: [DAY_MICROS], hashes: [10] },
};

test("the verdicts do not depend on the order of the rows", async () => {
  const rows = viewsOf(1, 30);
  const expected = verdictsOf(adviceOn(await sampleOf(rows), SMALL));
  await fc.assert(
    fc.asyncProperty(fc.integer(), async (seed) => {
      const random = new SeededRandom(seed);
      const shuffled = rows
        .map((row) => ({ row, at: random.fraction() }))
        .sort((a, b) => a.at - b.at)
        .map(({ row }) => row);
      deepEqual(verdictsOf(adviceOn(await sampleOf(shuffled), SMALL)), expected);
    }),
    { numRuns: 10, seed: 5 },
  );
});

test("one row in ten with weight ten gives about the same sizes with every strategy", async () => {
  const rows = viewsOf(2, 40, 3);
  const whole = adviceOn(await sampleOf(rows), SMALL);
  const tenth = rows.filter((_, nth) => nth % 10 === 0);
  const part = adviceOn(await sampleOf(tenth, { ...VIEW_ROLES, weight: 10 }), SMALL);
  for (const [at, { measured }] of whole.judged.entries()) {
    const other = part.judged[at]?.measured;
    ok(other !== undefined);
    const [one, two] = [measured.sizes.rows.max, other.sizes.rows.max];
    // A partition of 200 rows has 20 sampled ones, the largest of ten some more.
    ok(
      Math.abs(two - one) <= Math.max(10, 0.45 * one),
      `${measured.strategy.name}: ${one}, ${two}`,
    );
    const [some, more] = [measured.sizes.partitions, other.sizes.partitions];
    ok(Math.abs(more / some - 1) < 0.35, `${measured.strategy.name}: ${some}, ${more} partitions`);
  }
});

test("every row is in one partition of each strategy", async () => {
  const rows = viewsOf(3, 20);
  const sample = await sampleOf(rows);
  for (const { measured } of adviceOn(sample, SMALL).judged) {
    let placed = 0;
    for (const partition of sample.partitions) placed += measured.strategy.place(partition).length;
    equal(placed, rows.length);
    ok(measured.sizes.rows.max <= 2_000);
  }
});

test("a table whose partitions are small is left as it is", async () => {
  const { recommended } = adviceOn(await sampleOf(viewsOf(4, 20)));
  equal(recommended.measured.strategy.option, "LEAVE");
  deepEqual(moveTo(recommended.measured.strategy, VIEW_ROLES, DEFAULT_LIMITS).statements, []);
});

test("the tiers of per-key variable have numbers that do not overlap, and only large keys have many", async () => {
  const sample = await sampleOf(viewsOf(5, 20));
  const { judged } = adviceOn(sample, SMALL);
  const { measured } = judgedBy(judged, "per-key variable");
  const numbers = new Map<string, number[]>();
  for (const partition of sample.partitions) {
    numbers.set(partition.key, [...new Set(Array.from(measured.strategy.place(partition)))]);
  }
  deepEqual(numbers.get("v1"), [-1]);
  const large = numbers.get("v0") ?? [];
  ok(large.length > 4 && large.every((number) => number >= 10 && number < 20));
  const ranges = TIERS.slice(1).map((tier) => [tier, 2 * tier - 1] as const);
  for (const [at, [, end]] of ranges.entries()) ok(end < (ranges[at + 1]?.[0] ?? Infinity));
  const { transition } = moveTo(measured.strategy, VIEW_ROLES, DEFAULT_LIMITS);
  match(transition.join("\n"), /-1, 10 to 19/);
});

test("fill-up buckets have the same size, and late rows cost their order", async () => {
  const rows = viewsOf(6, 3).map((row, nth) => ({
    ...row,
    written: Number(row["at"]) + (nth % 20 === 0 ? 8 * DAY : 0),
  }));
  const sample = await sampleOf(rows, { ...VIEW_ROLES, written: "written" });
  const queries = [queryOf("newest first", ["video"])];
  const { judged } = adviceOn(sample, { ...SMALL, queries });
  const { measured, judgements } = judgedBy(judged, "fill-up bucket 200 rows");
  equal(measured.sizes.rows.max, 200);
  ok((measured.lateShare ?? 0) > 0.01 && (measured.lateShare ?? 1) < 0.06, `${measured.lateShare}`);
  equal(judgements.find(({ criterion }) => criterion === "ORDER")?.verdict, "DOWN");
  const inOrder = await sampleOf(viewsOf(6, 3), { ...VIEW_ROLES, written: "at" });
  const [late] = adviceOn(inOrder, SMALL).judged.filter(
    ({ measured: each }) => each.strategy.option === "FILL_UP_BUCKET",
  );
  equal(late?.measured.lateShare, 0);
});

test("a query with a limit asks the newest partitions only where time orders them", async () => {
  const queries = [queryOf("newest ten", ["video"], { limit: 10, keys: "BUSY" })];
  const { judged } = adviceOn(await sampleOf(viewsOf(7, 5)), { ...SMALL, queries });
  const asked = (name: string): number =>
    judgedBy(judged, name).measured.queries[0]?.partitions ?? 0;
  ok(asked("time column 1d") < 3);
  equal(asked("fixed hash 10"), 10);
  equal(asked("existing column device"), 3);
});

test("a query that gives the added column asks one partition", async () => {
  const queries = [queryOf("of a device", ["video", "device"])];
  const { judged } = adviceOn(await sampleOf(viewsOf(8, 5)), { ...SMALL, queries });
  const { measured, judgements } = judgedBy(judged, "existing column device");
  equal(measured.queries[0]?.partitions, 1);
  equal(judgements.find(({ criterion }) => criterion === "KNOWN_KEYS")?.verdict, "UP");
});

test("a query without the partition key is a scan, however the table is split", async () => {
  const queries = [queryOf("of a user", ["user"])];
  const { judged } = adviceOn(await sampleOf(viewsOf(9, 5)), { ...SMALL, queries });
  for (const { judgements } of judged) {
    const keys = judgements.find(({ criterion }) => criterion === "KNOWN_KEYS");
    equal(keys?.verdict, "DOWN");
    match(keys?.why ?? "", /needs a table of its own/);
  }
});

test("tombstones are counted within gc_grace_seconds", async () => {
  const roles = {
    ...VIEW_ROLES,
    deletes: { share: 0.5, afterMicros: DAY_MICROS, ttlMicros: undefined },
  };
  const sample = await sampleOf(viewsOf(10, 1), roles);
  const most = (gcGraceMicros: number): number => {
    const { judged } = adviceOn(sample, { ...SMALL, limits: { gcGraceMicros } });
    return judgedBy(judged, "as it is").measured.tombstones.max;
  };
  equal(most(11 * DAY_MICROS), 1_000);
  ok(most(DAY_MICROS) > 80 && most(DAY_MICROS) < 140);
});

test("without a time column there is no time strategy, and hot spots are a share of all rows", async () => {
  const sample = await sampleOf(viewsOf(11, 5), { ...VIEW_ROLES, time: undefined });
  const { judged } = adviceOn(sample, SMALL);
  ok(judged.every(({ measured }) => measured.strategy.option !== "TIME_COLUMN"));
  const hot = judgedBy(judged, "as it is").judgements.find(
    ({ criterion }) => criterion === "HOT_SPOTS",
  );
  match(hot?.why ?? "", /93 % of all rows are in one partition/);
});

test("the CQL has the new key, the clustering order, the second table and the TTL", async () => {
  const roles = {
    ...VIEW_ROLES,
    deletes: { share: 0, afterMicros: 0, ttlMicros: 2 * DAY_MICROS },
  };
  const { judged } = adviceOn(await sampleOf(viewsOf(12, 3), roles), SMALL);
  const cqlOf = (name: string): string =>
    moveTo(judgedBy(judged, name).measured.strategy, roles, DEFAULT_LIMITS).statements.join("\n");
  match(cqlOf("time column 1d"), /PRIMARY KEY \(\(video, ts_partition\), id\)/);
  match(
    cqlOf("time column 1d"),
    /CLUSTERING ORDER BY \(id DESC\)\s+AND default_time_to_live = 172800/,
  );
  match(cqlOf("time column 1d"), /TimeWindowCompactionStrategy/);
  match(cqlOf("fill-up bucket 200 rows"), /views_buckets \([^;]*row_count counter/);
  match(cqlOf("per-key variable"), /views_tiers \([^;]*next_tier int/);
});

test("a column that the table has keeps its place in the CQL, and the new one gets another name", async () => {
  const types = { ...VIEW_ROLES.types, part: "text", bucket: "text", ts_partition: "text" };
  const roles = { ...VIEW_ROLES, types, partitionKey: ["video", "bucket"] };
  const rows = viewsOf(13, 3).map((row) => ({ ...row, bucket: "b", part: "p", ts_partition: "t" }));
  const { judged } = adviceOn(await sampleOf(rows, roles), SMALL);
  const cqlOf = (name: string): string =>
    moveTo(judgedBy(judged, name).measured.strategy, roles, DEFAULT_LIMITS).statements.join("\n");
  match(cqlOf("fixed hash 10"), /part_2 int[^]* part text[^]*\(\(video, bucket, part_2\), id\)/);
  match(cqlOf("fill-up bucket 200 rows"), /\(\(video, bucket, bucket_2\), id\)/);
  match(cqlOf("time column 1d"), /\(\(video, bucket, ts_partition_2\), id\)/);
});

test("the steps to move keep deletes, fill the tiers first and copy no row into two buckets", async () => {
  const { judged } = adviceOn(await sampleOf(viewsOf(14, 3)), SMALL);
  const stepsOf = (name: string): string =>
    moveTo(judgedBy(judged, name).measured.strategy, VIEW_ROLES, DEFAULT_LIMITS).steps.join("\n");
  for (const { measured } of judged.slice(1)) {
    match(stepsOf(measured.strategy.name), /write each new row, update and delete to views and/);
    match(stepsOf(measured.strategy.name), /end the copy within gc_grace_seconds \(10d\)/);
  }
  match(stepsOf("per-key variable"), /write the tier of each [^]*write each new row/);
  match(stepsOf("fill-up bucket 200 rows"), /written before the first write to both, each once/);
});

test("rows that stand for themselves need no note, however small the limit is", async () => {
  deepEqual(adviceOn(await sampleOf(viewsOf(15, 2)), { limits: { rowsMax: 50 } }).notes.length, 1);
});
