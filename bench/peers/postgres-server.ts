/**
 * A PostgreSQL of the bench's own: in a temporary folder, with its defaults except for 1 GB of
 * shared buffers, as a user without rights, because it refuses to run as root.
 */
import { execFile, spawn } from "node:child_process";
import { globSync } from "node:fs";
import { chown, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { Client } from "pg";
import { endWithUs } from "../../scripts/services/java-process.ts";
import { processorSeconds } from "../support/process-figures.ts";

const run = promisify(execFile);
const READY_MS_MAX = 60_000;
const POLL_MS = 100;

export interface PostgresServer {
  readonly port: number;
  readonly version: string;
  /** Of all its processes that run now. */
  processorSeconds(): Promise<number>;
  stop(): Promise<void>;
}

/** The folder of its programs, the newest version first; undefined where it is not installed. */
export function findPostgres(): string | undefined {
  const folders = ["/usr/lib/postgresql/*/bin", "/usr/local/pgsql/bin", "/opt/homebrew/bin"];
  const found = globSync(folders.map((folder) => `${folder}/initdb`));
  const version = (path: string): number => Number(/\/(\d+)\/bin/.exec(path)?.[1] ?? 0);
  return found.toSorted((a, b) => version(b) - version(a))[0]?.replace(/\/initdb$/, "");
}

export async function startPostgres(programs: string): Promise<PostgresServer> {
  const directory = await mkdtemp(join(tmpdir(), "braid-bench-postgres-"));
  const user = await unprivileged();
  if (user !== undefined) await chown(directory, user.uid, user.gid);
  const data = join(directory, "data");
  const options = ["-D", data, "-U", "bench", "-A", "trust", "-E", "UTF8", "--locale", "C"];
  await run(join(programs, "initdb"), options, { ...user, cwd: directory });
  const port = await freePort();
  const settings = [
    "listen_addresses=127.0.0.1",
    `port=${port}`,
    `unix_socket_directories=${directory}`,
    "shared_buffers=1GB",
  ];
  const child = spawn(
    join(programs, "postgres"),
    ["-D", data, ...settings.flatMap((setting) => ["-c", setting])],
    // Its log would drown the progress of the bench.
    { ...user, cwd: directory, stdio: "ignore", detached: true },
  );
  if (child.pid !== undefined) endWithUs(child.pid, child);
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const stop = async (): Promise<void> => {
    // Ends sessions instead of waiting for them.
    child.kill("SIGINT");
    await exited;
    await rm(directory, { recursive: true, force: true });
  };
  try {
    const version = await createTables(port);
    return { port, version, processorSeconds: () => secondsOfAll(child.pid), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Its own user, or nobody; undefined where we are not root, and so are good enough. */
async function unprivileged(): Promise<{ uid: number; gid: number } | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const users = await readFile("/etc/passwd", "utf8");
  for (const name of ["postgres", "nobody"]) {
    const [, uid, gid] = new RegExp(`^${name}:[^:]*:(\\d+):(\\d+):`, "m").exec(users) ?? [];
    if (uid !== undefined) return { uid: Number(uid), gid: Number(gid) };
  }
  throw new Error("PostgreSQL refuses to run as root, and there is no user postgres or nobody");
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === "string") throw new Error("no free port");
  return address.port;
}

/** Returns the version. */
async function createTables(port: number): Promise<string> {
  const client = await connected(port);
  for (const table of ["events", "ingested"]) {
    // Microseconds as a number: pg turns a timestamptz into a Date, which has milliseconds only.
    await client.query(
      `CREATE TABLE ${table} (series text, time bigint, event_id text, payload bytea,
        PRIMARY KEY (series, time, event_id))`,
    );
  }
  const { rows } = await client.query<{ server_version: string }>("SHOW server_version");
  await client.end();
  return rows[0]?.server_version ?? "?";
}

async function connected(port: number): Promise<Client> {
  const end = performance.now() + READY_MS_MAX;
  for (;;) {
    const client = new Client({ host: "127.0.0.1", port, user: "bench", database: "postgres" });
    try {
      await client.connect();
      return client;
    } catch (error) {
      if (performance.now() > end) throw error;
      await pause(POLL_MS);
    }
  }
}

/** A process for each connection, and a few more. */
async function secondsOfAll(pid: number | undefined): Promise<number> {
  let sum = await processorSeconds(pid);
  for (const name of await readdir("/proc").catch(() => [])) {
    if (!/^\d+$/.test(name)) continue;
    const stat = await readFile(`/proc/${name}/stat`, "utf8").catch(() => "");
    const parent = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
    if (parent === pid) sum += await processorSeconds(Number(name));
  }
  return sum;
}
