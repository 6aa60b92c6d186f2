/**
 * Enumerates every crash point of a scenario: a run without a crash counts the steps, then one run
 * for each step and side ends the process there. Another process continues, and the caller repeats
 * what it asked for. Everything must converge to what the run without a crash reached.
 */
import type { CrashPoint } from "./crash-step.ts";
import type { CrashScenario } from "./crash-scenarios.ts";
import { CrashWorld } from "./crash-world.ts";
import type { WorkProcess } from "./crash-world.ts";

const SECONDS_MAX = 900;
/** Then every lease, window of work and left entry has ended. */
const REST_SECONDS = 120;
/** A process manager starts another one after a moment. */
const RESTART_MS = 300;
/** Another process takes over a split when its owner has been silent for a lease. */
const JUDGE_EVERY_MS = 1_000;
/** A process that ends right after its last change leaves the publication to a sweep. */
const SERVED_SECONDS_MAX = 120;
/** Records that one crash may leave, by kind of space. */
const LEFT_BY_A_CRASH: Readonly<Record<string, number>> = {
  // A log: a repeated publication is another entry, for an hour.
  "split-changes": 2,
  // A part that was written and not listed is garbage until its slice is dropped. A copy that begins
  // again leaves all of them.
  parts: 1,
  // Where work waits for a later time, the entry of an earlier process waits too, and then goes.
  "split-work": 1,
};
const STEPS_SHOWN = 8;
const TIMELINE_SHOWN = 40;

export interface CountedSteps {
  readonly steps: readonly string[];
  readonly recordCounts: ReadonlyMap<string, number>;
}

export interface CrashRun {
  readonly wrong: readonly string[];
  /** For people: what the process did before it ended, and what happened in the world. */
  readonly story: string;
  readonly readsJudged: number;
}

/** Without a crash. Throws if that goes wrong already. */
export async function countSteps(scenario: CrashScenario): Promise<CountedSteps> {
  const run = new ScenarioRun(scenario, []);
  const { wrong, story } = await run.run();
  if (wrong.length > 0) throw new Error(`${scenario.kind} goes wrong without a crash\n${story}`);
  return { steps: run.steps, recordCounts: run.recordCounts };
}

/** With a crash at each point, of one process after another. */
export async function crashAt(
  scenario: CrashScenario,
  points: readonly CrashPoint[],
  counted: CountedSteps,
): Promise<CrashRun> {
  const run = new ScenarioRun(scenario, points, counted.recordCounts);
  return run.run();
}

class ScenarioRun {
  readonly #scenario: CrashScenario;
  readonly #points: CrashPoint[];
  readonly #expected: ReadonlyMap<string, number> | undefined;
  readonly #world = new CrashWorld();
  #process: WorkProcess | undefined;
  #asking = false;
  #asked = false;
  readonly #met: { readonly process: WorkProcess; readonly point: CrashPoint }[] = [];
  /** Of the first process. */
  steps: readonly string[] = [];
  recordCounts: ReadonlyMap<string, number> = new Map();

  constructor(
    scenario: CrashScenario,
    points: readonly CrashPoint[],
    expected?: ReadonlyMap<string, number>,
  ) {
    this.#scenario = scenario;
    this.#points = [...points];
    this.#expected = expected;
  }

  async run(): Promise<CrashRun> {
    const world = this.#world;
    try {
      await this.#scenario.prepare(world);
      this.#startProcess();
      await this.#untilDone();
      await this.#finish();
    } catch (error) {
      world.fail(error instanceof Error ? (error.stack ?? error.message) : String(error));
    }
    world.close();
    return { wrong: world.wrong, story: this.#story(), readsJudged: world.readsJudged };
  }

  #startProcess(): void {
    const point = this.#points.shift();
    const process = this.#world.start(point && { point });
    process.steps.arm();
    if (this.steps.length === 0) this.steps = process.steps.made;
    this.#process = process;
    this.#asked = false;
    this.#asking = false;
    if (point !== undefined) this.#met.push({ process, point });
  }

  async #untilDone(): Promise<void> {
    const world = this.#world;
    let judgedAtMs = -Infinity;
    for (const fromMs = world.clock.monotonicMs(); ;) {
      await this.#pass(250);
      const nowMs = world.clock.monotonicMs();
      if (nowMs - judgedAtMs >= JUDGE_EVERY_MS) {
        await world.judge();
        judgedAtMs = nowMs;
      }
      if (this.#asked && (await this.#scenario.isDone(world))) return;
      if (nowMs - fromMs > SECONDS_MAX * 1_000) {
        throw new Error(`it is not done after ${SECONDS_MAX} s`);
      }
    }
  }

  /** Lets time pass, with another process if the last one has ended. */
  async #pass(ms: number): Promise<void> {
    const world = this.#world;
    if (this.#process?.steps.dead === true) {
      // Right after the crash, when nothing else has happened yet.
      await world.judge();
      await world.clock.advance(RESTART_MS);
      this.#startProcess();
    }
    this.#ask();
    await world.clock.advance(ms);
  }

  /** The caller asks, and asks again after an error. */
  #ask(): void {
    const process = this.#process;
    if (process === undefined || this.#asking || this.#asked) return;
    this.#asking = true;
    this.#scenario.act(this.#world, process).then(
      () => {
        if (process !== this.#process) return;
        this.#asked = true;
        this.#asking = false;
      },
      (error: unknown) => {
        if (process !== this.#process) return;
        this.#asking = false;
        this.#world.tell(
          `the caller got: ${error instanceof Error ? error.message : String(error)}`,
        );
        const bug = error instanceof Error && error.message.startsWith("assertion failed");
        if (bug || error instanceof TypeError) this.#world.fail(String(error.stack));
      },
    );
  }

  async #finish(): Promise<void> {
    const world = this.#world;
    const { judge, served } = this.#scenario;
    // From here on steps are not part of the work.
    this.steps = [...this.steps];
    for (let seconds = 0; served && !(await world.judge()).has("SPLIT"); seconds++) {
      if (seconds === SERVED_SECONDS_MAX) throw new Error("the split is not served");
      await this.#pass(1_000);
    }
    for (let seconds = 0; seconds < REST_SECONDS; seconds += 30) {
      await this.#pass(30_000);
      await world.judge();
    }
    await judge?.(world);
    if (!(await this.#scenario.isDone(world))) world.fail("what was done did not stay so");
    if (this.#scenario.deleted !== true) world.checkSlices();
    this.recordCounts = world.recordCounts();
    for (const [kind, count] of this.recordCounts) {
      if (kind === "slices" && this.#scenario.ticks === true) continue;
      const expected = this.#expected?.get(kind) ?? count;
      const most = expected + this.#leftByACrash(kind, expected) * this.#met.length;
      if (count > most) world.fail(`${count} records in ${kind} are left, instead of ${most}`);
    }
  }

  #leftByACrash(kind: string, expected: number): number {
    if (kind === "parts" && this.#scenario.beginsAgain === true) return expected;
    return LEFT_BY_A_CRASH[kind] ?? 0;
  }

  #crashText({ name, steps }: WorkProcess, { step, side }: CrashPoint): string {
    if (!steps.met) return `${name} made no step ${step}`;
    const before = steps.made.slice(Math.max(0, step - STEPS_SHOWN), step);
    const lines = before.map((what, nth) => `    ${step - before.length + nth}  ${what}`);
    const what = side === "lost" ? "lost the answer of" : `ended ${side}`;
    return [`${name} ${what} its step ${step}:`, ...lines, `  > ${step}  ${steps.made[step]}`].join(
      "\n",
    );
  }

  #story(): string {
    const { timeline, wrong } = this.#world;
    const shown = timeline.slice(-TIMELINE_SHOWN);
    return [
      this.#scenario.kind,
      ...this.#met.map(({ process, point }) => this.#crashText(process, point)),
      "what happened:",
      ...shown.map((line) => `  ${line}`),
      "what is wrong:",
      ...wrong.map((line) => `  ${line}`),
    ].join("\n");
  }
}
