/** Finds Go on this machine: on the path, or where its archive installs it. */
import { spawnSync } from "node:child_process";

/** The first version that downloads a newer toolchain by itself if a module needs one. */
const MINOR_MIN = 21;

/** The command to run, or undefined if there is none that is new enough. */
export function findGo(): string | undefined {
  return ["go", "/usr/local/go/bin/go"].find((command) => minorOf(command) >= MINOR_MIN);
}

/** Of Go 1; -1 if the command does not run. */
function minorOf(command: string): number {
  const { stdout } = spawnSync(command, ["version"], { encoding: "utf8" });
  return Number(/\bgo1\.(\d+)/.exec(stdout ?? "")?.[1] ?? -1);
}
