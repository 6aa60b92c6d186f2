/** Processor time and memory of a process, from /proc. */
import { readFile } from "node:fs/promises";

/** The kernel counts processor time in ticks, this many per second. */
const TICKS = 100;

/** Seconds of processor time a process has had, its threads included; 0 where there is no /proc. */
export async function processorSeconds(pid: number | undefined): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  // The second field is the program's name in brackets, which may hold blanks.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) / TICKS;
}

/** By name, in MiB; empty where there is no /proc. */
export async function memoryOf(pid: number | undefined): Promise<Record<string, number>> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  const lines = status.matchAll(/^(\w+):\s+(\d+) kB$/gm);
  const entries = [...lines].map(([, name = "", kib]): [string, number] => [
    name,
    Number(kib) / 1024,
  ]);
  return Object.fromEntries(entries);
}
