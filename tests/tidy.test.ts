/**
 * The rules of the tree: which folder may import which, and which files may use the clock,
 * randomness, the environment and the network. Each test also checks that its rule finds a planted
 * breach.
 */
import { deepEqual, equal } from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { basename, dirname, join, normalize } from "node:path";
import { test } from "node:test";
import { RETIRED_NAMES, RETIRED_PHRASES, RETIRED_TERMS } from "./retired-words.ts";
import { lineAt, readSourceText } from "./source-text.ts";
import type { Import, SourceText } from "./source-text.ts";

const BASE = ["ports", "model", "wire", "lib"];
const ENGINES = ["engines/embedded", "engines/cassandra", "queues/embedded", "queues/kafka"];
/**
 * The stages of a wide partition, in order. `splits/use-cases` is one file: the interface of these
 * folders.
 */
const SPLIT_STAGES = [
  "splits/detect",
  "splits/plan",
  "splits/work",
  "splits/serve",
  "splits/compare",
  "splits/promote",
  "splits/operate",
  "splits/verify",
];
const STAGES = [
  "namespaces",
  "write",
  "read",
  "sizes",
  "tune",
  "doctor",
  "provision",
  "advise",
  ...SPLIT_STAGES,
];
const SPLIT_STAGE_MAY = [
  "splits/record",
  "splits/use-cases",
  "records",
  "parts",
  "partition",
  ...BASE,
];
const STAGE_MAY = ["records", "partition", ...BASE];

/**
 * What each folder of src/, the client and the console may import besides itself. A stage never
 * imports a stage, with three exceptions.
 */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  lib: [],
  gen: [],
  wire: ["lib", "gen"],
  model: ["lib", "wire"],
  ports: ["model", "wire", "lib"],
  records: BASE,
  partition: BASE,
  parts: ["partition", ...BASE],
  "splits/record": ["records", ...BASE],
  "splits/use-cases": BASE,
  namespaces: ["splits/record", "records", ...BASE],
  write: STAGE_MAY,
  read: STAGE_MAY,
  sizes: STAGE_MAY,
  tune: STAGE_MAY,
  doctor: ["tune", "splits/record", ...STAGE_MAY],
  provision: STAGE_MAY,
  advise: STAGE_MAY,
  ...Object.fromEntries(SPLIT_STAGES.map((stage) => [stage, SPLIT_STAGE_MAY])),
  "splits/work": ["splits/plan", ...SPLIT_STAGE_MAY],
  "splits/compare": ["splits/serve", ...SPLIT_STAGE_MAY],
  "splits/promote": ["splits/compare", ...SPLIT_STAGE_MAY],
  ...Object.fromEntries(ENGINES.map((engine) => [engine, BASE])),
  client: [],
  api: ["gen", ...STAGES, ...SPLIT_STAGE_MAY],
  server: ["api", "gen", ...ENGINES, ...STAGES, ...SPLIT_STAGE_MAY],
  console: ["client", "model", "lib"],
  cli: ["client", "server", "provision", "advise", "model", "wire", "lib", "gen"],
};

/** The only places that may do a thing: a file, or a folder with everything in it. */
const RESERVED: readonly { what: string; pattern: RegExp; to: readonly string[] }[] = [
  {
    what: "reads the time or sets a timer",
    pattern:
      /\bDate\.now\b|\bnew Date\(\s*\)|\bperformance\.now\b|\bprocess\.hrtime\b|\bAbortSignal\.timeout\b|(?<![.\w#])set(?:Timeout|Interval)\b|\bglobalThis\.set(?:Timeout|Interval)\b/g,
    to: ["src/lib/clock.ts", "client/timing.ts", "console/api/clock.ts"],
  },
  {
    what: "makes randomness",
    pattern: /\bMath\.random\b|\brandom(?:Bytes|UUID|Int|Fill|FillSync)\b|\bgetRandomValues\b/g,
    to: ["src/lib/random.ts", "client/timing.ts"],
  },
  {
    what: "reads the environment",
    pattern: /\bprocess\.env\b/g,
    to: ["src/server/config.ts", "src/cli/"],
  },
];

const RESERVED_PACKAGES: readonly { package: RegExp; to: string }[] = [
  { package: /^(?:classic-level|abstract-level)$/, to: "src/engines/embedded/" },
  { package: /^cassandra-driver$/, to: "src/engines/cassandra/" },
  { package: /^@platformatic\//, to: "src/queues/kafka/" },
  { package: /^(?:node:)?http2?$/, to: "src/api/" },
  { package: /^(?:node:)?timers/, to: "src/lib/clock.ts" },
];

interface SourceFile extends SourceText {
  /** From the root of the repository. */
  readonly path: string;
  readonly source: string;
}

function sourceFile(path: string, source: string): SourceFile {
  return { path, source, ...readSourceText(source) };
}

function readAll(...patterns: string[]): SourceFile[] {
  return patterns
    .flatMap((pattern) => globSync(pattern))
    .filter((path) => !/^(?:src\/gen|client\/(?:dist|node_modules))\//.test(path))
    .toSorted()
    .map((path) => sourceFile(path, readFileSync(path, "utf8")));
}

const everything = readAll(
  "client/**/*.ts",
  "console/**/*.{ts,tsx}",
  "src/**/*.ts",
  "tests/**/*.ts",
  "scripts/**/*.ts",
  "bench/**/*.ts",
);
/** Production code: a test may import and use anything. */
const program = everything.filter(
  (file) => /^(?:src|client|console)\//.test(file.path) && !isTest(file.path),
);

function isTest(path: string): boolean {
  return path.endsWith(".test.ts") || path.endsWith(".e2e.ts");
}

/** Folders whose subfolders are the modules. */
const GROUPS = new Set(["engines", "queues", "splits"]);

function folderOf(path: string): string {
  if (path.startsWith("client/")) return "client";
  if (path.startsWith("console/")) return "console";
  const [, first = "", second = ""] = path.split("/");
  return GROUPS.has(first) ? `${first}/${second.replace(/\.ts$/, "")}` : first;
}

function targetOf(file: SourceFile, { from }: Import): string | undefined {
  return from.startsWith(".") ? normalize(join(dirname(file.path), from)) : undefined;
}

function forbiddenImports(file: SourceFile): string[] {
  const folder = folderOf(file.path);
  const allowed = MAY_IMPORT[folder];
  if (allowed === undefined) return [`${file.path}: folder ${folder} is not in the import table`];
  return file.imports.flatMap((each) => {
    const target = targetOf(file, each);
    if (target === undefined) return [];
    const other = folderOf(target);
    if (other === folder || allowed.includes(other)) return [];
    return [`${file.path}:${each.line}: ${folder} may not import ${other}`];
  });
}

function importCircles(files: readonly SourceFile[]): string[] {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const done = new Set<string>();
  const circles: string[] = [];
  const visit = (path: string, trail: readonly string[]): void => {
    const file = byPath.get(path);
    if (file === undefined || done.has(path)) return;
    const seenAt = trail.indexOf(path);
    if (seenAt >= 0) {
      circles.push([...trail.slice(seenAt), path].join(" -> "));
      return;
    }
    for (const each of file.imports) visit(targetOf(file, each) ?? "", [...trail, path]);
    done.add(path);
  };
  for (const file of files) visit(file.path, []);
  return circles;
}

function reservedUses(file: SourceFile): string[] {
  const uses = RESERVED.filter(({ to }) => !to.some((place) => file.path.startsWith(place)));
  const imports = RESERVED_PACKAGES.filter(({ to }) => !file.path.startsWith(to));
  return [
    ...uses.flatMap(({ what, pattern, to }) =>
      [...file.bare.matchAll(pattern)].map(
        (match) =>
          `${file.path}:${lineAt(file.bare, match.index)}: ${match[0]} ${what}; only ${to.join(" and ")} may`,
      ),
    ),
    ...imports.flatMap((rule) =>
      file.imports
        .filter((each) => rule.package.test(each.from))
        .map((each) => `${file.path}:${each.line}: only ${rule.to} may import ${each.from}`),
    ),
  ];
}

function find(file: SourceFile, text: string, pattern: RegExp, what: string): string[] {
  return [...text.matchAll(pattern)].map(
    (match) => `${file.path}:${lineAt(text, match.index)}: ${what}`,
  );
}

function promisesOfWork(file: SourceFile): string[] {
  return find(
    file,
    file.source,
    /\b(?:TO[D]O|FIX[M]E|XX[X])\b/g,
    "do it, or say why it is not done",
  );
}

function testsLeftOut(file: SourceFile): string[] {
  const left =
    /\b(?:test|it|describe|suite|t|context)\.(?:skip|only|todo)\b|[{,]\s*(?:skip|only|todo)\s*:/g;
  const hits = find(file, file.bare, left, "every test runs, everywhere");
  return isTest(file.path) || file.path.startsWith("tests/") ? hits : [];
}

function defaultExports(file: SourceFile): string[] {
  return find(file, file.bare, /\bexport\s+default\b|\bas\s+default\b/g, "exports have names");
}

/**
 * Code asks a strategy or layout for its capabilities: only its own file and the table know its
 * name.
 */
function comparedNames(file: SourceFile): string[] {
  const names = /(?:[=!]==\s*|\bcase\s+)"(?:EVENT_BUCKETS|TIME_BUCKETS|HASH|PACKED|ROWS)"/g;
  return isTest(file.path) ? [] : find(file, file.source, names, "ask for what it can do");
}

function oddFileNames(file: SourceFile): string[] {
  const ok = /^[a-z0-9]+(?:-[a-z0-9]+)*(?:\.(?:test|e2e|d))?\.tsx?$/.test(basename(file.path));
  return ok ? [] : [`${file.path}: file names are kebab-case`];
}

/** Dead links, and files of src/ named in bold that do not exist. */
function deadLinks(path: string, text: string): string[] {
  const links = [...text.matchAll(/\]\((?!https?:|#)([^)#]+)[^)]*\)/g)].map(([, to = ""]) =>
    join(dirname(path), to),
  );
  const named = [...text.matchAll(/\*\*`([a-z-]+\/[^`]*)`\*\*/g)].map(([, to = ""]) =>
    join("src", to),
  );
  return [...links, ...named].filter((to) => !existsSync(to)).map((to) => `${path}: no ${to}`);
}

/** Identifiers and file names with a part that is retired: `splitDoor`, `slice-keeper.ts`. */
function retiredNames(file: SourceFile): string[] {
  const use = (name: string): string[] =>
    wordsOf(name).flatMap((word) => (Object.hasOwn(RETIRED_NAMES, word) ? [word] : []));
  const found = (name: string, line: () => number): string[] =>
    use(name).map(
      (word) => `${file.path}:${line()}: "${name}": use ${RETIRED_NAMES[word] ?? "another word"}`,
    );
  return [
    ...found(basename(file.path, ".ts"), () => 1),
    ...[...file.bare.matchAll(/[A-Za-z_$][\w$]*/g)].flatMap((match) =>
      found(match[0], () => lineAt(file.bare, match.index)),
    ),
  ];
}

/** `splitDoor`, `SPLIT_DOOR` and `split-door` are "split" and "door". */
function wordsOf(name: string): string[] {
  return name
    .replace("heartBeat", "heartbeat") // As the Cassandra driver spells an option.
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2")
    .split(/[^A-Za-z]+/)
    .map((word) => word.toLowerCase());
}

type Retired = typeof RETIRED_TERMS;

function retiredTerms(path: string, text: string, first: number, terms: Retired): string[] {
  return terms.flatMap(([pattern, use]) =>
    [...text.matchAll(pattern)].map(
      (match) => `${path}:${first - 1 + lineAt(text, match.index)}: "${match[0]}": use ${use}`,
    ),
  );
}

const none: string[] = [];

test("folders import only what the table allows, and a breach is found", () => {
  deepEqual(program.flatMap(forbiddenImports), none);
  const breach = sourceFile("src/read/a.ts", 'import { b } from "../write/b.ts";');
  equal(forbiddenImports(breach).length, 1);
  const dynamic = sourceFile("src/lib/a.ts", 'const b = await import("../model/b.ts");');
  equal(forbiddenImports(dynamic).length, 1);
  const typeOnly = sourceFile("src/api/a.ts", 'import type { B } from "../server/b.ts";');
  equal(forbiddenImports(typeOnly).length, 1);
  equal(forbiddenImports(sourceFile("src/new-folder/a.ts", "")).length, 1);
  const client = sourceFile("client/a.ts", 'import { b } from "../src/wire/b.ts";');
  equal(forbiddenImports(client).length, 1);
  const inside = sourceFile("src/engines/embedded/a.ts", 'export { b } from "./b.ts";');
  deepEqual(forbiddenImports(inside), none);
});

test("no imports form a cycle, and a cycle is found", () => {
  deepEqual(importCircles(program), none);
  const circle = [
    sourceFile("src/lib/a.ts", 'import { b } from "./b.ts";'),
    sourceFile("src/lib/b.ts", 'import type { C } from "./c.ts";'),
    sourceFile("src/lib/c.ts", 'export { a } from "./a.ts";'),
  ];
  equal(importCircles(circle).length, 1);
});

test("time, randomness, environment and packages are used only where they belong", () => {
  deepEqual(program.flatMap(reservedUses), none);
  const breaches = [
    "const t = Date.now();",
    "const d = new Date( );",
    "const p = performance.now();",
    "setTimeout(go, 1);",
    "globalThis.setInterval(go, 1);",
    "process.hrtime.bigint();",
    "const s = AbortSignal.timeout(5);",
    "const x = `${Math.random()}`;",
    "randomBytes(8);",
    "crypto.randomUUID();",
    "const home = process.env.HOME;",
    'import { ClassicLevel } from "classic-level";',
    'import type { Client } from "cassandra-driver";',
    'import { Producer } from "@platformatic/kafka";',
    'import { createServer } from "node:http2";',
    'import { setTimeout as sleep } from "node:timers/promises";',
  ];
  for (const breach of breaches) {
    equal(reservedUses(sourceFile("src/read/a.ts", breach)).length > 0, true, breach);
  }
  const harmless = [
    "const d = new Date(micros / 1000);",
    "// Date.now() is read elsewhere",
    'const s = "process.env";',
    "socket.setTimeout(limitMs);",
    "const r = /Math.random/;",
  ];
  for (const line of harmless) deepEqual(reservedUses(sourceFile("src/read/a.ts", line)), none);
});

test("no note promises work for later, and one is found", () => {
  deepEqual(everything.flatMap(promisesOfWork), none);
  equal(promisesOfWork(sourceFile("src/lib/a.ts", ["// TO", "DO: later"].join(""))).length, 1);
});

test("no test is skipped or run alone, and one is found", () => {
  deepEqual(everything.flatMap(testsLeftOut), none);
  for (const breach of ["test.skip(() => 1)", "it.only(f)", "t.todo()", 'test("x", { skip: 1 })']) {
    equal(testsLeftOut(sourceFile("src/lib/a.test.ts", breach)).length, 1, breach);
  }
});

test("exports have names, and a default export is found", () => {
  deepEqual(everything.flatMap(defaultExports), none);
  equal(defaultExports(sourceFile("src/lib/a.ts", "export default 1;")).length, 1);
  equal(defaultExports(sourceFile("src/lib/a.ts", "export { a as default };")).length, 1);
});

test("code asks strategies and layouts for capabilities, and a compared name is found", () => {
  deepEqual(program.flatMap(comparedNames), none);
  for (const breach of ['if (segment.strategy === "HASH") f();', 'case "ROWS": f();']) {
    equal(comparedNames(sourceFile("src/parts/a.ts", breach)).length, 1, breach);
  }
});

test("file names are kebab-case, and another is found", () => {
  deepEqual(everything.flatMap(oddFileNames), none);
  equal(oddFileNames(sourceFile("src/lib/someThing.ts", "")).length, 1);
});

test("documents name only files that exist, and a dead link is found", () => {
  const documents = globSync("*.md").concat(globSync("docs/**/*.md"));
  deepEqual(
    documents.flatMap((path) => deadLinks(path, readFileSync(path, "utf8"))),
    none,
  );
  equal(deadLinks("docs/a.md", "[b](b.md), [web](https://x), **`lib/no-such.ts`**").length, 2);
});

test("comments, strings and patterns are distinguished from code", () => {
  const { bare, imports, testNames } = readSourceText(
    'a("x//y"); // z\nconst r = /["\\/]/; b(`p${q("}")}r`); test("c", 1); type T = import("d").T;',
  );
  equal(
    bare,
    'a("    ");     \nconst r = /     /; b(` ${q(" ")} `); test(" ", 1); type T = import(" ").T;',
  );
  deepEqual(imports, [{ from: "d", line: 2 }]);
  deepEqual(testNames, ["c"]);
});

test("names, comments and documents use no retired word, and one is found", () => {
  const named = everything.filter(({ path }) => path !== "tests/retired-words.ts");
  deepEqual(named.flatMap(retiredNames), none);
  const retired = [...RETIRED_TERMS, ...RETIRED_PHRASES];
  const comments = named
    .filter(({ path }) => path !== "tests/tidy.test.ts")
    .flatMap(({ path, comments: all }) =>
      all.flatMap(({ text, line }) => retiredTerms(path, text, line, retired)),
    );
  deepEqual(comments, none);
  const titles = named.flatMap(({ path, testNames }) =>
    testNames.flatMap((title) => retiredTerms(path, title, 1, retired)),
  );
  deepEqual(titles, none);
  // Decision records are history, and the tables of rules and faults quote the titles of tests.
  const documents = ["*.md", "docs/**/*.md", "tests/scenarios/*.txt"]
    .flatMap((all) => globSync(all))
    .filter((path) => !/^docs\/(?:decisions\/|specs\/(?:rules|faults)\.md)/.test(path));
  const inDocuments = documents.flatMap((path) =>
    retiredTerms(path, readFileSync(path, "utf8"), 1, retired),
  );
  deepEqual(inDocuments, none);
  for (const name of ["splitDoor", "CENSUS_MS", "SliceKeeper"]) {
    equal(retiredNames(sourceFile("src/lib/a.ts", `const ${name} = 1;`)).length, 1, name);
  }
  equal(retiredNames(sourceFile("src/lib/split-door.ts", "")).length, 1);
  equal(retiredTerms("a.md", "It is told,\nwaits L and goes on.", 1, RETIRED_PHRASES).length, 3);
  deepEqual(retiredTerms("a.md", "LLM, `L-1`, the heartbeat", 1, RETIRED_PHRASES), none);
  equal(retiredTerms("a.ts", "somebody has it in his hands", 1, RETIRED_PHRASES).length, 2);
});
