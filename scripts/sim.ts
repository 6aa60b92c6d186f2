/**
 * `npm run sim -- [--kind plain|full] [--seed N] [--worlds M] [--minutes T] [--seconds S]
 * [--without FAULT,...] [--as-it-is] [--json]`: worlds by seeds, each with servers, workers, callers
 * and faults on a virtual clock. A seed is printed before its world begins, so that one that hangs
 * is known too. The first that fails is the last one: it is made smaller, except with `--as-it-is`,
 * and its story is printed.
 */
import { parseArgs } from "node:util";
import { FAULTS, WORLD_KINDS } from "../tests/sim/kinds.ts";
import type { Fault } from "../tests/sim/kinds.ts";
import { reachedMarks } from "../tests/sim/marks.ts";
import { shrink } from "../tests/sim/shrink.ts";
import { tellStory } from "../tests/sim/story.ts";
import { SimFailure, simulate } from "../tests/sim/world.ts";
import type { SimReport } from "../tests/sim/world.ts";

const USAGE =
  "usage: npm run sim -- [--kind plain|full] [--seed N] [--worlds M] [--minutes T] [--seconds S] " +
  `[--without FAULT,...] [--as-it-is] [--json]\nfaults: ${FAULTS.join(", ")}\n`;
/** How long a failing world is made smaller. */
const SHRINK_MS = 60_000;

function refuse(problem: string): never {
  process.stderr.write(`${problem}\n${USAGE}`);
  process.exit(2);
}

function whole(text: string, min: number): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(value) && value >= min) return value;
  return refuse(`"${text}" is not a whole number from ${min}`);
}

function readFlags() {
  try {
    return parseArgs({
      options: {
        kind: { type: "string", default: "plain" },
        seed: { type: "string" },
        worlds: { type: "string" },
        minutes: { type: "string" },
        seconds: { type: "string" },
        without: { type: "string", default: "" },
        "as-it-is": { type: "boolean", default: false },
        json: { type: "boolean", default: false },
        help: { type: "boolean", default: false },
      },
    }).values;
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error));
  }
}

const flags = readFlags();
if (flags.help) {
  process.stdout.write(USAGE);
  process.exit(0);
}
const kind = WORLD_KINDS.find((each) => each === flags.kind) ?? refuse(`no kind "${flags.kind}"`);
const without = flags.without
  .split(",")
  .filter((name) => name !== "")
  .map((name): Fault => FAULTS.find((each) => each === name) ?? refuse(`no fault "${name}"`));
const first = flags.seed === undefined ? Date.now() % 1_000_000 : whole(flags.seed, 0);
const minutes = flags.minutes === undefined ? Infinity : whole(flags.minutes, 1);
const worldsMax = flags.minutes === undefined ? 10 : Number.MAX_SAFE_INTEGER;
const worlds = flags.worlds === undefined ? worldsMax : whole(flags.worlds, 1);
const seconds = flags.seconds === undefined ? undefined : whole(flags.seconds, 1);
// In either case a person may be watching.
const progress = flags.json ? process.stderr : process.stdout;
const reports: SimReport[] = [];
const untilMs = performance.now() + minutes * 60_000;
const cpuBefore = process.cpuUsage();
for (let seed = first; seed < first + worlds && performance.now() < untilMs; seed++) {
  progress.write(`seed ${seed}: `);
  const options = { seed, kind, without, ...(seconds !== undefined && { seconds }) };
  try {
    const report = await simulate(options);
    reports.push(report);
    progress.write(`${lineOf(report)}\n`);
  } catch (error) {
    if (!(error instanceof SimFailure)) throw error;
    const { failure } = error;
    if (flags["as-it-is"]) process.stderr.write(`failed\n\n${tellStory(failure)}`);
    else {
      progress.write("failed; looking for a smaller world that fails in the same way\n");
      const smallest = await shrink(failure, performance.now() + SHRINK_MS);
      process.stderr.write(`\n${tellStory(smallest)}`);
    }
    process.exit(1);
  }
}
if (flags.json) process.stdout.write(`${JSON.stringify(reports)}\n`);
else summarize();
// What was killed in a world waits for ever.
process.exit(0);

function lineOf({ events, reads, verified, splits, counts }: SimReport): string {
  const ended = Object.entries(splits).map(([state, count]) => `${count} ${state}`);
  const served = (counts["route SPLIT"] ?? 0) + (counts["route SPLIT_AND_ORIGINAL"] ?? 0);
  const states = ended.join(", ") || "no splits";
  return `${events} events, ${reads} reads, ${served} partitions served from splits, ${verified} events verified; ${states}`;
}

function summarize(): void {
  const used = process.cpuUsage(cpuBefore);
  const cpuSeconds = (used.user + used.system) / 1e6;
  const simulatedHours = reports.reduce((sum, report) => sum + report.seconds, 0) / 3_600;
  const marks = reachedMarks(reports);
  const width = Math.max(...marks.map(({ name }) => name.length));
  process.stdout.write("\nRare states, and how often they were reached\n");
  for (const { name, times } of marks) {
    process.stdout.write(`  ${name.padEnd(width)}  ${times === 0 ? "NEVER" : times}\n`);
  }
  process.stdout.write(
    `\n${reports.length} ${kind} worlds, no read or split wrong, every split came to rest\n` +
      `${simulatedHours.toFixed(1)} simulated hours in ${cpuSeconds.toFixed(1)} CPU seconds: ` +
      `${(reports.length / cpuSeconds).toFixed(2)} worlds, ${(simulatedHours / cpuSeconds).toFixed(3)} hours per CPU second\n`,
  );
}
