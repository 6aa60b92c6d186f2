/**
 * `npm run crash-points -- [--kind TEXT] [--step N] [--every K] [--pairs N] [--seed S] [--json]`:
 * ends a process before and after each of its calls to the catalog and the store, and loses each
 * answer, for every kind of work. Another process continues; reads must be exact all the time, and
 * everything must converge. `--kind` and `--step` repeat one and print what happened.
 */
import { parseArgs } from "node:util";
import { SeededRandom } from "../src/lib/seeded-random.ts";
import { countSteps, crashAt } from "../tests/crash-points/crash-points.ts";
import type { CountedSteps } from "../tests/crash-points/crash-points.ts";
import { CRASH_SCENARIOS } from "../tests/crash-points/crash-scenarios.ts";
import type { CrashScenario } from "../tests/crash-points/crash-scenarios.ts";
import { SIDES } from "../tests/crash-points/crash-step.ts";
import type { CrashPoint } from "../tests/crash-points/crash-step.ts";

const USAGE =
  "usage: npm run crash-points -- [--kind TEXT] [--step N] [--every K] [--pairs N] [--seed S] [--json]\n";
/** The second of two crashes comes at one of the first steps of the process that continues. */
const SECOND_STEPS = 150;

interface KindReport {
  readonly kind: string;
  readonly steps: number;
  readonly points: number;
  readonly pairs: number;
  readonly readsJudged: number;
  readonly failed: readonly { readonly points: readonly CrashPoint[]; readonly wrong: string }[];
}

function readFlags() {
  try {
    return parseArgs({
      options: {
        kind: { type: "string", default: "" },
        step: { type: "string" },
        every: { type: "string", default: "1" },
        pairs: { type: "string", default: "20" },
        seed: { type: "string", default: "1" },
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

const flags = readFlags();
if (flags.help) {
  process.stdout.write(USAGE);
  process.exit(0);
}
const every = whole(flags.every, 1);
const random = new SeededRandom(whole(flags.seed, 0));
const one = flags.step === undefined ? undefined : whole(flags.step, 0);
const progress = flags.json ? process.stderr : process.stdout;
const scenarios = CRASH_SCENARIOS.filter(({ kind }) => kind.includes(flags.kind));
if (scenarios.length === 0) {
  const kinds = CRASH_SCENARIOS.map(({ kind }) => `  ${kind}\n`).join("");
  process.stderr.write(`no kind contains "${flags.kind}"; there are:\n${kinds}`);
  process.exit(2);
}
const reports: KindReport[] = [];
for (const scenario of scenarios) {
  const counted = await countSteps(scenario);
  const report = await enumerate(scenario, counted);
  reports.push(report);
  const failed = report.failed.length === 0 ? "all converge" : `${report.failed.length} FAILED`;
  progress.write(
    `${scenario.kind}: ${report.steps} steps, ${report.points} crash points, ` +
      `${report.pairs} pairs, ${report.readsJudged} reads judged: ${failed}\n`,
  );
}
const failures = reports.reduce((sum, { failed }) => sum + failed.length, 0);
const points = reports.reduce((sum, report) => sum + report.points, 0);
const pairs = reports.reduce((sum, report) => sum + report.pairs, 0);
if (flags.json) process.stdout.write(`${JSON.stringify(reports)}\n`);
else {
  progress.write(
    `${points} crash points and ${pairs} pairs of ${reports.length} kinds, ${failures} failed\n`,
  );
}
process.exit(failures === 0 ? 0 : 1);

async function enumerate(scenario: CrashScenario, counted: CountedSteps): Promise<KindReport> {
  const steps = counted.steps.length;
  const singles = Array.from({ length: steps }, (_, step) => step)
    .filter((step) => (one === undefined ? step % every === 0 : step === one))
    .flatMap((step) => SIDES.map((side) => [{ step, side }]));
  const pairCount = one === undefined ? whole(flags.pairs, 0) : 0;
  const pairsOf = Array.from({ length: pairCount }, () => [
    { step: random.below(steps), side: random.one(SIDES) },
    { step: random.below(Math.min(steps, SECOND_STEPS)), side: random.one(SIDES) },
  ]);
  const failed: { points: readonly CrashPoint[]; wrong: string }[] = [];
  let readsJudged = 0;
  for (const crashes of [...singles, ...pairsOf]) {
    const run = await crashAt(scenario, crashes, counted);
    readsJudged += run.readsJudged;
    if (run.wrong.length > 0) {
      failed.push({ points: crashes, wrong: run.wrong[0] ?? "" });
      const [{ step } = { step: 0 }] = crashes;
      process.stderr.write(
        `\nFAILED: ${run.story}\nnpm run crash-points -- --kind "${scenario.kind}" --step ${step}\n\n`,
      );
    } else if (one !== undefined) progress.write(`${run.story}\n\n`);
  }
  return {
    kind: scenario.kind,
    steps,
    points: singles.length,
    pairs: pairCount,
    readsJudged,
    failed,
  };
}
