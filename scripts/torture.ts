/**
 * `npm run torture -- [--kills N] [--minutes M] [--seed S] [--json]`: kills a real server again and
 * again while callers use it, and reads back all that was acknowledged. A difference ends the run
 * with a story, exit code 1, and the data directory kept.
 *
 * A seed repeats what callers choose, not the moment of a kill.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { torture } from "../tests/torture/torture.ts";
import type { TortureReport } from "../tests/torture/torture.ts";

const USAGE = "usage: npm run torture -- [--kills N] [--minutes M] [--seed S] [--json]\n";
const WRONG_SHOWN = 10;
const STORY_SHOWN = 12;

function readFlags() {
  try {
    return parseArgs({
      options: {
        kills: { type: "string", default: "100" },
        minutes: { type: "string" },
        seed: { type: "string" },
        json: { type: "boolean", default: false },
        help: { type: "boolean", default: false },
      },
    }).values;
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n${USAGE}`);
    process.exit(2);
  }
}

function whole(text: string, min: number): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(value) && value >= min) return value;
  process.stderr.write(`"${text}" is not a whole number from ${min}\n${USAGE}`);
  process.exit(2);
}

function countsText(title: string, counts: Readonly<Record<string, number>>): string {
  const lines = Object.entries(counts).map(
    ([name, times]) => `  ${String(times).padStart(6)}  ${name}`,
  );
  return `${title}\n${lines.join("\n") || "  nothing"}\n`;
}

function print(report: TortureReport): void {
  process.stdout.write(countsText("\nkills by what they were aimed at:", report.aimed));
  process.stdout.write(countsText("kills by what was stored half done:", report.halfDone));
  process.stdout.write(countsText("kills by calls without an answer:", report.unanswered));
  process.stdout.write(countsText("answers:", report.answers));
  process.stdout.write(
    `\n${report.kills} kills in ${Math.round(report.seconds / 60)} min (seed ${report.seed}): ` +
      `${report.eventsAcknowledged} events acknowledged, ${report.eventsCompared} read back and compared; ` +
      `the slowest start took ${report.slowestStartMs} ms\n`,
  );
}

const flags = readFlags();
if (flags.help) {
  process.stdout.write(USAGE);
  process.exit(0);
}
const seed = flags.seed === undefined ? Date.now() % 1_000_000 : whole(flags.seed, 0);
const data = join(await mkdtemp(join(tmpdir(), "braid-torture-")), "data");
const progress = flags.json ? process.stderr : process.stdout;
progress.write(`seed ${seed}, data in ${data}\n`);
const report = await torture({
  seed,
  kills: whole(flags.kills, 1),
  minutes: flags.minutes === undefined ? undefined : whole(flags.minutes, 1),
  data,
  onProgress: (line) => progress.write(`${line}\n`),
});
if (flags.json) process.stdout.write(`${JSON.stringify(report)}\n`);
else print(report);
const { failure } = report;
if (failure === undefined) {
  progress.write("nothing that was acknowledged was lost or altered\n");
  await rm(join(data, ".."), { recursive: true, force: true });
} else {
  process.stderr.write(`\nWRONG after kill ${report.kills}:\n`);
  for (const what of failure.wrong.slice(0, WRONG_SHOWN)) process.stderr.write(`  ${what}\n`);
  const more = failure.wrong.length - WRONG_SHOWN;
  if (more > 0) process.stderr.write(`  and ${more} more\n`);
  process.stderr.write("\nwhat happened before it:\n");
  for (const line of failure.story.slice(-STORY_SHOWN)) process.stderr.write(`  ${line}\n`);
  process.stderr.write(
    `\nthe data directory is kept: ${data}\n` +
      `npm run torture -- --seed ${seed} chooses the same calls again; the moments of kills differ\n`,
  );
}
process.exit(failure === undefined ? 0 : 1);
