import { deepEqual, equal, match, ok } from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { runBraid } from "../../tests/support/fake-terminal.ts";

const folder = mkdtempSync(join(tmpdir(), "braid-advise-cli-"));
after(() => rmSync(folder, { recursive: true, force: true }));

const at = (name: string): string => join(folder, name);

/** One wide video and some narrow ones, over ten days. */
function viewsCsv(name: string): string {
  const lines = ["video_id,view_id,viewed_at,device"];
  for (let nth = 0; nth < 3_000; nth++) {
    const video = nth % 3 === 0 ? 1 + (nth % 40) : 0;
    const time = new Date(Date.UTC(2024, 0, 1) + nth * 288_000).toISOString();
    lines.push(`${video},id-${nth},${time},${nth % 2 === 0 ? "tv" : "web"}`);
  }
  writeFileSync(at(name), `${lines.join("\n")}\n`);
  return at(name);
}

const FILE = viewsCsv("views.csv");
const ROLES = ["--partition-key", "video_id", "--clustering", "viewed_at desc, view_id"];
const SMALL = ["--limit-rows", "500", "--widths", "1d", "--hashes", "10"];

test("advise judges a CSV file, recommends one strategy and prints its CQL, its steps and Braid's way", async () => {
  const ran = await runBraid(["advise", FILE, ...ROLES, ...SMALL]);
  equal(ran.code, 0, ran.err);
  match(ran.out, /^STRATEGY +SIZE +SHRINK +KEYS +HOT +TOMB +ORDER +FIND/m);
  match(ran.out, /^ {2}as it is +- +\+ +\+/m);
  match(ran.out, /^\* time column 1d +\+ +\+ +\+/m);
  match(ran.out, /^recommended: time column 1d$/m);
  match(ran.out, /the largest partition has \d+ rows and [\d.]+ KB, \d+ % of the limit/);
  match(ran.out, /^CREATE TABLE views_split \($/m);
  match(ran.out, /PRIMARY KEY \(\(video_id, ts_partition\), viewed_at, view_id\)/);
  match(ran.out, /^ {2}1\. create views_split, with the other options/m);
  match(ran.out, /braid ns create NAMESPACE --slice/);
  match(ran.err, /assumed: viewed_at is the time of a row \(--time\)/);
  match(ran.err, /no queries are given: judged by "all rows of a video_id"/);
});

test("signs are Unicode where the locale is, and words for other programs", async () => {
  const line = ["advise", FILE, ...ROLES, ...SMALL];
  const unicode = await runBraid(line, { env: { LANG: "en_US.UTF-8" } });
  match(unicode.out, /^ {2}as it is +✗ +✓/m);
  const words = await runBraid([...line, "-o", "text"]);
  match(words.out, /^ {2}as it is\tDOWN\tUP\t/m);
});

test("advise prints JSON with every number, and CSV with a line for each strategy", async () => {
  const queries = at("queries.yaml");
  writeFileSync(
    queries,
    "queries:\n  - { name: newest, given: [video_id], limit: 100, frequency: 10 }\n  - video_id; any 2d\n",
  );
  const line = ["advise", FILE, ...ROLES, ...SMALL, "--queries", queries];
  const json = await runBraid([...line, "--json"]);
  equal(json.code, 0, json.err);
  const value = JSON.parse(json.out);
  deepEqual(
    value.queries.map((query: { name: string }) => query.name),
    ["newest", "video_id; any 2d"],
  );
  equal(value.table.rows, 3_000);
  const [first] = value.strategies;
  equal(first.name, "as it is");
  equal(first.sizes.rows.max, 2_000);
  equal(first.verdicts.SIZE_LIMIT.number, 4);
  equal(first.queries.length, 2);
  ok(value.recommended.statements.length > 0 && value.braid.timePartition !== undefined);
  const csv = await runBraid([...line, "-o", "csv"]);
  equal(csv.out.trim().split("\n").length, 1 + value.strategies.length);
  match(csv.out, /^strategy,recommended,SIZE_LIMIT,/);
});

test("advise reads a pipe", async () => {
  const input = '{"k":"a","at":1700000000,"v":"x"}\n{"k":"a","at":1700000100,"v":"y"}\n';
  const ran = await runBraid(["advise", "-", "--json"], { input });
  equal(ran.code, 0, ran.err);
  equal(JSON.parse(ran.out).recommended.name, "as it is");
});

test("the page is one file without scripts or addresses, and escapes what the rows hold", async () => {
  const file = at("odd.ndjson");
  const rows = Array.from({ length: 20 }, (_, nth) =>
    JSON.stringify({ k: "<script>alert(1)</script>", at: 1_700_000_000 + nth, id: nth }),
  );
  writeFileSync(file, rows.join("\n"));
  const page = at("odd.html");
  const ran = await runBraid(["advise", file, "--limit-rows", "5", "--html", page]);
  equal(ran.code, 0, ran.err);
  match(ran.err, /wrote .*odd\.html; open it in a browser/);
  const html = readFileSync(page, "utf8");
  ok(!html.includes("<script") && !/(?:src|href)=/.test(html));
  match(html, /&lt;script&gt;alert/);
  match(html, /prefers-color-scheme: dark/);
});

test("errors say what to do, all at once", async () => {
  const cases: readonly (readonly [string[], RegExp])[] = [
    [["advise"], /give a file with a sample of the table, or --cassandra keyspace.table/],
    [["advise", at("none.csv")], /none\.csv: there is no such file/],
    [["advise", FILE, "--format", "xml"], /--format xml: give ndjson, csv, parquet/],
    [
      ["advise", FILE, "--partition-key", "video"],
      /--partition-key video: there is no such column/,
    ],
    [["advise", FILE, "--query", "video_id; soon"], /"soon" is not last DURATION/],
    [["advise", FILE, "--query", "show"], /query "show": there is no column show/],
    [
      ["advise", FILE, "--ttl", "soon", "--limit-rows", "x", "--widths", "1y"],
      /--limit-rows x[^]*--widths 1y[^]*--ttl soon/,
    ],
    [
      ["advise", FILE, "--limit-rows", "0.5", "--nodes", "1e999", "--hashes", "10,9999999"],
      /--limit-rows 0\.5[^]*--nodes 1e999[^]*--hashes 10,9999999: give at most/,
    ],
    [
      ["advise", FILE, "--ttl", "0s", "--gc-grace", "99999d", "--table", "a b", "--weight", "0"],
      /--gc-grace 99999d[^]*--ttl 0s[^]*--weight 0[^]*--table a b: Cassandra allows letters/,
    ],
    [["advise", FILE, "--widths", "1ms,1d"], /--widths 1ms,1d: give durations of at least 1s/],
    [["advise", "--example", "tv"], /there are views, jaeger, kairosdb/],
    [["advise", FILE, "--example"], /leave out one of/],
    [["advise", FILE, "--save", at("x")], /--save writes the rows of an --example/],
    [["advise", FILE, "--html", join(folder, "no", "x.html")], /--html .*no such file/],
  ];
  for (const [line, wanted] of cases) {
    const ran = await runBraid(line);
    equal(ran.code, 2, `${line.join(" ")}: ${ran.out}${ran.err}`);
    match(ran.err, wanted);
  }
});

test("Ctrl-C ends it", async () => {
  const ran = await runBraid(["advise", FILE], { interrupt: Promise.resolve() });
  equal(ran.code, 130, ran.err);
});
