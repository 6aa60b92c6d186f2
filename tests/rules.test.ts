/**
 * Checks `docs/specs/rules.md`: every rule is in it, and the files and tests that it names exist.
 */
import { deepEqual, ok } from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { readSourceText } from "./source-text.ts";

const TABLE = "docs/specs/rules.md";
/** Rules that have a row. */
const RULES = Array.from({ length: 29 }, (_, i) => i + 1);

const ROW = /^\| (?<id>C\d+) \|[^|]+\| (?<kept>[^|]+) \| (?<tests>.+) \|$/;
/** A scenario is named by its file alone; another test has its title after its file. */
const NAMED = /`(?<file>[^`]+)`(?:: "(?<name>[^"]+)")?/g;

interface Rule {
  readonly id: string;
  readonly kept: readonly string[];
  readonly tests: readonly { readonly file: string; readonly name: string | undefined }[];
}

function rulesOf(table: string): Rule[] {
  return table.split("\n").flatMap((line) => {
    const { id, kept = "", tests = "" } = ROW.exec(line)?.groups ?? {};
    if (id === undefined) return [];
    return [{ id, kept: named(kept).map(({ file }) => file), tests: named(tests) }];
  });
}

function named(cell: string): Rule["tests"] {
  return [...cell.matchAll(NAMED)].map(({ groups }) => ({
    file: groups?.["file"] ?? "",
    name: groups?.["name"],
  }));
}

/** The files and tests that a rule names and that do not exist. */
function missingOf({ id, kept, tests }: Rule): string[] {
  const files = kept.filter((file) => !existsSync(file)).map((file) => `${id}: ${file}`);
  const gone = tests
    .filter(({ file, name }) => !isThere(file, name))
    .map(({ file, name = "" }) => `${id}: ${file} ${name}`);
  return [...files, ...gone];
}

function isThere(file: string, name: string | undefined): boolean {
  if (!existsSync(file)) return false;
  if (name === undefined) return /^tests\/scenarios\/[a-z-]+\.txt$/.test(file);
  return readSourceText(readFileSync(file, "utf8")).testNames.includes(name);
}

const rules = rulesOf(readFileSync(TABLE, "utf8"));

test("every rule is in the table once, in order, with the code that keeps it and a test", () => {
  deepEqual(
    rules.map(({ id }) => id),
    RULES.map((number) => `C${number}`),
  );
  for (const { id, kept, tests } of rules) ok(kept.length > 0 && tests.length > 0, id);
});

test("everything that the table names exists", () => {
  deepEqual(rules.flatMap(missingOf), []);
});

test("a missing test, scenario or file is found", () => {
  const row = [
    "| C1 | short | `src/gone.ts`<br>`src/model/split.ts` |",
    '`tests/rules.test.ts`: "nobody wrote this"<br>`tests/scenarios/gone.txt`',
    '<br>`tests/rules.test.ts`: "everything that the table names exists"<br>`tests/rules.test.ts` |',
  ].join(" ");
  const [rule] = rulesOf(row);
  ok(rule !== undefined);
  deepEqual(missingOf(rule), [
    "C1: src/gone.ts",
    "C1: tests/rules.test.ts nobody wrote this",
    "C1: tests/scenarios/gone.txt ",
    "C1: tests/rules.test.ts ",
  ]);
});
