/**
 * Checks `docs/specs/faults.md` against the tests: every fault of the catalogue is in it once, every
 * fault that is neither answered without a test nor deferred has one, and every fault that a test
 * names is in it.
 */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import {
  CATALOGUE,
  coverageOf,
  FAULT_TABLE,
  fillTable,
  FOUND_SINCE,
  lettersOf,
  readTests,
  rowsOf,
} from "../scripts/fault-table.ts";

const table = readFileSync(FAULT_TABLE, "utf8");
const rows = rowsOf(table);
const coverage = coverageOf(readTests());

test("the table has every fault of the catalogue once and in order", () => {
  const all = [...CATALOGUE].flatMap(([letters, count]) =>
    Array.from({ length: count }, (_, i) => `${letters}${i + 1}`),
  );
  equal(all.length, 248);
  const ids = rows.map((row) => row.id);
  deepEqual(ids.slice(0, all.length), all);
  const others = ids.slice(all.length);
  deepEqual([...new Set(others.map(lettersOf))], FOUND_SINCE);
  for (const letters of FOUND_SINCE) {
    const numbers = others
      .filter((id) => lettersOf(id) === letters)
      .map((id) => Number(id.slice(letters.length)));
    ok(numbers.every((number, i) => i === 0 || number > (numbers[i - 1] ?? 0)));
  }
});

test("every fault that is neither answered nor deferred has a test that names it", () => {
  const missing = rows
    .filter((row) => row.status === "covered" && !coverage.has(row.id))
    .map((row) => row.id);
  deepEqual(missing, [], `no test is named after: ${missing.join(", ")}`);
});

test("every fault that a test names is in the table, and covered", () => {
  const covered = rows.filter((row) => row.status === "covered").map((row) => row.id);
  const strangers = [...coverage].filter(([id]) => !covered.includes(id));
  deepEqual(strangers, [], "remove the word from its row, or the id from the test");
});

test("the table names the tests as they are, and counts right", () => {
  const rowsNow = fillTable(table, coverage).split("\n");
  const stale = table.split("\n").filter((row, i) => row !== rowsNow[i]);
  deepEqual(stale, [], 'run "npm run faults"');
});

test("a fault that is answered without a test, or deferred, says why", () => {
  for (const line of table.split("\n").filter((row) => /\| _(?:answered|later)_/.test(row))) {
    match(line, /\| _(?:answered|later)_: \S.{9,}\|$/);
  }
});

test("a fault id is found at the beginning of a test's title and nowhere else", () => {
  const source = [
    'test("W3: the same event twice is one event", () => check("W4"));',
    "describe(`R10, DE2, C7: reads`, () => {}); // R11",
    'test("WIDE5: CP1 and S22 are not named here", () => {});',
    'test("C22: nor is a rule a fault", () => {});',
  ].join("\n");
  deepEqual([...coverageOf([{ path: "x.test.ts", source }]).keys()], ["W3", "R10", "DE2"]);
  const scenario = { path: "x.txt", source: "# V3, P4: What happens.\n# R1: And then.\n" };
  deepEqual([...coverageOf([scenario]).keys()], ["V3", "P4"]);
});

test("the column is filled from the tests, and what has no test stays", () => {
  const before =
    "| W1 | a | b | old |\n| W2 | a | b | _later_: why |\n| W3 | a | b | _answered_: y |";
  const after = before.replace("old", "`x.test.ts`");
  equal(fillTable(before, new Map([["W1", ["x.test.ts"]]])), after);
});

test("faults are counted by section and in all", () => {
  const before = [
    "<!-- counts -->\nold\n<!-- end of counts -->\n## Writing",
    "| W1 | a | b | old |\n| W2 | a | b | _later_: why |\n## Copying",
    "| CP1 | a | b | |\n| CP2 | a | b | _answered_: never |\n## Splitting\n| S1 | a | b | |",
  ].join("\n");
  const lines = fillTable(before, new Map()).split("\n");
  ok(!lines.includes("old"));
  for (const line of [
    "| Writing (W) | 2 | 1 | 0 | 1 |",
    "| Copying (CP) | 2 | 1 | 1 | 0 |",
    "| **The catalogue (all but S and D)** | 4 | 2 | 1 | 1 |",
    "| **All** | 5 | 3 | 1 | 1 |",
  ]) {
    ok(lines.includes(line), line);
  }
});
