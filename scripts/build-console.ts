/**
 * Builds the console into `dist/console` and prints the size of each file, compressed as it
 * travels. With `--if-stale` only when a source is newer than the build; then it is quiet.
 *
 * Files change one by one, and the list of files last, so a server that runs meanwhile never serves
 * a half-built console.
 */
import {
  globSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { gzipSync } from "node:zlib";

const TARGET = "dist/console";
const LIST = join(TARGET, "files.json");
const SOURCES = ["console/**", "client/**/*.ts", "src/{lib,model}/*.ts", "package-lock.json"];

/** Whether a source, or a folder that lost one, is newer than the build. */
export function consoleIsStale(): boolean {
  const built = statSync(LIST, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  return SOURCES.flatMap((pattern) => globSync(pattern))
    .filter((path) => !path.startsWith("client/dist/"))
    .some((path) => statSync(path).mtimeMs > built);
}

/** The files of the build, from its folder. */
export async function buildConsole(): Promise<readonly string[]> {
  const { build } = await import("vite");
  const startedAt = new Date();
  mkdirSync("dist", { recursive: true });
  const made = `${TARGET}-${process.pid}`;
  try {
    await build({
      configFile: false,
      root: "console",
      base: "/",
      publicDir: false,
      logLevel: "warn",
      oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
      build: {
        outDir: join("..", made),
        emptyOutDir: true,
        target: "es2024",
        cssTarget: ["chrome123", "firefox120", "safari17.5"],
        assetsInlineLimit: 0,
        modulePreload: { polyfill: false },
        reportCompressedSize: false,
      },
    });
    const files = globSync("**/*", { cwd: made, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(made.length + 1))
      .toSorted();
    replaceFiles(made, files, startedAt);
    return files;
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
}

/** Names of assets change with their content, so only the start page and the list are replaced. */
function replaceFiles(made: string, files: readonly string[], startedAt: Date): void {
  for (const file of [...files.filter((each) => each !== "index.html"), "index.html"]) {
    const target = join(TARGET, file);
    mkdirSync(dirname(target), { recursive: true });
    renameSync(join(made, file), target);
  }
  const list = join(made, basename(LIST));
  writeFileSync(
    list,
    `${JSON.stringify({ startedAt: startedAt.toISOString(), files }, null, 2)}\n`,
  );
  renameSync(list, LIST);
  const kept = new Set(files.concat(basename(LIST)).map((file) => join(TARGET, file)));
  for (const entry of globSync(`${TARGET}/**/*`, { withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile() && !kept.has(path)) rmSync(path, { force: true });
  }
}

function printSizes(files: readonly string[]): void {
  const entry = firstLoad(files);
  let first = 0;
  let all = 0;
  for (const file of files) {
    const bytes = gzipSync(readFileSync(join(TARGET, file)), { level: 9 }).length;
    const early = entry.has(file);
    if (early) first += bytes;
    all += bytes;
    console.log(`${kib(bytes)}  ${early ? "first" : "later"}  ${file}`);
  }
  console.log(`${kib(first)}  first load; ${kib(all)} in all (gzip)`);
}

/** The start page, and what it names. */
function firstLoad(files: readonly string[]): ReadonlySet<string> {
  const page = readFileSync(join(TARGET, "index.html"), "utf8");
  return new Set(files.filter((file) => file === "index.html" || page.includes(`/${file}"`)));
}

function kib(bytes: number): string {
  return `${(bytes / 1024).toFixed(1).padStart(7)} KiB`;
}

if (import.meta.main) {
  const ifStale = process.argv.includes("--if-stale");
  if (!ifStale) printSizes(await buildConsole());
  else if (consoleIsStale()) {
    console.error("braid: building the console (once)");
    await buildConsole();
  }
}
