/**
 * `npm run mutants [-- --seed N] [--count N] [--minutes N] [--under FOLDER] [--survivors]`: changes
 * one place of the source at a time, in a copy of the tree, and runs the tests nearest to it: those
 * of the file, those that import it, those of its folder, then a few wider ones. A mutant that no
 * test notices survives: it needs a test, or a judgement in docs/reliability.md.
 *
 * Outside the gate: a sample takes minutes. Each result is appended to `--results`, so that a run
 * that was stopped continues; `--survivors` tries the survivors in that file again.
 */
import { createHash } from "node:crypto";
import { existsSync, globSync, readFileSync } from "node:fs";
import { appendFile, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { parseSync, Visitor } from "oxc-parser";
import type { BinaryExpression, Expression, LogicalExpression } from "oxc-parser";
import { needsOf } from "./components.ts";
import { copyTree } from "./tree-copy.ts";

const FOLDERS = [
  "src/splits/serve",
  "src/splits/compare",
  "src/splits/record",
  "src/parts",
  "src/read",
];
/** Tests elsewhere that are about a folder as a whole. They run last. */
const WIDER_TESTS: Readonly<Record<string, readonly string[]>> = {
  "src/splits/serve": ["src/server/split-serving.test.ts", "tests/property/splits-memory.test.ts"],
  "src/splits/compare": ["src/server/split-serving.test.ts", "src/server/rechecking.test.ts"],
  "src/splits/record": ["src/splits/operate/splits.test.ts"],
  "src/parts": ["src/splits/work/confirm-segment.test.ts", "tests/property/splits-memory.test.ts"],
  "src/read": ["tests/property/reads-memory.test.ts", "src/server/split-serving.test.ts"],
};

/** For each round of tests of one mutant, which may make them wait for ever. */
const TEST_MS_MAX = 60_000;

interface Mutant {
  /** The same for as long as its line stays the same, wherever the line moves. */
  readonly key: string;
  readonly file: string;
  readonly line: number;
  readonly start: number;
  readonly end: number;
  readonly was: string;
  readonly becomes: string;
}

const FLIPPED: Readonly<Record<string, string>> = {
  "===": "!==",
  "!==": "===",
  "<": "<=",
  "<=": "<",
  ">": ">=",
  ">=": ">",
  "+": "-",
  "-": "+",
};

function mutantsOf(file: string, source: string): Mutant[] {
  const found: Mutant[] = [];
  const add = (start: number, end: number, becomes: string): void => {
    const line = source.slice(0, start).split("\n").length;
    const column = start - source.lastIndexOf("\n", start - 1);
    const text = source.split("\n")[line - 1];
    const was = source.slice(start, end);
    const key = hash(`${file}|${text}|${column}|${was}|${becomes}`);
    found.push({ key, file, line, start, end, was, becomes });
  };
  const textOf = ({ start, end }: { start: number; end: number }): string =>
    source.slice(start, end);
  const between = (node: BinaryExpression | LogicalExpression, operator: string): string =>
    `${textOf(node.left)} ${operator} ${textOf(node.right)}`;
  const drop = (test: Expression): void => {
    add(test.start, test.end, "true");
    add(test.start, test.end, "false");
  };
  /** Literals that are types: they do not run. */
  const types = new Set<number>();
  new Visitor({
    BinaryExpression(node) {
      const flipped = FLIPPED[node.operator];
      const numeric = !textOf(node).includes("`") && !textOf(node).includes('"');
      if (flipped !== undefined && (numeric || /[=<>]/.test(node.operator))) {
        add(node.start, node.end, between(node, flipped));
      }
    },
    LogicalExpression(node) {
      if (node.operator === "??") return;
      add(node.start, node.end, between(node, node.operator === "&&" ? "||" : "&&"));
      add(node.start, node.end, textOf(node.left));
      add(node.start, node.end, textOf(node.right));
    },
    IfStatement: (node) => drop(node.test),
    ConditionalExpression: (node) => drop(node.test),
    TSLiteralType: ({ literal }) => void types.add(literal.start),
    Literal(node) {
      if (typeof node.value === "number" && !types.has(node.start)) {
        add(node.start, node.end, String(node.value + 1));
      }
    },
    ExpressionStatement(node) {
      if (node.expression.type === "CallExpression" || node.expression.type === "AwaitExpression") {
        add(node.start, node.end, ";");
      }
    },
  }).visit(parseSync(file, source).program);
  return found;
}

interface Result {
  readonly key: string;
  readonly survives: boolean;
  readonly where: string;
  readonly change: string;
  /** The first test that failed. */
  readonly by: string;
}

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    count: { type: "string", default: "300" },
    minutes: { type: "string", default: "60" },
    under: { type: "string", default: "" },
    results: { type: "string", default: "mutants.log" },
    survivors: { type: "boolean", default: false },
  },
});
const endsAtMs = performance.now() + Number(values.minutes) * 60_000;
await using tree = await copyTree();
const importers = directImporters();
const candidates: Mutant[] = [];
for (const folder of FOLDERS.filter((each) => each.startsWith(values.under))) {
  for (const file of globSync(`${folder}/*.ts`, { cwd: tree.root }).toSorted()) {
    if (file.endsWith(".test.ts")) continue;
    candidates.push(...mutantsOf(file, await readFile(join(tree.root, file), "utf8")));
  }
}
const known = readResults();
// The rank of a mutant depends on its own line alone, so a sample stays the same while other places
// of the source change.
const ranked = new Map(candidates.map((mutant) => [hash(`${values.seed}|${mutant.key}`), mutant]));
const sample = [...ranked].toSorted(([a], [b]) => (a < b ? -1 : 1)).slice(0, Number(values.count));
let [tried, survive, skipped] = [0, 0, 0];
for (const [, mutant] of sample) {
  const before = known.get(mutant.key);
  if (before === undefined ? values.survivors : !(values.survivors && before.survives)) {
    skipped++;
    continue;
  }
  if (performance.now() >= endsAtMs) break;
  const by = await firstFailure(mutant);
  tried++;
  if (by === undefined) survive++;
  const where = `${mutant.file}:${mutant.line}`;
  const change = `${short(mutant.was)}  =>  ${short(mutant.becomes)}`;
  const result = { key: mutant.key, survives: by === undefined, where, change, by: by ?? "" };
  await appendFile(values.results, `${JSON.stringify(result)}\n`);
  process.stdout.write(`${result.survives ? "SURVIVES" : "killed  "}  ${where}  ${change}\n`);
}
process.stdout.write(
  `seed ${values.seed}: ${sample.length} of ${candidates.length} mutants sampled, ` +
    `${tried} tried, ${survive} survive, ${skipped} were tried before\n`,
);

async function firstFailure(mutant: Mutant): Promise<string | undefined> {
  const path = join(tree.root, mutant.file);
  const source = await readFile(path, "utf8");
  await writeFile(path, source.slice(0, mutant.start) + mutant.becomes + source.slice(mutant.end));
  try {
    // The nearest tests find most mutants, in a fraction of the time.
    for (const files of testsFor(mutant.file)) {
      const { passed, failed } = await tree.runTests(files, TEST_MS_MAX);
      if (!passed) return failed[0] ?? "";
    }
    return undefined;
  } finally {
    await writeFile(path, source);
  }
}

/** In the order in which they run; no file twice. */
function testsFor(file: string): string[][] {
  const folder = dirname(file);
  const own = file.replace(/\.ts$/, ".test.ts");
  const near = [
    existsSync(join(tree.root, own)) ? [own] : [],
    importers.get(file) ?? [],
    globSync(`${folder}/*.test.ts`, { cwd: tree.root }).toSorted(),
    [...(WIDER_TESTS[folder] ?? [])],
  ];
  const seen = new Set<string>();
  const rounds = near.map((files) =>
    files.filter((each) => !seen.has(each) && seen.add(each).has(each)),
  );
  return rounds.filter((files) => files.length > 0);
}

/** The unit tests that import each file themselves. */
function directImporters(): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const testFile of globSync("src/**/*.test.ts", { cwd: tree.root }).toSorted()) {
    const text = readFileSync(join(tree.root, testFile), "utf8");
    if (needsOf(text).length > 0) continue;
    for (const [, path = ""] of text.matchAll(/ from "(\.[^"]+)"/g)) {
      const file = join(dirname(testFile), path);
      found.set(file, [...(found.get(file) ?? []), testFile]);
    }
  }
  return found;
}

/** The newest result for each mutant. */
function readResults(): Map<string, Result> {
  const found = new Map<string, Result>();
  if (!existsSync(values.results)) return found;
  for (const line of readFileSync(values.results, "utf8").split("\n")) {
    if (line === "") continue;
    // Written by this script.
    const result = JSON.parse(line) as Result;
    found.set(result.key, result);
  }
  return found;
}

function hash(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}

function short(text: string): string {
  const line = text.replaceAll(/\s+/g, " ");
  return line.length > 70 ? `${line.slice(0, 69)}…` : line;
}
