/**
 * A seed that each commit has for itself: the random tests see something new with every change, and a
 * run of the same commit repeats them, so a failure cannot go away by itself. BRAID_SEED sets another.
 */
import { execFileSync } from "node:child_process";

/** Hexadecimal digits of the commit's name. */
const DIGITS = 7;

export function commitSeed(): number {
  return Number(process.env["BRAID_SEED"] ?? Number.parseInt(commit().slice(0, DIGITS), 16));
}

/** Zeros where git knows no commit, as in an unpacked archive. */
function commit(): string {
  try {
    const stdio = ["ignore", "pipe", "ignore"] as const;
    return execFileSync("git", ["rev-parse", "HEAD"], { encoding: "utf8", stdio: [...stdio] });
  } catch {
    return "0".repeat(DIGITS);
  }
}
