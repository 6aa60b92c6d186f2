/**
 * A copy of the working tree in a temporary directory, for tools that change sources to see which
 * tests notice. Dependencies are linked, not copied. The caller removes it: `await using`.
 */
import { cp, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { spawn } from "node:child_process";

const COPIED = ["src", "tests", "client", "proto", "scripts", "docs", "package.json"];
/** A change may make a test wait for ever. */
const TEST_MS_MAX = 120_000;
const WORLDS_MS_MAX = 600_000;

export interface TestRun {
  readonly passed: boolean;
  /** Titles of the tests that failed, or what ended the run. */
  readonly failed: readonly string[];
}

export interface TreeCopy extends AsyncDisposable {
  readonly root: string;
  runTests(files: readonly string[], msMax?: number): Promise<TestRun>;
  /** Simulated worlds; the first that fails is the last. */
  runWorlds(kind: string, seed: string, count: string): Promise<TestRun>;
}

export async function copyTree(): Promise<TreeCopy> {
  const root = await mkdtemp(join(tmpdir(), "braid-tree-"));
  for (const name of COPIED) await cp(name, join(root, name), { recursive: true });
  await symlink(resolve("node_modules"), join(root, "node_modules"));
  return {
    root,
    runTests: (files, msMax = TEST_MS_MAX) => runTests(root, files, msMax),
    runWorlds: (kind, seed, count) => runWorlds(root, [kind, seed, count]),
    [Symbol.asyncDispose]: () => rm(root, { recursive: true, force: true }),
  };
}

async function runTests(root: string, files: readonly string[], msMax: number): Promise<TestRun> {
  const flags = ["--test", "--test-concurrency=1", "--test-reporter=tap"];
  const { code, output, ended } = await runNode(root, [...flags, ...files], msMax);
  const titles = [...output.matchAll(/^ *not ok \d+ - (.+)$/gm)].map(([, title]) => title ?? "");
  return { passed: code === 0, failed: titles.length > 0 ? titles : [ended] };
}

async function runWorlds(
  root: string,
  [kind = "", seed = "", count = ""]: string[],
): Promise<TestRun> {
  const flags = ["--kind", kind, "--seed", seed, "--worlds", count, "--as-it-is"];
  const { code, output, ended } = await runNode(root, ["scripts/sim.ts", ...flags], WORLDS_MS_MAX);
  const seeds = [...output.matchAll(/^SEED .+$/gm)].map(([line]) => line);
  const what = /^What went wrong +(.+)$/m.exec(output)?.[1];
  const told = what === undefined ? ended : `${seeds[0] ?? ""}: ${what}`;
  return { passed: code === 0, failed: [told] };
}

interface Ended {
  readonly code: number | null;
  readonly output: string;
  /** How, in words. */
  readonly ended: string;
}

function runNode(root: string, args: readonly string[], msMax: number): Promise<Ended> {
  return new Promise((done) => {
    let output = "";
    // Other work on the machine comes first.
    const child = spawn("nice", ["-n", "15", process.execPath, ...args], {
      cwd: root,
      stdio: ["ignore", "pipe", "pipe"],
      // A group of its own: the runner's children end with it, also those in an endless loop.
      detached: true,
    });
    let late = false;
    const limit = setTimeout(() => {
      late = true;
      if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    }, msMax);
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
    }
    child.on("error", () => undefined);
    child.on("close", (code) => {
      clearTimeout(limit);
      done({ code, output, ended: late ? "it took too long" : `exit code ${code}` });
    });
  });
}
