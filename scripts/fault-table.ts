/**
 * Keeps the table of faults (`docs/specs/faults.md`) and the tests in step: fills the column
 * "covered by" from the names of the tests. `tests/faults.test.ts` checks with the same code.
 */
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { readSourceText } from "../tests/source-text.ts";

export const FAULT_TABLE = "docs/specs/faults.md";

const LATER = "_later_";
const ROW = /^\| (?<id>[WRDS]\d+) \|(?<middle>.*)\|(?<covered>[^|]*)\|$/;

export interface FaultRow {
  readonly id: string;
  readonly later: boolean;
}

/** Fault id to the files with a test that names it. */
export type Coverage = ReadonlyMap<string, readonly string[]>;

export function rowsOf(table: string): FaultRow[] {
  return table.split("\n").flatMap((line) => {
    const { id, covered = "" } = ROW.exec(line)?.groups ?? {};
    return id === undefined ? [] : [{ id, later: covered.trim().startsWith(LATER) }];
  });
}

export function fillTable(table: string, coverage: Coverage): string {
  return table
    .split("\n")
    .map((line) => {
      const { id = "", middle = "", covered = "" } = ROW.exec(line)?.groups ?? {};
      if (id === "" || covered.trim().startsWith(LATER)) return line;
      const files = (coverage.get(id) ?? []).map((file) => `\`${file}\``).join(", ");
      return `| ${id} |${middle}| ${files}${files === "" ? "" : " "}|`;
    })
    .join("\n");
}

export function coverageOf(files: readonly { path: string; source: string }[]): Coverage {
  const coverage = new Map<string, string[]>();
  for (const { path, source } of files) {
    const names = readSourceText(source).testNames.join("\n");
    for (const id of new Set(names.match(/\b[WRDS]\d+\b/g) ?? [])) {
      coverage.set(id, [...(coverage.get(id) ?? []), path]);
    }
  }
  return coverage;
}

/** The tests of the tree, the conformance suites among them. */
export function readTests(): { path: string; source: string }[] {
  return ["{src,client}/**/*.test.ts", "tests/**/*.ts"]
    .flatMap((pattern) => globSync(pattern))
    .filter((path) => path !== "tests/faults.test.ts")
    .toSorted()
    .map((path) => ({ path, source: readFileSync(path, "utf8") }));
}

if (import.meta.main) {
  const table = readFileSync(FAULT_TABLE, "utf8");
  writeFileSync(FAULT_TABLE, fillTable(table, coverageOf(readTests())));
}
