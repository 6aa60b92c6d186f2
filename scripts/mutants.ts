/**
 * `npm run mutants [-- --seed N] [--count N] [--minutes N] [--under FOLDER]`: changes one place of
 * the source at a time, in a copy of the tree, and runs the tests of its folder. A mutant that no
 * test notices survives and is listed: it needs a test, or a judgement in docs/reliability.md.
 * Outside the gate: a sample takes minutes.
 */
import { existsSync, globSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { parseSync, Visitor } from "oxc-parser";
import type { BinaryExpression, Expression, LogicalExpression } from "oxc-parser";
import { SeededRandom } from "../tests/sim/seeded-random.ts";
import { copyTree } from "./tree-copy.ts";

const FOLDERS = [
  "src/splits/serve",
  "src/splits/compare",
  "src/splits/record",
  "src/parts",
  "src/read",
];
/** Tests beside others that are about a folder as a whole. */
const MORE_TESTS: Readonly<Record<string, readonly string[]>> = {
  "src/splits/serve": ["src/server/split-serving.test.ts"],
  "src/splits/compare": ["src/server/rechecking.test.ts"],
};

interface Mutant {
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
    found.push({ file, line, start, end, was: source.slice(start, end), becomes });
  };
  const textOf = ({ start, end }: { start: number; end: number }): string =>
    source.slice(start, end);
  const between = (node: BinaryExpression | LogicalExpression, operator: string): string =>
    `${textOf(node.left)} ${operator} ${textOf(node.right)}`;
  const drop = (test: Expression): void => {
    add(test.start, test.end, "true");
    add(test.start, test.end, "false");
  };
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
    Literal(node) {
      if (typeof node.value === "number") {
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

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    count: { type: "string", default: "300" },
    minutes: { type: "string", default: "60" },
    under: { type: "string", default: "" },
  },
});
const endsAtMs = performance.now() + Number(values.minutes) * 60_000;
const random = new SeededRandom(Number(values.seed));
await using tree = await copyTree();
const candidates: Mutant[] = [];
const folders = values.under === "" ? FOLDERS : [values.under];
for (const folder of folders) {
  for (const file of globSync(`${folder}/*.ts`).toSorted()) {
    if (file.endsWith(".test.ts")) continue;
    candidates.push(...mutantsOf(file, await readFile(join(tree.root, file), "utf8")));
  }
}
const survivors: Mutant[] = [];
let tried = 0;
while (tried < Number(values.count) && candidates.length > 0 && performance.now() < endsAtMs) {
  const at = Math.floor(random.fraction() * candidates.length);
  const [mutant] = candidates.splice(at, 1);
  if (mutant === undefined) break;
  const path = join(tree.root, mutant.file);
  const source = await readFile(path, "utf8");
  await writeFile(path, source.slice(0, mutant.start) + mutant.becomes + source.slice(mutant.end));
  // The file's own tests find most mutants, in a fraction of the time.
  const own = mutant.file.replace(/\.ts$/, ".test.ts");
  const found = existsSync(own) && !(await tree.runTests([own])).passed;
  const passed = !found && (await tree.runTests(testsFor(mutant.file))).passed;
  await writeFile(path, source);
  tried++;
  if (!passed) continue;
  survivors.push(mutant);
  process.stdout.write(
    `survives  ${mutant.file}:${mutant.line}  ${short(mutant.was)}  =>  ${short(mutant.becomes)}\n`,
  );
}
process.stdout.write(`seed ${values.seed}: ${tried} mutants, ${survivors.length} survive\n`);

function testsFor(file: string): string[] {
  const folder = dirname(file);
  return [...globSync(`${folder}/*.test.ts`), ...(MORE_TESTS[folder] ?? [])];
}

function short(text: string): string {
  const line = text.replaceAll(/\s+/g, " ");
  return line.length > 70 ? `${line.slice(0, 69)}…` : line;
}
