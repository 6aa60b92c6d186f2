/**
 * Reads the queries of an application: from a flag (`video_id; last 7d; newest 100; x5`) or from the
 * content of a YAML or JSON file. Pure. All problems are reported together.
 */
import type { ProblemCollector } from "../lib/problems.ts";
import { parseDurationMs } from "../lib/units.ts";
import type { Query } from "./query.ts";

/** A query before its columns are checked. */
type Draft = { -readonly [Field in keyof Query]: Query[Field] };

/** Columns first, then what the query asks, separated by semicolons. */
export function parseQueryText(text: string, problems: ProblemCollector): Query {
  const [columns = "", ...parts] = text.split(";").map((part) => part.trim());
  const query = draftOf(text, namesOf(columns));
  for (const part of parts) {
    if (part !== "" && !readPart(part, query)) {
      problems.add(
        `--query "${text}": "${part}" is not last DURATION, any DURATION, newest [LIMIT], ` +
          "oldest [LIMIT], unordered, limit NUMBER, x NUMBER or busy",
      );
    }
  }
  if (query.given.length === 0) problems.add(`--query "${text}": name the columns that it gives`);
  return query;
}

const FIELDS = ["name", "given", "range", "anchor", "order", "limit", "frequency", "keys"];
const ORDERS: Readonly<Record<string, Query["order"]>> = {
  newest: "NEWEST_FIRST",
  oldest: "OLDEST_FIRST",
  none: "NONE",
};
const WORDS: Readonly<Record<string, readonly string[]>> = {
  anchor: ["latest", "any"],
  keys: ["every", "busy"],
};
const QUERIES_MAX = 50;

/** The content of a file: a list of queries, or a map with the list in `queries`. */
export function parseQueryFile(
  path: string,
  content: unknown,
  problems: ProblemCollector,
): readonly Query[] {
  const list = isTree(content) && Array.isArray(content["queries"]) ? content["queries"] : content;
  if (!Array.isArray(list) || list.length === 0 || list.length > QUERIES_MAX) {
    problems.add(`--queries ${path}: give a list of 1 to ${QUERIES_MAX} queries`);
    return [];
  }
  return list.map((each: unknown, nth) =>
    queryOfEntry(each, `--queries ${path}[${nth}]`, problems),
  );
}

function queryOfEntry(entry: unknown, where: string, problems: ProblemCollector): Query {
  if (typeof entry === "string") return parseQueryText(entry, problems);
  const tree = isTree(entry) ? entry : {};
  const { given, range, limit, frequency = 1, order = "newest" } = tree;
  const names = Array.isArray(given) ? given.map(String) : namesOf(textOf(given));
  const name = textOf(tree["name"]) || `rows by ${names.join(", ")}`;
  const query = draftOf(name, names);
  for (const field of Object.keys(tree)) {
    if (!FIELDS.includes(field))
      problems.add(`${where}: ${field} is not one of ${FIELDS.join(", ")}`);
  }
  if (names.length === 0) problems.add(`${where}: given is required: the columns that it gives`);
  const width = range === undefined ? undefined : parseDurationMs(textOf(range));
  if (range !== undefined && width === undefined) {
    problems.add(`${where}: range "${textOf(range)}" is not a duration; give 7d`);
  }
  query.rangeMicros = width === undefined ? undefined : width * 1_000;
  query.anchor = tree["anchor"] === "any" ? "ANY" : "LATEST";
  query.keys = tree["keys"] === "busy" ? "BUSY" : "EVERY";
  for (const [field, words] of Object.entries(WORDS)) {
    const word = tree[field];
    if (word === undefined || words.some((each) => each === word)) continue;
    problems.add(`${where}: ${field} must be ${words.join(" or ")}`);
  }
  const known = ORDERS[textOf(order)];
  if (known === undefined) problems.add(`${where}: order must be newest, oldest or none`);
  query.order = known ?? "NONE";
  if (limit !== undefined && !isCount(Number(textOf(limit)))) {
    problems.add(`${where}: limit must be a whole number above 0`);
  }
  if (!isAbove0(Number(textOf(frequency)))) {
    problems.add(`${where}: frequency must be a number above 0`);
  }
  query.limit = limit === undefined ? undefined : Number(limit);
  query.frequency = Number(frequency);
  return query;
}

/** The columns must exist; an empty list would be judged by nothing. */
export function checkQueries(
  queries: readonly Query[],
  columns: readonly string[],
  problems: ProblemCollector,
): void {
  for (const { name, given } of queries) {
    for (const column of given) {
      if (columns.includes(column)) continue;
      problems.add(
        `query "${name}": there is no column ${column}; there are ${columns.join(", ")}`,
      );
    }
  }
}

function readPart(part: string, query: Draft): boolean {
  const [word = "", value, ...more] = part.split(/\s+/);
  if (more.length > 0) return false;
  const number = value === undefined ? undefined : Number(value);
  switch (word) {
    case "last":
    case "any": {
      const ms = parseDurationMs(value ?? "");
      if (ms === undefined) return false;
      query.rangeMicros = ms * 1_000;
      query.anchor = word === "any" ? "ANY" : "LATEST";
      return true;
    }
    case "newest":
    case "oldest":
      query.order = ORDERS[word] ?? "NONE";
      query.limit = number ?? query.limit;
      return number === undefined || isCount(number);
    case "unordered":
      query.order = "NONE";
      return value === undefined;
    case "busy":
      query.keys = "BUSY";
      return value === undefined;
    case "limit":
      query.limit = number;
      return number !== undefined && isCount(number);
    default: {
      const times = /^x\s*(\d+(?:\.\d+)?)$/.exec(part);
      if (times === null) return false;
      query.frequency = Number(times[1]);
      return isAbove0(query.frequency);
    }
  }
}

function isAbove0(number: number): boolean {
  return number > 0 && Number.isFinite(number);
}

function isCount(number: number): boolean {
  return Number.isSafeInteger(number) && number > 0;
}

function draftOf(name: string, given: readonly string[]): Draft {
  return {
    name,
    given,
    rangeMicros: undefined,
    anchor: "LATEST",
    order: "NEWEST_FIRST",
    limit: undefined,
    frequency: 1,
    keys: "EVERY",
  };
}

export function namesOf(text: string): readonly string[] {
  return text
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
}

function textOf(value: unknown): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}

function isTree(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
