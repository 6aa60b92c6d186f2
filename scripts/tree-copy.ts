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

export interface TestRun {
  readonly passed: boolean;
  /** Titles of the tests that failed, or what ended the run. */
  readonly failed: readonly string[];
}

export interface TreeCopy extends AsyncDisposable {
  readonly root: string;
  runTests(files: readonly string[], msMax?: number): Promise<TestRun>;
}

export async function copyTree(): Promise<TreeCopy> {
  const root = await mkdtemp(join(tmpdir(), "braid-tree-"));
  for (const name of COPIED) await cp(name, join(root, name), { recursive: true });
  await symlink(resolve("node_modules"), join(root, "node_modules"));
  return {
    root,
    runTests: (files, msMax = TEST_MS_MAX) => runTests(root, files, msMax),
    [Symbol.asyncDispose]: () => rm(root, { recursive: true, force: true }),
  };
}

function runTests(root: string, files: readonly string[], msMax: number): Promise<TestRun> {
  const flags = ["--test", "--test-concurrency=1", "--test-reporter=tap"];
  return new Promise((done) => {
    let output = "";
    // Other work on the machine comes first.
    const child = spawn("nice", ["-n", "15", process.execPath, ...flags, ...files], {
      cwd: root,
      stdio: ["ignore", "pipe", "ignore"],
      // A group of its own: the runner's children end with it, also those in an endless loop.
      detached: true,
    });
    let late = false;
    const limit = setTimeout(() => {
      late = true;
      if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    }, msMax);
    child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
    child.on("error", () => undefined);
    child.on("close", (code) => {
      clearTimeout(limit);
      const titles = [...output.matchAll(/^ *not ok \d+ - (.+)$/gm)].map(
        ([, title]) => title ?? "",
      );
      const ended = late ? "it took too long" : `exit code ${code}`;
      done({ passed: code === 0, failed: titles.length > 0 ? titles : [ended] });
    });
  });
}
