/**
 * The two packages as users get them: packed, installed into new projects, and used there.
 *
 * The test installs the client from its tarball and nothing else, which also proves that it has no
 * dependencies; it runs on the oldest Node of this machine. The server uses the libraries of the
 * clone.
 */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import {
  accessSync,
  constants,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { after, before, test } from "node:test";

const work = mkdtempSync(join(tmpdir(), "braid-package-"));
const clientProject = join(work, "client-project");
const serverProject = join(work, "server-project");
const server = join(serverProject, "node_modules", "braid");
let clientFiles: readonly string[] = [];
let serverFiles: readonly string[] = [];

before(() => {
  execFileSync(process.execPath, ["scripts/build.ts"], { stdio: "pipe" });
  for (const project of [clientProject, serverProject]) {
    mkdirSync(project);
    writeFileSync(join(project, "package.json"), '{ "type": "module" }');
  }

  const client = pack("client");
  clientFiles = client.files;
  npm(["install", "--offline", "--no-audit", "--no-fund", client.tarball], clientProject);

  const packed = pack(".");
  serverFiles = packed.files;
  mkdirSync(server, { recursive: true });
  execFileSync("tar", ["-xzf", packed.tarball, "-C", server, "--strip-components=1"]);
  for (const name of Object.keys(manifest(server).dependencies ?? {})) {
    const link = join(serverProject, "node_modules", name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(resolve("node_modules", name), link);
  }
});

after(() => {
  rmSync(work, { recursive: true, force: true });
});

test("the client's package contains code, types, licence and a README, and no tests", () => {
  for (const needed of ["LICENSE", "README.md", "dist/connect.js", "dist/connect.d.ts"]) {
    ok(clientFiles.includes(needed), `${needed} is missing`);
  }
  deepEqual(
    clientFiles.filter(
      (file) => !/^(?:dist\/.*\.(?:js|d\.ts)|[A-Z]+(?:\.md)?|package\.json)$/.test(file),
    ),
    [],
  );
  deepEqual(
    clientFiles.filter((file) => /\.test\./.test(file)),
    [],
  );
  equal(readFileSync("client/LICENSE", "utf8"), readFileSync("LICENSE", "utf8"));
});

test("the client adds one package of less than 250 KB to a project", () => {
  const files = globSync("**", { cwd: join(clientProject, "node_modules"), withFileTypes: true });
  const sizes = files
    .filter((entry) => entry.isFile())
    .map((entry) => statSync(join(entry.parentPath, entry.name)).size);
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  ok(bytes > 50_000 && bytes < 250_000, `${bytes} bytes`);
  deepEqual(globSync("node_modules/*/package.json", { cwd: clientProject }), [
    "node_modules/braid-client/package.json",
  ]);
});

test("the oldest Node of this machine can import and use the client", () => {
  const program = `
    import { BraidError, connect } from "braid-client";
    const client = connect("http://127.0.0.1:9", { retries: { attemptsMax: 1 } });
    const event = { timeSeriesId: "a", eventTime: new Date(), eventId: "e", items: { a: "b" } };
    const error = await client.writeSync("plays", [event]).catch((thrown) => thrown);
    const writer = client.batchingWriter("plays", { onFailure: () => undefined });
    await writer.add(event);
    await writer.close();
    console.log(process.version, error instanceof BraidError, error.code);
  `;
  const options = { cwd: clientProject, encoding: "utf8" } as const;
  const said = execFileSync(oldestNode(), ["--input-type=module", "--eval", program], options);
  match(said, /^v\d+\.\d+\.\d+ true SERVER_UNREACHABLE$/m);
});

const PROGRAM = `
  import { connect, EventsFailedError } from "braid-client";
  import type { Namespace, NamespaceChange, Split } from "braid-client";
  const client = connect("http://x", { operator: "ada@example.com" });
  const change: NamespaceChange = { slos: { read: { max: "2s" } } };
  export const made: Namespace = await client.createNamespace("plays", change);
  export const limit: string = made.config.slos.read.max;
  export const due: (split: Split) => string | undefined = ({ dueTime }) => dueTime;
  try {
    await client.writeSync("plays", []);
  } catch (error) {
    if (error instanceof EventsFailedError) for (const { index, code } of error.failures) \`\${index} \${code}\`;
  }
  // @ts-expect-error There is no such setting.
  await client.updateNamespace("plays", { slos: { read: { maximum: "2s" } } });
  for await (const event of client.read("plays", { timeSeriesId: "a", start: "", end: "" })) event.text("a");
`;

for (const [kind, ...options] of [
  ["a browser's types", "--lib", "es2022,dom,dom.iterable,esnext.disposable", "--types", ""],
  ["the types of Node", "--lib", "es2022,esnext.disposable", "--types", "node"],
] as const) {
  test(`a project that has ${kind} can use the client's types`, () => {
    writeFileSync(join(clientProject, "index.ts"), PROGRAM);
    const strict = ["--strict", "--exactOptionalPropertyTypes", "--noEmit", "--target", "es2022"];
    const roots = ["--module", "nodenext", "--typeRoots", resolve("node_modules/@types")];
    const tsc = resolve("node_modules/.bin/tsc");
    const checked = spawnSync(tsc, [...strict, ...roots, ...options, "index.ts"], {
      cwd: clientProject,
      encoding: "utf8",
    });
    equal(checked.status, 0, checked.stdout);
  });
}

test("the server's package contains the program, its contract and its licence, and no tests", () => {
  for (const needed of [
    "LICENSE",
    "README.md",
    "bin/braid",
    "dist/client/connect.js",
    "dist/client/connect.d.ts",
    "dist/src/cli/main.js",
    "dist/console/index.html",
    "dist/console/files.json",
    "proto/braid/v1/event.proto",
  ]) {
    ok(serverFiles.includes(needed), `${needed} is missing`);
  }
  const unwanted =
    /\.test\.|\.e2e\.|^(?:src|client|console|tests|scripts)\/|^dist\/console\/.*\.map$/;
  deepEqual(
    serverFiles.filter((file) => unwanted.test(file)),
    [],
  );
});

test("the server's package serves the console that it contains", async () => {
  const program = `
    import { ConsoleFiles } from "./node_modules/braid/dist/src/api/console-files.js";
    const answers = [];
    const exchange = (path) => ({ path, headers: {}, answer: (status) => answers.push(status) });
    const files = new ConsoleFiles();
    for (const path of ["/", "${serverFiles.find((file) => /^dist\/console\/assets\/index-.*\.js$/.test(file))?.replace("dist/console", "")}"]) {
      await files.answer(exchange(path));
    }
    console.log(answers.join(" "));
  `;
  const options = { cwd: serverProject, encoding: "utf8" } as const;
  equal(
    execFileSync(process.execPath, ["--input-type=module", "--eval", program], options),
    "200 200\n",
  );
  const list = JSON.parse(readFileSync(join(server, "dist/console/files.json"), "utf8")) as {
    readonly files: readonly string[];
  };
  const packed = serverFiles.filter((file) => file.startsWith("dist/console/"));
  deepEqual(
    packed.toSorted(),
    [...list.files, "files.json"].map((file) => `dist/console/${file}`).toSorted(),
  );
});

test("M9: the server's package requires Node 24 and does not include it", () => {
  const { engines, dependencies, optionalDependencies = {} } = manifest(server);
  equal(engines?.["node"], ">=24");
  const brought = Object.keys({ ...dependencies, ...optionalDependencies });
  ok(brought.length > 10);
  deepEqual(
    brought.filter((name) => /^node(?:-|$)|packaged-node/.test(name)),
    [],
  );
});

test("the server's package runs with the machine's Node 24", () => {
  const { status, stdout, stderr } = runServer(dirname(process.execPath));
  equal(status, 0, stderr);
  match(stdout, /^Usage: braid /m);
});

test("the server's package reports its version and the commit it was built from", () => {
  const program = `
    import { BUILD_INFO } from "./node_modules/braid/dist/src/lib/build-info.js";
    console.log(BUILD_INFO.version, BUILD_INFO.build);
  `;
  const options = { cwd: serverProject, encoding: "utf8" } as const;
  const said = execFileSync(process.execPath, ["--input-type=module", "--eval", program], options);
  match(said, /^\d+\.\d+\.\d+ (?:[0-9a-f]{12}|unknown)\n$/);
});

test("M9: without Node 24 the server's package prints what to do", () => {
  const folder = join(work, "old-node");
  mkdirSync(folder);
  writeFileSync(join(folder, "node"), "#!/bin/sh\necho v20.20.2\n", { mode: 0o755 });
  const { status, stderr } = runServer(folder);
  equal(status, 1);
  match(
    stderr,
    /needs Node 24 or later, found v20\.20\.2\n.*install Node 24 \(https:\/\/nodejs\.org\)/,
  );
});

test("the server's package still exports the client, for one version", () => {
  const program = 'import { connect } from "braid"; console.log(typeof connect("http://x"));';
  const options = { cwd: serverProject, encoding: "utf8" } as const;
  const said = execFileSync(oldestNode(), ["--input-type=module", "--eval", program], options);
  equal(said, "object\n");
});

interface Manifest {
  readonly engines?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

function manifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
}

function pack(folder: string): { tarball: string; files: string[] } {
  // The scripts would build again.
  const options = ["--json", "--ignore-scripts", "--offline", "--pack-destination", work];
  const answer = JSON.parse(npm(["pack", ...options], folder));
  // Versions of npm answer with a list, or with an object by name.
  const [about] = Array.isArray(answer) ? answer : Object.values(answer);
  const files = about.files.map((file: { path: string }) => file.path);
  return { tarball: join(work, about.filename), files };
}

function npm(args: readonly string[], cwd: string): string {
  return execFileSync("npm", args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}

/** An environment with one folder of programs besides the system's, and no other Node. */
function runServer(programs: string): { status: number | null; stdout: string; stderr: string } {
  const tools = join(work, "tools");
  mkdirSync(tools, { recursive: true });
  for (const tool of ["sh", "dirname", "readlink"]) {
    const link = join(tools, tool);
    rmSync(link, { force: true });
    symlinkSync(execFileSync("which", [tool], { encoding: "utf8" }).trim(), link);
  }
  const env = { PATH: [programs, tools].join(delimiter) };
  return spawnSync(join(server, "bin/braid"), ["--help"], { env, encoding: "utf8" });
}

/** The machine's own Node, from version 20 on; otherwise the Node that runs this test. */
function oldestNode(): string {
  for (const folder of (process.env["PATH"] ?? "").split(delimiter)) {
    const candidate = join(folder, "node");
    try {
      accessSync(candidate, constants.X_OK);
    } catch {
      continue; // Not in this folder.
    }
    if (!folder.includes("node_modules")) return candidate;
  }
  return process.execPath;
}
