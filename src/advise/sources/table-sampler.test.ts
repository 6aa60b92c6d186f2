import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Clock } from "../../lib/clock.ts";
import { SeededRandom } from "../../lib/seeded-random.ts";
import type { SampledTable, TableRows, TableSchema } from "../../ports/sampled-table.ts";
import type { SourcePartition } from "../row-source.ts";
import { cutRest, newSubrange, takeRows, unreadRows } from "./table-subranges.ts";
import { DEFAULT_BUDGET } from "./paced-reads.ts";
import { TableSampler } from "./table-sampler.ts";
import type { TableBudget } from "./paced-reads.ts";

const SCHEMA: TableSchema = {
  keyspace: "shop",
  table: "views",
  columns: [
    { name: "video", kind: "partition_key", position: 0, order: "ASC", type: "text" },
    { name: "at", kind: "clustering", position: 0, order: "ASC", type: "timestamp" },
    { name: "body", kind: "regular", position: -1, order: "ASC", type: "text" },
  ],
  ttlSeconds: 0,
  gcGraceSeconds: 864_000,
  writtenColumn: undefined,
  expiresColumn: undefined,
};
const START = Date.parse("2026-03-28T00:00:00Z");
const MINUTE = 60_000;
const BODY = "x".repeat(92);
/** A time of 8 bytes, a key of 6, a body. */
const ROW_BYTES = 106;
const never = new AbortController().signal;

/** Time passes only in statements, a millisecond for each, and in rests. */
function restingClock(): Clock & { readonly rested: () => number; readonly tick: () => void } {
  let [now, rested] = [0, 0];
  return {
    nowMicros: () => now * 1_000,
    monotonicMs: () => now,
    after: () => () => undefined,
    sleep: async (ms) => {
      now += ms;
      rested += ms;
    },
    rested: () => rested,
    tick: () => {
      now++;
    },
  };
}

/** Partitions of so many rows, one a minute, at tokens that look random. */
function tableOf(sizes: readonly number[], tick: () => void = () => undefined, failing = "none") {
  const random = new SeededRandom(7);
  const partitions = sizes
    .map((rows, index) => ({
      video: `v${String(index).padStart(5, "0")}`,
      rows,
      token: BigInt.asIntN(64, Buffer.from(random.bytes(8)).readBigUInt64BE()),
    }))
    .toSorted((a, b) => (a.token < b.token ? -1 : 1));
  const asked = { statements: 0, rows: 0, running: 0, atOnce: 0 };
  const statement = async <T>(run: () => T): Promise<T> => {
    asked.statements++;
    asked.running++;
    asked.atOnce = Math.max(asked.atOnce, asked.running);
    tick();
    await Promise.resolve();
    asked.running--;
    return run();
  };
  const rowAt = (video: string, at: number): TableRows["rows"][number] => ({
    video,
    at: new Date(START + at * MINUTE),
    body: BODY,
  });
  const rowsIn = (key: readonly unknown[]) =>
    partitions.find(({ video }) => video === key[0])?.rows ?? 0;
  const table: SampledTable = {
    schema: SCHEMA,
    keysAfter: (after, limit) =>
      statement(() =>
        partitions
          .filter(({ token }) => token > after)
          .slice(0, limit)
          .map(({ video, token }) => ({ key: [video], token })),
      ),
    rowsOf: (key, limit, from, within) =>
      statement(() => {
        if (key[0] === failing) throw new Error("too many tombstones");
        const minuteOf = (ms: number): number => Math.ceil((ms - START) / MINUTE);
        const first = within === undefined ? 0 : Math.max(0, minuteOf(within.from));
        const last = within === undefined ? Infinity : minuteOf(within.to);
        const [begin, all] = [Number(from ?? first), Math.min(last, rowsIn(key))];
        const end = Math.max(begin, Math.min(all, begin + limit));
        asked.rows += end - begin;
        const rows = Array.from({ length: end - begin }, (_, at) =>
          rowAt(String(key[0]), begin + at),
        );
        return { rows, next: end < all ? String(end) : undefined };
      }),
    lastRowOf: (key) => statement(() => rowAt(String(key[0]), rowsIn(key) - 1)),
    estimate: () => statement(() => ({ partitions: 9, meanBytes: 5_000, largestBytes: 7_000_000 })),
    close: async () => undefined,
  };
  return { table, asked };
}

/** The rows that the rows of a partition stand for. */
function rowsIn({ rows, rowWeights = [] }: SourcePartition): number {
  return rows.reduce((sum, _, at) => sum + (rowWeights[at] ?? 1), 0);
}

async function sampleOf(
  sizes: readonly number[],
  budget: Partial<TableBudget> = {},
  failing?: string,
): Promise<{
  readonly partitions: readonly SourcePartition[];
  readonly notes: readonly string[];
  readonly asked: ReturnType<typeof tableOf>["asked"];
  readonly clock: ReturnType<typeof restingClock>;
}> {
  const clock = restingClock();
  const { table, asked } = tableOf(sizes, clock.tick, failing);
  const sampler = new TableSampler({ table, clock, budget: { ...DEFAULT_BUDGET, ...budget } });
  const partitions: SourcePartition[] = [];
  for await (const partition of sampler.partitions(never)) partitions.push(partition);
  return { partitions, notes: sampler.notes(), asked, clock };
}

test("a small table is read whole, and each partition stands for itself", async () => {
  const sizes = [3, 1, 500, 40, 7, 2_600];
  const { partitions } = await sampleOf(sizes, { msMax: 3_600_000 });
  deepEqual(
    partitions.map((each) => Math.round(rowsIn(each))).toSorted((a, b) => a - b),
    sizes.toSorted((a, b) => a - b),
  );
  for (const { weight } of partitions) ok(Math.abs(weight - 1) < 1e-9, `weight ${weight}`);
});

test("the same table gives the same sample", async () => {
  const sizes = Array.from({ length: 3_000 }, (_, at) => (at % 50) + 1);
  const budget = { bytesMax: 500_000 };
  deepEqual((await sampleOf(sizes, budget)).partitions, (await sampleOf(sizes, budget)).partitions);
});

test("a part of a large table stands for all of it, within some percent", async () => {
  const sizes = Array.from({ length: 20_000 }, (_, at) => (at % 50) + 1);
  const { partitions } = await sampleOf(sizes, { bytesMax: 3_000_000, msMax: 3_600_000 });
  ok(partitions.length < 2_000, `${partitions.length} partitions were read`);
  const count = partitions.reduce((sum, { weight }) => sum + weight, 0);
  const rows = partitions.reduce((sum, each) => sum + each.weight * rowsIn(each), 0);
  ok(Math.abs(count / 20_000 - 1) < 0.1, `${count} partitions`);
  ok(Math.abs(rows / (20_000 * 25.5) - 1) < 0.1, `${rows} rows`);
});

test("budgets of bytes and of time are kept, and one statement runs at a time", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof(fc.integer({ min: 1, max: 30 }), fc.constantFrom(5_000, 60_000)), {
        minLength: 1,
        maxLength: 200,
      }),
      fc.integer({ min: 100_000, max: 2_000_000 }),
      fc.integer({ min: 1_000, max: 20_000 }),
      async (sizes, bytesMax, msMax) => {
        const { asked, clock } = await sampleOf(sizes, { bytesMax, msMax });
        // A statement that began within the budget ends.
        ok(asked.rows * ROW_BYTES <= bytesMax + 1_000 * ROW_BYTES, `${asked.rows} rows`);
        ok(clock.monotonicMs() <= msMax + 100, `${clock.monotonicMs()} ms of ${msMax}`);
        equal(asked.atOnce, 1);
        ok(clock.rested() >= asked.statements * 4 * 0.99, `rested ${clock.rested()} ms`);
      },
    ),
    { numRuns: 30 },
  );
});

test("a large partition is kept by every nth row of each subrange, and its rows are counted", async () => {
  const { partitions } = await sampleOf([50_000], { msMax: 3_600_000 });
  const [large] = partitions;
  ok(large !== undefined);
  equal(Math.round(rowsIn(large)), 50_000);
  ok(large.rows.length <= 6_100 && large.rows.length >= 1_000, `${large.rows.length}`);
});

test("a partition that the budget does not reach the end of is read in all of its subranges", async () => {
  const { partitions, notes } = await sampleOf([400_000, 5, 5], { bytesMax: 5_000_000 });
  const [large] = partitions.toSorted((a, b) => rowsIn(b) - rowsIn(a));
  ok(large !== undefined);
  ok(Math.abs(rowsIn(large) / 400_000 - 1) < 0.1, `${rowsIn(large)} rows`);
  // Each tenth of its time has a tenth of its rows: nothing depends on where reading began.
  const tenths = Array.from({ length: 10 }, () => 0);
  for (const [at, row] of large.rows.entries()) {
    const minutes = (Number(row["at"]) - START) / MINUTE;
    const tenth = Math.floor(minutes / 40_000);
    tenths[tenth] = (tenths[tenth] ?? 0) + (large.rowWeights?.[at] ?? 1);
  }
  for (const rows of tenths) ok(Math.abs(rows / 40_000 - 1) < 0.35, tenths.join(", "));
  match(notes.join("\n"), /read in subranges: 1 large partition;/);
  match(notes.join("\n"), /the largest has up to 7\.0 MB/);
});

test("a burst at the start of a subrange does not stand for all of the subrange", () => {
  const [, column] = SCHEMA.columns;
  const subrange = newSubrange({ from: 0, to: 1_000_000 }, 100);
  const rows = Array.from({ length: 50 }, (_, at) => ({ at: new Date(at * 10) }));
  takeRows(subrange, { rows, next: "more" }, column);
  ok(unreadRows(subrange, column) > 50_000);
  const cut = cutRest(subrange, column);
  deepEqual(cut?.read.range, { from: 0, to: 491 });
  deepEqual(
    cut?.rest.map(({ range }) => range),
    [
      { from: 491, to: 500_245 },
      { from: 500_245, to: 1_000_000 },
    ],
  );
  // Its rows are counted, and stand for themselves.
  equal(cut?.read === undefined ? undefined : unreadRows(cut.read, column), 0);
});

test("a partition that cannot be read is left out and noted", async () => {
  const { partitions, notes } = await sampleOf([5, 6, 7], {}, "v00001");
  equal(partitions.length, 2);
  match(notes.join("\n"), /1 statement failed, for instance: too many tombstones/);
});

test("an empty table has no partitions, and an abort ends the sampling", async () => {
  deepEqual((await sampleOf([])).partitions, []);
  const { table } = tableOf([5]);
  const clock = restingClock();
  const sampler = new TableSampler({ table, clock, budget: DEFAULT_BUDGET });
  await rejects(sampler.head(AbortSignal.abort(new Error("interrupted"))), /interrupted/);
});
