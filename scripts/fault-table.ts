/**
 * Keeps the table of faults (`docs/specs/faults.md`) and the tests in step: fills the column
 * "covered by" from the titles of the tests, and the numbers at the top from the table.
 * `tests/faults.test.ts` checks with the same code.
 *
 * A title names its faults, and the rules it holds, at its beginning: `W3, C1: the same event …`.
 */
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { readSourceText } from "../tests/source-text.ts";

export const FAULT_TABLE = "docs/specs/faults.md";

/** The catalogue: sections in order, with the letters of their ids and the number of faults. */
export const CATALOGUE: ReadonlyMap<string, number> = new Map([
  ["W", 24],
  ["R", 22],
  ["DE", 12],
  ["Q", 16],
  ["P", 14],
  ["CP", 17],
  ["V", 9],
  ["CO", 6],
  ["B", 12],
  ["X", 15],
  ["K", 7],
  ["T", 10],
  ["E", 10],
  ["G", 9],
  ["U", 11],
  ["M", 9],
  ["O", 10],
  ["Z", 26],
  ["N", 9],
]);

/** Faults met since. Ids are assigned in advance and never reused: gaps are allowed. */
export const FOUND_SINCE: readonly string[] = ["S", "D"];

const LETTERS = [...CATALOGUE.keys(), ...FOUND_SINCE];
const ROW = /^\| (?<id>[A-Z]{1,2}\d+) \|(?<middle>.*)\|(?<covered>[^|]*)\|$/;
const TITLE = /^(?<ids>[A-Z]{1,2}\d+(?:, [A-Z]{1,2}\d+)*): /;
const COUNTS = /(?<=<!-- counts -->\n)[^]*(?=<!-- end of counts -->)/;

/** `answered`: without a test, for the reason that the row gives. */
export type FaultStatus = "covered" | "answered" | "later";

export interface FaultRow {
  readonly id: string;
  readonly status: FaultStatus;
}

/** Fault id to the files with a test that names it. */
export type Coverage = ReadonlyMap<string, readonly string[]>;

export function lettersOf(id: string): string {
  return id.replace(/\d+$/, "");
}

export function rowsOf(table: string): FaultRow[] {
  return table.split("\n").flatMap((line) => {
    const { id, covered = "" } = ROW.exec(line)?.groups ?? {};
    return id === undefined ? [] : [{ id, status: statusOf(covered) }];
  });
}

function statusOf(covered: string): FaultStatus {
  const word = /^_(?<word>answered|later)_:/.exec(covered.trim())?.groups?.["word"];
  return word === "answered" || word === "later" ? word : "covered";
}

export function fillTable(table: string, coverage: Coverage): string {
  const filled = table
    .split("\n")
    .map((line) => {
      const { id = "", middle = "", covered = "" } = ROW.exec(line)?.groups ?? {};
      if (id === "" || statusOf(covered) !== "covered") return line;
      const files = (coverage.get(id) ?? []).map((file) => `\`${file}\``).join(", ");
      return `| ${id} |${middle}| ${files}${files === "" ? "" : " "}|`;
    })
    .join("\n");
  return filled.replace(COUNTS, countsOf(filled));
}

/** The numbers of each section, as a table. */
function countsOf(table: string): string {
  const rows = rowsOf(table);
  const names = new Map<string, string>();
  let heading = "";
  for (const line of table.split("\n")) {
    if (line.startsWith("## ")) heading = line.slice(3);
    const { id } = ROW.exec(line)?.groups ?? {};
    if (id !== undefined && !names.has(lettersOf(id))) names.set(lettersOf(id), heading);
  }
  const cells = (name: string, letters: readonly string[]): string => {
    const those = rows.filter(({ id }) => letters.includes(lettersOf(id)));
    const count = (status: FaultStatus): number =>
      those.filter((row) => row.status === status).length;
    const counts = [those.length, count("covered"), count("answered"), count("later")];
    return `| ${name} | ${counts.join(" | ")} |`;
  };
  return [
    "| section | faults | covered by a test | answered without one | later |",
    "| --- | --- | --- | --- | --- |",
    ...LETTERS.map((letters) => cells(`${names.get(letters) ?? ""} (${letters})`, [letters])),
    cells("**The catalogue (all but S and D)**", [...CATALOGUE.keys()]),
    cells("**All**", LETTERS),
    "",
  ].join("\n");
}

export function coverageOf(files: readonly { path: string; source: string }[]): Coverage {
  const coverage = new Map<string, string[]>();
  for (const { path, source } of files) {
    const ids = titlesOf(path, source).flatMap(faultsOf);
    for (const id of new Set(ids)) coverage.set(id, [...(coverage.get(id) ?? []), path]);
  }
  return coverage;
}

/** Of the tests in a file; the title of a scenario is its first line. */
function titlesOf(path: string, source: string): readonly string[] {
  if (!path.endsWith(".txt")) return readSourceText(source).testNames;
  return [source.slice(0, source.indexOf("\n")).replace(/^# /, "")];
}

/** The faults that a title names. */
function faultsOf(title: string): string[] {
  const ids = TITLE.exec(title)?.groups?.["ids"]?.split(", ") ?? [];
  // Rules (docs/specs/rules.md) stand in the same place, with the letter C.
  return ids.filter((id) => lettersOf(id) !== "C");
}

/** The tests of the tree, conformance suites and scenarios among them. */
export function readTests(): { path: string; source: string }[] {
  return ["{src,client,console}/**/*.test.ts", "tests/**/*.ts", "tests/scenarios/**/*.txt"]
    .flatMap((pattern) => globSync(pattern))
    .filter((path) => path !== "tests/faults.test.ts")
    .toSorted()
    .map((path) => ({ path, source: readFileSync(path, "utf8") }));
}

if (import.meta.main) {
  const table = readFileSync(FAULT_TABLE, "utf8");
  writeFileSync(FAULT_TABLE, fillTable(table, coverageOf(readTests())));
}
