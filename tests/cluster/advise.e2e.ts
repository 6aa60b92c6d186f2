/**
 * `braid advise --cassandra` on a real Cassandra: what it reads and says of tables of any kind, and
 * the sizes that it predicts for each strategy, held against a table that is filled that way.
 * @needs cassandra
 */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { execFile } from "node:child_process";
import { after, before, test } from "node:test";
import type { Client } from "cassandra-driver";
import type { Advice } from "../../src/advise/advise.ts";
import { moveTo } from "../../src/advise/cql.ts";
import { freePort } from "../support/fake-braid.ts";
import { adviceOnTable } from "../support/advise-cassandra.ts";
import { testCassandra, testJolokia, uniqueName } from "../support/services.ts";
import {
  createSplit,
  createViews,
  measuredSizes,
  openKeyspace,
  operate,
  run,
  VIEWS_TABLE,
  viewsOf,
} from "../support/views-table.ts";

const BRAID = new URL("../../bin/braid", import.meta.url).pathname;
const VIEWS = viewsOf({
  popular: [8_000, 3_000, 3_000],
  others: 120,
  otherRows: 30,
  bodyBytes: 1_000,
});
const BYTES = VIEWS.reduce((sum, { body }) => sum + body.length + 50, 0);
const LIMITS = ["--limit-rows", "2000", "--limit-bytes", "2MB"];
const KEYS = 123;
const [CONTACT_POINT = ""] = testCassandra().contactPoints;

const keyspace = uniqueName("advise");
let client: Client;

before(async () => {
  client = await openKeyspace(CONTACT_POINT, keyspace);
  await createViews(client, VIEWS);
  await measuredSizes(testJolokia(), keyspace, VIEWS_TABLE);
  await operate(testJolokia(), "refreshSizeEstimates()", []);
});

after(async () => {
  await run(client, `DROP KEYSPACE "${keyspace}"`);
  await client.shutdown();
});

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

function braid(flags: readonly string[], contactPoint = CONTACT_POINT): Promise<Ran> {
  const env = { ...process.env, BRAID_CASSANDRA_CONTACT_POINTS: contactPoint };
  return new Promise((resolve) => {
    execFile(BRAID, ["advise", ...flags], { env, maxBuffer: 64e6 }, (error, out, err) => {
      resolve({ code: typeof error?.code === "number" ? error.code : 0, out, err });
    });
  });
}

/** What the tests look at. */
interface Answer {
  readonly roles: {
    readonly partitionKey: readonly string[];
    readonly clustering: readonly { readonly column: string; readonly order: string }[];
    readonly time?: string;
    readonly candidates: readonly string[];
    readonly types: Readonly<Record<string, string>>;
  };
  readonly table: { readonly partitions: number; readonly rows: number; readonly bytes: number };
  readonly strategies: readonly {
    readonly name: string;
    readonly sizes: { readonly rows: { readonly max: number } };
    readonly tombstones: { readonly max: number };
  }[];
  readonly recommended: { readonly option: string; readonly statements: readonly string[] };
  readonly notes: readonly string[];
}

async function advise(table: string, ...flags: readonly string[]): Promise<Answer> {
  const ran = await braid(["--cassandra", `${keyspace}.${table}`, "-o", "json", ...flags]);
  equal(ran.code, 0, ran.err);
  return JSON.parse(ran.out) as Answer;
}

function isWithin(value: number, truth: number, share: number): boolean {
  return Math.abs(value / truth - 1) <= share;
}

/** Of the note that says what was read. */
function readFrom(notes: readonly string[]) {
  const text =
    /^read ([\d,]+) partitions?, ([\d.]+) % of the token ring, with ([\d,]+) rows? and ([\d.]+) MB of ([\d.]+) MB in ([\d,]+) statements?, ([\d.]+) s of ([\d.]+) s$/;
  const found = notes.map((note) => text.exec(note)).find((each) => each !== null);
  const [partitions = 0, percent = 0, rows = 0, megabytes = 0, , statements = 0, seconds = 0] = (
    found ?? []
  )
    .slice(1)
    .map((number) => Number(number.replaceAll(",", "")));
  return { partitions, percent, rows, megabytes, statements, seconds };
}

test("a table that fits the budget is read whole: roles by its schema, sizes as they are", async () => {
  const answer = await advise(VIEWS_TABLE, ...LIMITS, "--widths", "1d", "--budget-time", "10m");
  const { roles, table, strategies, notes } = answer;
  deepEqual(roles.partitionKey, ["video_id"]);
  deepEqual(roles.clustering, [{ column: "view_id", order: "DESC" }]);
  equal(roles.time, "view_id");
  // The body is too long to split by.
  deepEqual(roles.candidates, ["device", "user_id"]);
  equal(roles.types["view_id"], "timeuuid");
  equal(table.partitions, KEYS);
  equal(table.rows, VIEWS.length);
  ok(isWithin(table.bytes, BYTES, 0.2), `${table.bytes} bytes of ${BYTES}`);
  const read = readFrom(notes);
  equal(read.percent, 100);
  // The first thousand rows of a large partition are read twice.
  ok(read.rows >= VIEWS.length && read.rows <= VIEWS.length + 3_000, `${read.rows}`);
  ok(read.statements > KEYS);
  const [leave] = strategies;
  ok(isWithin(leave?.sizes.rows.max ?? 0, 8_000, 0.01), JSON.stringify(leave));
  // One row in five expires, thirty days after it was written, and is a tombstone for ten.
  ok(isWithin(leave?.tombstones.max ?? 0, 8_000 / 5, 0.2), JSON.stringify(leave));
  ok(notes.some((note) => /Cassandra itself estimates/.test(note)));
});

test("a small budget is kept, reads only a part and weights it", async () => {
  const answer = await advise(VIEWS_TABLE, "--budget-bytes", "4MB", "--budget-time", "20s");
  const read = readFrom(answer.notes);
  // The statement that is running when the budget ends is finished.
  ok(read.megabytes <= 4.2 && read.seconds <= 25, answer.notes.join("\n"));
  ok(read.partitions > 10 && read.rows < VIEWS.length / 2, answer.notes.join("\n"));
  ok(isWithin(answer.table.partitions, KEYS, 0.5), `${answer.table.partitions} partitions`);
});

test("a table of every kind gets a sensible answer", async (t) => {
  const few = ["--budget-bytes", "1MB", "--budget-time", "2m"];
  const insert = async (statement: string, count = 30): Promise<void> => {
    for (let nth = 0; nth < count; nth++) await run(client, statement.replaceAll("#", `${nth}`));
  };
  await t.test("counters", async () => {
    await run(
      client,
      "CREATE TABLE hits (page text, day date, hits counter, PRIMARY KEY (page, day))",
    );
    await insert("UPDATE hits SET hits = hits + # WHERE page = 'a' AND day = '2026-01-15'", 5);
    await insert("UPDATE hits SET hits = hits + 1 WHERE page = 'p#' AND day = '2026-01-15'");
    const { table, roles, recommended } = await advise("hits", ...few);
    deepEqual([table.partitions, table.rows], [31, 31]);
    equal(roles.types["hits"], "counter");
    equal(recommended.option, "LEAVE");
  });
  await t.test("no clustering column", async () => {
    await run(client, "CREATE TABLE users (id int PRIMARY KEY, name text)");
    await insert("INSERT INTO users (id, name) VALUES (#, 'name #')");
    const { table, roles } = await advise("users", ...few);
    deepEqual([table.partitions, table.rows, roles.clustering], [30, 30, []]);
  });
  await t.test("collections, a static column, a key of two columns", async () => {
    await run(
      client,
      `CREATE TABLE posts (site text, blog int, at timestamp, tags set<text>, votes map<text, int>,
         owner text static, PRIMARY KEY ((site, blog), at))`,
    );
    await insert(
      `INSERT INTO posts (site, blog, at, tags, votes, owner)
         VALUES ('s', 1, 17700000000#, {'a', 'b#'}, {'up': #}, 'somebody')`,
    );
    const { table, roles } = await advise("posts", ...few, "--limit-rows", "10");
    deepEqual([table.partitions, table.rows], [1, 30]);
    deepEqual([roles.partitionKey, roles.time], [["site", "blog"], "at"]);
    equal(roles.types["owner"], "text static");
  });
  await t.test("names in quotes", async () => {
    await run(
      client,
      `CREATE TABLE "MyViews" ("Video" int, "at" timestamp, "order" text, PRIMARY KEY ("Video", "at"))`,
    );
    await insert(`INSERT INTO "MyViews" ("Video", "at", "order") VALUES (1, 17700000000#, 'a')`);
    const flags = [...few, "--limit-rows", "10"];
    const { recommended, roles } = await advise('"MyViews"', ...flags);
    deepEqual(roles.partitionKey, ["Video"]);
    // The CQL is valid.
    for (const statement of recommended.statements) await run(client, statement);
    match(recommended.statements.join("\n"), /"MyViews_split"[^]*"Video" int[^]*"order" text/);
    const missing = await braid(["--cassandra", `${keyspace}.MyViews`]);
    match(missing.err, /there is no table/);
  });
  await t.test("no rows", async () => {
    await run(client, "CREATE TABLE nothing (id int PRIMARY KEY)");
    const ran = await braid(["--cassandra", `${keyspace}.nothing`, ...few]);
    deepEqual([ran.code, ran.out], [2, ""]);
    match(ran.err, /nothing has no rows: there is nothing to judge/);
  });
  await t.test("no table, no cluster, a wrong column", async () => {
    const missing = await braid(["--cassandra", `${keyspace}.viewsbyvideo`]);
    deepEqual([missing.code, missing.out], [3, ""]);
    match(missing.err, /there is no table .*viewsbyvideo; DESCRIBE TABLES/);
    const nobody = await braid(
      ["--cassandra", `${keyspace}.users`],
      `127.0.0.1:${await freePort()}`,
    );
    deepEqual([nobody.code, nobody.out], [1, ""]);
    match(nobody.err, /127\.0\.0\.1/);
    const wrong = await braid(["--cassandra", `${keyspace}.users`, "--query", "nam"]);
    equal(wrong.code, 2);
    match(wrong.err, /there is no column nam/);
  });
});

test("Cassandra accepts the CQL of every strategy, for odd names, types and keys", async (t) => {
  const long = "a".repeat(48);
  const tables: readonly (readonly [table: string, statements: readonly string[]])[] = [
    [
      "Odd",
      [
        "CREATE TYPE place (city text, geo frozen<tuple<double, double>>)",
        `CREATE TABLE "Odd" ("Select" uuid, "from" inet, "at ""x""" timeuuid, "key" blob, "part" text,
           "ts_partition" text, bucket smallint, tier date, place frozen<place>, tags set<text>,
           votes map<text, frozen<list<int>>>, "Owner" frozen<place> static, steps list<duration>, "é" vector<float, 2>,
           PRIMARY KEY (("Select", "from"), "at ""x""", "key"))
         WITH CLUSTERING ORDER BY ("at ""x""" DESC, "key" ASC)
           AND default_time_to_live = 864000 AND gc_grace_seconds = 10800`,
        ...Array.from(
          { length: 30 },
          (_, nth) =>
            `INSERT INTO "Odd" ("Select", "from", "at ""x""", "key", "part", "Owner", tags) VALUES
               (4f1b6d0e-0c7b-4b0a-9d8e-000000000001, '10.0.0.1', now(), 0x0${nth % 10}, 'p${nth % 3}',
                {city: 'Paris'}, {'a'})`,
        ),
      ],
    ],
    [
      "counts",
      [
        "CREATE TABLE counts (page text, day date, site int, hits counter, PRIMARY KEY (page, day, site))",
        ...Array.from(
          { length: 30 },
          (_, nth) =>
            `UPDATE counts SET hits = hits + 1 WHERE page = 'a' AND day = '2026-01-${10 + (nth % 20)}' AND site = ${nth % 3}`,
        ),
      ],
    ],
    [
      long,
      [
        `CREATE TABLE ${long} (id int, place int, about text static, PRIMARY KEY (id, place))`,
        ...Array.from(
          { length: 30 },
          (_, nth) => `INSERT INTO ${long} (id, place, about) VALUES (1, ${nth}, 'x')`,
        ),
      ],
    ],
  ];
  for (const [table, statements] of tables) {
    await t.test(table, async () => {
      for (const statement of statements) await run(client, statement);
      const advice = await adviceOnTable(
        { contactPoint: CONTACT_POINT, keyspace, table },
        { limits: { rowsMax: 10 }, choices: { widthsMicros: [86_400_000_000], hashes: [10] } },
        {},
      );
      const done = new Set<string>();
      for (const { measured } of advice.judged) {
        const { strategy } = measured;
        if (done.has(strategy.option)) continue;
        done.add(strategy.option);
        // A name of its own for each strategy, as long as the table's.
        const named = `${done.size}${table}`.slice(0, 48);
        const roles = {
          ...advice.sample.roles,
          table: /^[a-z]/i.test(named) ? named : `t${named}`.slice(0, 48),
        };
        for (const cql of moveTo(strategy, roles, advice.limits).statements) {
          await run(client, cql).catch((error: unknown) => {
            throw new Error(`${strategy.name}: ${cql}`, { cause: error });
          });
        }
      }
      ok(done.size >= 4, [...done].join());
    });
  }
});

test("the sizes that are predicted from a sample are those of a table that is filled so", async (t) => {
  const limits = { rowsMax: 2_000, bytesMax: 2_000_000 };
  const choices = { widthsMicros: [86_400_000_000], hashes: [10] };
  const table = { contactPoint: CONTACT_POINT, keyspace, table: VIEWS_TABLE };
  const whole = await adviceOnTable(table, { limits, choices }, { bytesMax: 64e6 });
  // All partitions, the largest in subranges.
  const part = await adviceOnTable(table, { limits, choices }, { bytesMax: BYTES * 0.6 });
  const options = new Set<string>();
  for (const { measured } of whole.judged) {
    const { strategy } = measured;
    if (options.has(strategy.option) || strategy.name === "existing column user_id") continue;
    options.add(strategy.option);
    const filled =
      strategy.option === "LEAVE"
        ? VIEWS_TABLE
        : await createSplit(client, VIEWS, strategy, {
            roles: whole.sample.roles,
            limits: whole.limits,
            table: `views_${options.size}`,
          });
    const histogram = await measuredSizes(testJolokia(), keyspace, filled);
    const real = {
      partitions: histogram.count,
      p50: histogram.percentile(0.5),
      p99: histogram.percentile(0.99),
      max: histogram.maxBytes,
    };
    for (const [from, advice, figures, band] of [
      ["all of it", whole, ["partitions", "p50"], 1.35],
      ["all of it", whole, ["p99", "max"], HASHED.has(strategy.option) ? 1.8 : 1.35],
      // The largest ones are shown only: a burst between two places that were read is not seen.
      ["a part of it", part, ["partitions", "p50"], 1.5],
    ] as const) {
      const predicted = predictedBy(advice, strategy.option);
      t.diagnostic(
        `${strategy.name}, from ${from}: predicted ${text(predicted)}; in Cassandra ${text(real)}`,
      );
      for (const figure of figures) {
        const ratio = predicted[figure] / real[figure];
        ok(ratio < band && ratio > 1 / band, `${strategy.name} from ${from}: ${figure} ${ratio}`);
      }
    }
  }
  equal(options.size, 6);
});

/** The largest partition by a hash is an estimate from every nth row of a large partition. */
const HASHED: ReadonlySet<string> = new Set(["FIXED_HASH", "PER_KEY_VARIABLE"]);

interface Sizes {
  readonly partitions: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

function predictedBy({ judged }: Advice, option: string): Sizes {
  const found = judged.find(
    ({ measured: { strategy } }) =>
      strategy.option === option && strategy.name !== "existing column user_id",
  );
  const sizes = found?.measured.sizes;
  return { partitions: sizes?.partitions ?? 0, ...(sizes?.bytes ?? { p50: 0, p99: 0, max: 0 }) };
}

function text({ partitions, p50, p99, max }: Sizes): string {
  return `${Math.round(partitions)} partitions, ${[p50, p99, max].map(Math.round).join(" / ")} bytes`;
}
