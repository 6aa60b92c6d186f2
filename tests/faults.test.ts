/**
 * Checks `docs/specs/faults.md` against the tests: every fault in it has a test, every fault that a
 * test names is in it, and no id is missing.
 */
import { deepEqual, equal, ok } from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { coverageOf, FAULT_TABLE, fillTable, readTests, rowsOf } from "../scripts/fault-table.ts";

const WRITE_FAULTS = 24;
const READ_FAULTS = 22;

const table = readFileSync(FAULT_TABLE, "utf8");
const rows = rowsOf(table);
const coverage = coverageOf(readTests());

function numbered(letter: string, count: number): string[] {
  return Array.from({ length: count }, (_, i) => `${letter}${i + 1}`);
}

test("the table of faults has every fault once and in order", () => {
  const all = [...numbered("W", WRITE_FAULTS), ...numbered("R", READ_FAULTS)];
  const ids = rows.map((row) => row.id);
  deepEqual(ids.slice(0, all.length), all);
  const others = ids.slice(all.length);
  ok(/^D+S+$/.test(others.map((id) => id.charAt(0)).join("")));
  // Gaps are allowed: ids are assigned in advance and never reused.
  for (const letter of ["D", "S"]) {
    const numbers = others.filter((id) => id.startsWith(letter)).map((id) => Number(id.slice(1)));
    ok(numbers.every((number, i) => i === 0 || number > (numbers[i - 1] ?? 0)));
  }
});

test("every fault that is not deferred has a test that names it", () => {
  const missing = rows.filter((row) => !row.later && !coverage.has(row.id)).map((row) => row.id);
  deepEqual(missing, [], `no test is named after: ${missing.join(", ")}`);
});

test("every fault that a test names is in the table and not deferred", () => {
  const answered = rows.filter((row) => !row.later).map((row) => row.id);
  const strangers = [...coverage].filter(([id]) => !answered.includes(id));
  deepEqual(strangers, [], "remove the word later from its row, or the id from the test");
});

test("the table names the tests as they are", () => {
  const rowsNow = fillTable(table, coverage).split("\n");
  const stale = table.split("\n").filter((row, i) => row !== rowsNow[i]);
  const ids = rowsOf(stale.join("\n")).map((row) => row.id);
  deepEqual(ids, [], `run "npm run faults": ${ids.join(", ")} are not up to date`);
});

test("a fault id is found in the name of a test and nowhere else", () => {
  const source = [
    'test("W3: the same event twice is one event", () => check("W4"));',
    "describe(`reads, R10 and R2`, () => {}); // R11",
    'test("WR5 and C22 are no faults", () => {});',
  ].join("\n");
  deepEqual([...coverageOf([{ path: "x.test.ts", source }]).keys()], ["W3", "R10", "R2"]);
});

test("the column is filled from the tests, and deferred faults stay", () => {
  const before = "| W1 | a | b | old |\n| W2 | a | b | _later_: why |";
  const after = "| W1 | a | b | `x.test.ts` |\n| W2 | a | b | _later_: why |";
  equal(fillTable(before, new Map([["W1", ["x.test.ts"]]])), after);
});
