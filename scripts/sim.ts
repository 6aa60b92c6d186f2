/**
 * `npm run sim -- [--seed N] [--worlds M] [--json]`: small worlds by seeds, each with servers,
 * workers, readers and faults on a virtual clock. A seed is printed before its world begins, so
 * that one that hangs is known too; the first that fails is the last one, and fails again.
 */
import { parseArgs } from "node:util";
import { SimFailure, simulate } from "../tests/sim/world.ts";
import type { SimReport } from "../tests/sim/world.ts";

const USAGE = "usage: npm run sim -- [--seed N] [--worlds M] [--json]\n";

function whole(text: string, min: number): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(value) && value >= min) return value;
  process.stderr.write(`"${text}" is not a whole number from ${min}\n${USAGE}`);
  process.exit(2);
}

function readFlags() {
  try {
    return parseArgs({
      options: {
        seed: { type: "string" },
        worlds: { type: "string", default: "10" },
        json: { type: "boolean", default: false },
        help: { type: "boolean", default: false },
      },
    }).values;
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n${USAGE}`);
    process.exit(2);
  }
}

const flags = readFlags();
if (flags.help) {
  process.stdout.write(USAGE);
  process.exit(0);
}
const first = flags.seed === undefined ? Date.now() % 1_000_000 : whole(flags.seed, 0);
const worlds = whole(flags.worlds, 1);
// In either case a person may be watching.
const progress = flags.json ? process.stderr : process.stdout;
const reports: SimReport[] = [];
for (let seed = first; seed < first + worlds; seed++) {
  progress.write(`seed ${seed}: `);
  try {
    const report = await simulate(seed);
    reports.push(report);
    progress.write(`${lineOf(report)}\n`);
  } catch (error) {
    const what = error instanceof SimFailure ? error.message : error;
    process.stderr.write(`\nseed ${seed} FAILED: ${String(what)}\n`);
    process.exit(1);
  }
}
if (flags.json) process.stdout.write(`${JSON.stringify(reports)}\n`);
else process.stdout.write(`${worlds} worlds, no read or split wrong, every split came to rest\n`);
// What was killed in a world waits for ever.
process.exit(0);

function lineOf({ events, reads, verified, splits, counts }: SimReport): string {
  const ended = Object.entries(splits).map(([state, count]) => `${count} ${state}`);
  const served = counts["served"] ?? 0;
  const states = ended.join(", ") || "no splits";
  return `${events} events, ${reads} reads, ${served} partitions served from splits, ${verified} events verified; ${states}`;
}
