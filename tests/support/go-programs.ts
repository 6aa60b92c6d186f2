/** Go programs that tests run: each is built once and kept outside the tree. */
import { equal, ok } from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { findGo } from "../../scripts/find-go.ts";

const CACHE = join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "braid-tests");

export interface Said {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/** Runs a command to its end. */
export async function runProgram(
  command: string,
  args: readonly string[],
  { env = {}, cwd }: RunOptions = {},
): Promise<Said> {
  const child = spawn(command, args, {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...env },
    cwd,
  });
  const [out, err, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close"),
  ]);
  return { code: Number(code), out, err };
}

/** The same, for a command that must succeed. Returns what it printed. */
export async function runGo(args: readonly string[], options: RunOptions = {}): Promise<string> {
  const go = findGo();
  ok(go !== undefined);
  const env = { GOFLAGS: "", ...options.env };
  const { code, out, err } = await runProgram(go, args, { ...options, env });
  equal(code, 0, err);
  return out;
}

/**
 * Returns the path of a file or folder that `make` makes once. `name` must say everything that
 * decides what it makes. `make` gets an empty folder and returns what to keep of it.
 */
export async function madeOnce(
  name: string,
  make: (folder: string) => Promise<string>,
): Promise<string> {
  const kept = join(CACHE, name);
  if (existsSync(kept)) return kept;
  await mkdir(CACHE, { recursive: true });
  const folder = await mkdtemp(join(CACHE, "building-"));
  try {
    const made = await make(folder);
    // The rename is atomic, also when two runs build at once.
    if (!existsSync(kept)) await rename(made, kept);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return kept;
}

/** Installs the command of a public module at a version; returns the program's path. */
export function installedOnce(module: string, version: string): Promise<string> {
  const name = module.slice(module.lastIndexOf("/") + 1);
  return madeOnce(`${name}-${version}`, async (folder) => {
    await runGo(["install", `${module}@${version}`], { env: { GOBIN: folder } });
    return join(folder, name);
  });
}
