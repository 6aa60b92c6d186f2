/**
 * A started process, recorded in a file beside its log, so that another command can stop exactly
 * this process.
 *
 * The system reuses process ids. So the file also has the start time of the process: a process with
 * this id and another start time is a different one.
 */
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { z } from "zod";

const StartedProcess = z.strictObject({
  name: z.string(),
  pid: z.int().positive(),
  /** As the system reports it; used only for comparison. */
  began: z.string(),
  since: z.iso.datetime(),
  version: z.string(),
  /** Where it answers. */
  address: z.string(),
  log: z.string(),
});

export type StartedProcess = Readonly<z.infer<typeof StartedProcess>>;

/** A process gets this long to end by itself; a Cassandra node drains in 2 to 5 seconds. */
const END_MS_MAX = 60_000;
const POLL_MS = 25;

export function writeProcessFile(path: string, started: StartedProcess): void {
  writeFileSync(path, `${JSON.stringify(started, null, 2)}\n`);
}

export function readProcessFile(path: string): StartedProcess {
  return StartedProcess.parse(JSON.parse(readFileSync(path, "utf8")));
}

/** When the process with this id began; undefined if there is none, or only its remains. */
export function beganOf(pid: number): string | undefined {
  if (process.platform === "linux") return beganOnLinux(pid);
  const { stdout } = spawnSync("ps", ["-o", "stat=,lstart=", "-p", String(pid)], {
    encoding: "utf8",
  });
  const [, state = "Z", began] = /^(\S+)\s+(.*\S)\s*$/.exec(stdout) ?? [];
  return state.startsWith("Z") ? undefined : began;
}

export function isRunning({ pid, began }: StartedProcess): boolean {
  return beganOf(pid) === began;
}

/** Resolves when it has ended: asked first if `how` is SIGTERM, and made to if it does not. */
export async function endProcess(
  started: StartedProcess,
  how: "SIGTERM" | "SIGKILL",
): Promise<void> {
  send(started, how);
  // A stopped process handles no signal until it continues.
  if (how === "SIGTERM") send(started, "SIGCONT");
  const until = performance.now() + END_MS_MAX;
  while (isRunning(started)) {
    if (performance.now() > until) send(started, "SIGKILL");
    await pause(POLL_MS);
  }
}

/** Does nothing when it has ended. */
export function send(started: StartedProcess, signal: NodeJS.Signals): void {
  if (!isRunning(started)) return;
  try {
    process.kill(started.pid, signal);
  } catch (error) {
    // It may end between the question and the signal.
    if (isRunning(started)) throw error;
  }
}

function beganOnLinux(pid: number): string | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    return undefined; // No such process.
  }
  // The second field is the program's name in brackets, which may hold blanks; the state follows.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state = "Z"] = fields;
  return state === "Z" || state === "X" ? beganOfThreads(pid, fields[19]) : fields[19];
}

/** Its first thread is dead; the others hold its ports and files until they are too. */
function beganOfThreads(pid: number, began: string | undefined): string | undefined {
  try {
    return readdirSync(`/proc/${pid}/task`).length > 1 ? began : undefined;
  } catch {
    return undefined; // Gone in the meantime.
  }
}
