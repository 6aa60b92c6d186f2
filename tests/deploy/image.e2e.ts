/**
 * The content of the container image, run without Docker: built in the steps of the Dockerfile, then
 * started in a root directory that has nothing but Node, its C library and Braid, which it cannot
 * change, as the user of the image.
 *
 * What differs from the image: the C library is this machine's, and the libraries come from the clone
 * instead of the registry (the same ones: those of the lock file that are not for development).
 *
 * @needs tmpfs
 */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  copyFileSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { after, before, test } from "node:test";
import { connect } from "../../client/connect.ts";
import { until } from "../support/conditions.ts";
import { collect } from "../support/fake-braid.ts";

const USER = 65532;
const COMMIT = "0123456789ab";
const MB = 1_000_000;
/** The base image of the last stage, as Debian's packages have it, and something to spare. */
const BASE_BYTES = 30 * MB;

const work = mkdtempSync(join(tmpdir(), "braid-image-"));
const root = join(work, "root");
const data = join(work, "data");
const started: ChildProcess[] = [];
const dockerfile = readFileSync("Dockerfile", "utf8");

before(() => {
  buildPackage(join(work, "build"));
  install(join(root, "app"));
  addSystem();
  mkdirSync(data);
  chownSync(data, USER, USER);
});

after(() => {
  for (const child of started) child.kill("SIGKILL");
  rmSync(work, { recursive: true, force: true });
});

test("the image needs less than 250 MB", () => {
  const files = globSync("{app,usr/local}/**", { cwd: root, withFileTypes: true });
  const bytes = files
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
  ok(bytes + BASE_BYTES < 250 * MB, `${bytes + BASE_BYTES} bytes`);
});

test("the image has no sources, types, tests or tools", () => {
  const found = globSync(["**/*.{ts,mts,cts,map}", "dist/**/*.test.js"], {
    cwd: join(root, "app"),
  });
  deepEqual(found, []);
  const dev = ["typescript", "oxlint", "packaged-node"].filter((name) =>
    existsSync(join(root, "app/node_modules", name)),
  );
  deepEqual(dev, []);
  ok(existsSync(join(root, "app/LICENSE")));
  ok(existsSync(join(root, "app/node_modules/zod/LICENSE")));
});

test("the image reports its version and the commit it was built from", async () => {
  const { code, out } = await ran(inImage(["--version"]));
  equal(code, 0);
  match(out, new RegExp(`^braid \\d+\\.\\d+\\.\\d+ \\(${COMMIT}\\)$`, "m"));
});

test("the image serves as another user on a root it cannot change; its health check says so", async () => {
  const first = await startServe();
  equal(statusOf(first.child, "Uid").split("\t")[0], String(USER));
  const refused = await ran(inImage(["serve"], { BRAID_DATA: "/app", BRAID_LISTEN: "0.0.0.0:0" }));
  equal(refused.code, 1);
  match(refused.err, /the data directory \/app cannot be locked/);

  equal((await health(first.url)).code, 0);
  match(await (await fetch(`${first.url}/`)).text(), /<script type="module"/, "it has the console");
  const client = connect(first.url);
  await client.createNamespace("plays");
  const event = { timeSeriesId: "a", eventTime: new Date(), eventId: "e", items: { k: "v" } };
  await client.writeSync("plays", [event]);

  first.child.kill("SIGTERM");
  equal(await ended(first.child), 0, "SIGTERM drains");
  equal((await health(first.url)).code, 1);

  const second = await startServe();
  const from = new Date(event.eventTime.getTime() - 1_000).toISOString();
  const to = new Date(event.eventTime.getTime() + 1_000).toISOString();
  const found = await collect(
    connect(second.url).read("plays", { timeSeriesId: "a", start: from, end: to }),
  );
  deepEqual(
    found.map(({ eventId }) => eventId),
    ["e"],
    "the volume has what the first container wrote",
  );
  second.child.kill("SIGTERM");
  equal(await ended(second.child), 0);
});

/** The stage `build`: what .dockerignore lets through, built and packed. */
function buildPackage(folder: string): void {
  const ignored = new Set(readFileSync(".dockerignore", "utf8").split("\n"));
  for (const name of readdirSync(".")) {
    if (ignored.has(name) || ignored.has(`**/${name}`) || name === "package") continue;
    const filter = (path: string): boolean => !/\/(?:dist|node_modules)$/.test(path);
    cpSync(name, join(folder, name), { recursive: true, filter });
  }
  symlinkSync(resolve("node_modules"), join(folder, "node_modules"));
  const env = { ...process.env, SOURCE_COMMIT: COMMIT };
  execFileSync(process.execPath, ["scripts/build.ts"], { cwd: folder, env, stdio: "pipe" });
  const pack = ["pack", "--ignore-scripts", "--offline", "--pack-destination", work];
  execFileSync("npm", pack, { cwd: folder, stdio: "pipe" });
}

/** The stage `install`, with its own command, except that npm fetches nothing. */
function install(folder: string): void {
  const command = /^RUN (tar -xzf [^]*?[^\\])$/m.exec(dockerfile)?.[1];
  ok(command !== undefined);
  const tarball = join(work, readdirSync(work).find((name) => name.endsWith(".tgz")) ?? "");
  mkdirSync(folder, { recursive: true });
  const steps = command
    .replace("/tmp/braid.tgz", tarball)
    .replace(/npm ci [^&]*&&/, "true &&")
    .replace("mkdir /data", "true");
  const before = steps.split("&&")[0] ?? "";
  execFileSync("sh", ["-ec", before], { cwd: folder });
  copyLibraries(folder);
  execFileSync("sh", ["-ec", steps.slice(before.length + 2)], { cwd: folder });
}

/** What `npm ci --omit=dev` installs, by the lock file. */
function copyLibraries(folder: string): void {
  const lock = JSON.parse(readFileSync("package-lock.json", "utf8")) as {
    packages: Record<string, { dev?: boolean; devOptional?: boolean; link?: boolean }>;
  };
  for (const [path, { dev, devOptional, link }] of Object.entries(lock.packages)) {
    if (!path.startsWith("node_modules/") || dev === true || devOptional === true) continue;
    // Optional ones of other platforms are not here.
    if (link === true || !existsSync(path)) continue;
    const nested = join(resolve(path), "node_modules");
    const filter = (from: string): boolean => from !== nested;
    cpSync(resolve(path), join(folder, path), { recursive: true, filter });
  }
}

/** The last stage: Node, the launcher, and for the base image the libraries that Node needs. */
function addSystem(): void {
  const node = join(root, "usr/local/bin/node");
  mkdirSync(dirname(node), { recursive: true });
  copyFileSync(process.execPath, node);
  chmodSync(node, 0o755);
  cpSync("deploy/docker/braid", join(root, "usr/local/bin/braid"));
  chmodSync(join(root, "usr/local/bin/braid"), 0o755);
  const native = globSync("node_modules/**/*.node", { cwd: join(root, "app") });
  const programs = [process.execPath, ...native.map((file) => join(root, "app", file))];
  // It fails for the files of other machines, and prints the rest.
  const needed = spawnSync("ldd", programs, { encoding: "utf8" }).stdout;
  for (const [library] of needed.matchAll(/\/(?:usr\/)?lib\S+\.so\S*/g)) {
    mkdirSync(dirname(join(root, library)), { recursive: true });
    copyFileSync(library, join(root, library)); // Links are followed.
  }
  for (const folder of ["dev", "proc", "tmp", "var/lib/braid"]) {
    mkdirSync(join(root, folder), { recursive: true });
  }
}

/** Starts the image's entry point with its environment, in mounts of its own. */
function inImage(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): ChildProcess {
  const mounts = [
    `mount --bind ${root} ${root}`,
    `mount -o remount,bind,ro ${root}`,
    `mount --rbind /dev ${root}/dev`,
    `mount --rbind /proc ${root}/proc`,
    `mount -t tmpfs tmpfs ${root}/tmp`,
    `mount --bind ${data} ${root}/var/lib/braid`,
    `exec chroot --userspec=${USER}:${USER} ${root} /usr/local/bin/braid "$@"`,
  ];
  const own = Object.fromEntries(
    [...dockerfile.matchAll(/^(?:ENV|\s{4})\s*([A-Z_]+)=(\S+)/gm)].map(
      ([, name = "", value = ""]) => [name, value],
    ),
  );
  const child = spawn("unshare", ["--mount", "sh", "-ec", mounts.join("\n"), "braid", ...args], {
    cwd: "/",
    env: { PATH: process.env["PATH"], ...own, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  started.push(child);
  return child;
}

async function startServe(): Promise<{ child: ChildProcess; url: string }> {
  const child = inImage(["serve"], { BRAID_LISTEN: "0.0.0.0:0" });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on("data", (chunk: Buffer) => (said += chunk.toString()));
  }
  let port: string | undefined;
  await until(() => {
    port = /0\.0\.0\.0:(\d+)/.exec(said)?.[1];
    ok(child.exitCode === null, said);
    return port !== undefined;
  });
  return { child, url: `http://127.0.0.1:${port}` };
}

function health(url: string): Promise<Ran> {
  const [, words = ""] = /^HEALTHCHECK .* CMD (\[.*\])$/m.exec(dockerfile) ?? [];
  const [entry, ...args] = JSON.parse(words) as string[];
  equal(entry, "/usr/local/bin/braid");
  return ran(inImage(args, { BRAID_URL: url }));
}

interface Ran {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

async function ran(child: ChildProcess): Promise<Ran> {
  const { stdout, stderr } = child;
  ok(stdout !== null && stderr !== null);
  const [out, err, code] = await Promise.all([text(stdout), text(stderr), ended(child)]);
  return { code, out, err };
}

async function ended(child: ChildProcess): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  return child.exitCode;
}

function statusOf({ pid }: ChildProcess, field: string): string {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return new RegExp(`^${field}:\\t(.*)$`, "m").exec(status)?.[1] ?? "";
}
