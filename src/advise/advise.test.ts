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
import type { ColumnRoles } from "./roles.ts";
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

test("a small table without times has no hot spot, and stays as it is", async () => {
  const roles = { ...VIEW_ROLES, time: undefined, candidates: [] };
  const { recommended } = adviceOn(await sampleOf(viewsOf(16, 3), roles));
  equal(recommended.measured.strategy.option, "LEAVE");
});

test("a column in which most rows have a value of their own is not known, however few rows there are", async () => {
  const rows = Array.from({ length: 60 }, (_, nth) => ({
    video: "v",
    id: `${nth}`,
    at: START + nth,
    device: nth % 2 === 0 ? "tv" : "web",
    user: nth,
  }));
  const { judged } = adviceOn(await sampleOf(rows), { limits: { rowsMax: 10 } });
  const verdictOf = (name: string): string | undefined =>
    judgedBy(judged, name).judgements.find(({ criterion }) => criterion === "KNOWN_KEYS")?.verdict;
  equal(verdictOf("existing column user"), "DOWN");
  equal(verdictOf("existing column device"), "UP");
});

test("a row without a readable weight is left out, and the notes say so", async () => {
  const rows = ["2", "0", "-1", "NaN", "1e999", "1e300", "x", "", null].map((weight, nth) => ({
    video: "v",
    id: `${nth}`,
    at: START,
    weight,
  }));
  const sample = await sampleOf(rows, { ...VIEW_ROLES, weight: "weight" });
  deepEqual(
    sample.partitions.map(({ rows: each }) => each.map(({ weight }) => weight)),
    [[2]],
  );
  match(sample.notes.join(), /left out 8 rows without a readable video or at or weight/);
});

test("a key of one column is shown as it is, and a long one in part", async () => {
  const rows = viewsOf(17, 1).map((row) => ({ ...row, video: `https://a/${"b".repeat(5_000)}` }));
  const { judged } = adviceOn(await sampleOf(rows), SMALL);
  const why = judgedBy(judged, "as it is").judgements[0]?.why ?? "";
  match(why, /\(key https:\/\/a\/b{70}…\)/);
});

test("a per-key part that is due to move on is not where a key begins", async () => {
  const rows = viewsOf(18, 2);
  for (const [rowsMax, parts] of [
    [2_500, 1],
    [2_499, 10],
  ] as const) {
    const { judged } = adviceOn(await sampleOf(rows), { ...SMALL, limits: { rowsMax } });
    const { measured } = judgedBy(judged, "per-key variable");
    equal(measured.sizes.partitions, parts + 1);
  }
});

test("a column with one value is not judged, and the notes say so", async () => {
  const rows = viewsOf(21, 2).map((row) => ({ ...row, device: "tv" }));
  const { judged, notes } = adviceOn(await sampleOf(rows), SMALL);
  ok(judged.every(({ measured }) => measured.strategy.name !== "existing column device"));
  ok(notes.some((note) => note.includes("not judged: device has one value")));
});

test("one row is found in one time partition only if its key tells its time", async () => {
  const rows = viewsOf(22, 2);
  const findIn = async (roles: ColumnRoles): Promise<number> => {
    const { judged } = adviceOn(await sampleOf(rows, roles), SMALL);
    return judgedBy(judged, "time column 1d").measured.find.partitions;
  };
  ok((await findIn(VIEW_ROLES)) >= 10);
  const clustering = [{ column: "at", order: "DESC" }, ...VIEW_ROLES.clustering] as const;
  equal(await findIn({ ...VIEW_ROLES, clustering }), 1);
});

test("where rows are deleted one by one, a strategy that cannot find them loses", async () => {
  const rows = viewsOf(23, 2);
  const clustering = [{ column: "at", order: "ASC" }, ...VIEW_ROLES.clustering] as const;
  const queries = [queryOf("oldest", ["video"], { order: "OLDEST_FIRST", limit: 20 })];
  const scoreOf = async (share: number): Promise<number> => {
    const deletes = { share, afterMicros: 60e6, ttlMicros: undefined };
    const sample = await sampleOf(rows, { ...VIEW_ROLES, clustering, deletes });
    const { judged } = adviceOn(sample, {
      ...SMALL,
      limits: { rowsMax: 50, gcGraceMicros: 1e6 },
      queries,
    });
    return judgedBy(judged, "fill-up bucket 20 rows").score;
  };
  ok((await scoreOf(1)) - (await scoreOf(0)) >= 20);
});

test("a recommendation without room to grow says so", async () => {
  const { recommended, notes } = adviceOn(await sampleOf(viewsOf(24, 3)), {
    limits: { rowsMax: 2_200 },
  });
  equal(recommended.measured.strategy.option, "LEAVE");
  ok(notes.some((note) => note.includes("is 91 % full (as it is): for room to grow")));
});

test("the steps of counters repeat no increment, and a TTL is cut into about thirty windows", async () => {
  const counters = { ...VIEW_ROLES, types: { ...VIEW_ROLES.types, hits: "counter" } };
  const { judged } = adviceOn(await sampleOf(viewsOf(19, 3), counters), SMALL);
  ok(judged.every(({ measured }) => measured.strategy.option !== "FILL_UP_BUCKET"));
  const { strategy } = judgedBy(judged, "time column 1d").measured;
  const { steps } = moveTo(strategy, counters, DEFAULT_LIMITS);
  ok(!/USING TIMESTAMP|WRITETIME/.test(steps.join("\n")));
  match(steps.join("\n"), /count in views_split only[^]*read from both tables and add/);
  for (const [days, windows] of [
    [2, "'HOURS', 'compaction_window_size': 2"],
    [90, "'DAYS', 'compaction_window_size': 3"],
    [0.5, "'MINUTES', 'compaction_window_size': 24"],
  ] as const) {
    const ttlMicros = days * DAY_MICROS;
    const roles = { ...VIEW_ROLES, deletes: { share: 0, afterMicros: 0, ttlMicros } };
    const [statement = ""] = moveTo(strategy, roles, DEFAULT_LIMITS).statements;
    ok(statement.includes(`'compaction_window_unit': ${windows}`), statement);
  }
});

test("a name that is as long as Cassandra allows stays so", async () => {
  const roles = { ...VIEW_ROLES, table: "v".repeat(48) };
  const { judged } = adviceOn(await sampleOf(viewsOf(20, 3), roles), SMALL);
  for (const { measured } of judged) {
    for (const statement of moveTo(measured.strategy, roles, DEFAULT_LIMITS).statements) {
      match(statement, /^CREATE TABLE v{30,42}_[a-z]{5,7} \(/);
    }
  }
});

test("rows that stand for themselves need no note, however small the limit is", async () => {
  deepEqual(adviceOn(await sampleOf(viewsOf(15, 2)), { limits: { rowsMax: 50 } }).notes.length, 1);
});
