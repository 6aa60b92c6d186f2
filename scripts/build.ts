/**
 * Builds what the two packages ship, JavaScript and types of all but the tests: `client/dist` and
 * `dist/`, the latter with the console. With `client` as its argument only the first.
 */
import { cpSync, globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { buildConsole, consoleIsStale } from "./build-console.ts";
import { runCommand } from "./run-command.ts";

const built = await Promise.all([
  buildClient("client/dist"),
  ...(process.argv[2] === "client" ? [] : [buildServer("dist")]),
]);
process.exitCode = built.every(Boolean) ? 0 : 1;

/**
 * A library that others install: comments are only in the types, and unreachable code is left out.
 */
async function buildClient(target: string): Promise<boolean> {
  rmSync(target, { recursive: true, force: true });
  const ok =
    (await compile("client", "--declaration", "false", "--removeComments")) &&
    (await compile("client", "--emitDeclarationOnly"));
  linkTypes(target);
  keepReached(target, ".js");
  keepReached(target, ".d.ts");
  return ok;
}

async function buildServer(target: string): Promise<boolean> {
  // Not the console: it has its own folder, and is built only when its sources are newer.
  for (const old of globSync(`${target}/*`, { exclude: [`${target}/console*`] })) {
    rmSync(old, { recursive: true, force: true });
  }
  if (consoleIsStale()) await buildConsole();
  const ok = await compile("tsconfig.build.json");
  linkTypes(target);
  // Generated code is JavaScript with its types already.
  cpSync("src/gen", join(target, "src", "gen"), { recursive: true });
  // For `braid --version` and GetStatus.
  const commit = process.env["SOURCE_COMMIT"] || (await headCommit());
  writeFileSync(join(target, "build.json"), `${JSON.stringify({ commit })}\n`);
  return ok;
}

/** Without git, as in the build of the container image, there is no commit to name. */
async function headCommit(): Promise<string> {
  const head = await runCommand("git", ["rev-parse", "--short=12", "HEAD"]);
  return head.ok ? head.output.trim() : "unknown";
}

async function compile(project: string, ...options: string[]): Promise<boolean> {
  const compiled = await runCommand("node_modules/.bin/tsc", ["-p", project, ...options]);
  if (!compiled.ok) console.error(compiled.output);
  return compiled.ok;
}

/** The compiler turns `./x.ts` into `./x.js` in the code, but not in the types beside it. */
function linkTypes(target: string): void {
  for (const file of globSync(`${target}/**/*.d.ts`)) {
    const types = readFileSync(file, "utf8");
    writeFileSync(file, types.replaceAll(/(from |import\()"(\.[^"]*)\.ts"/g, '$1"$2.js"'));
  }
}

/** Removes the files of one kind that the package's entry does not import, directly or not. */
function keepReached(target: string, extension: ".js" | ".d.ts"): void {
  const reached = new Set<string>();
  const visit = (file: string): void => {
    if (reached.has(file)) return;
    reached.add(file);
    const imports = readFileSync(file, "utf8").matchAll(/(?:from |import\()"(\.[^"]*)\.js"/g);
    for (const [, path = ""] of imports) visit(join(dirname(file), `${path}${extension}`));
  };
  visit(join(target, `connect${extension}`));
  for (const file of globSync(`${target}/**/*${extension}`)) if (!reached.has(file)) rmSync(file);
}
