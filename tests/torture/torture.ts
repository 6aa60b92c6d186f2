/**
 * Kills a real server on the embedded engine (SIGKILL) again and again while callers write, read,
 * split, switch read modes, change the configuration, block ids, tune, create and delete. After
 * every kill another server starts on the same data, and everything that was acknowledged is read
 * back and compared, byte for byte.
 *
 * Kills are aimed in turn: at a stage of a split, at a call under way, or at no matter what. Callers
 * begin with new namespaces now and then (an era), so that a check stays short; before that, all
 * splits are compared with their originals.
 */
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { connect } from "../../client/connect.ts";
import { SeededRandom } from "../../src/lib/seeded-random.ts";
import { SOON } from "../e2e/splits-support.ts";
import { startServer } from "../support/started-server.ts";
import type { StartedServer } from "../support/started-server.ts";
import { TUNED_SOON } from "../e2e/tuning-support.ts";
import { CallsUnderWay } from "./calls-under-way.ts";
import type { CallerContext, Callers } from "./callers.ts";
import { NamespaceCallers } from "./namespace-callers.ts";
import { SliceCallers } from "./slice-callers.ts";
import { SplitCallers } from "./split-callers.ts";
import { storedWork } from "./stored-work.ts";

const KILLS_PER_ERA = 30;
/** On a slow machine an era ends sooner: slices that callers wrote to are closed after a while. */
const ERA_MS_MAX = 480_000;
/** A moment that a kill was aimed at may not come, for example while splits are paused. */
const AIM_MS_MAX = 4_000;
const AFTER_AIM_MS_MAX = 12;
const ANY_MS_MAX = 2_500;
const STAGES = ["PLANNING", "SPLITTING", "VALIDATING", "unconfirmed"];
const CALLS = [
  "set read mode",
  "set acceptLimit",
  "set layout",
  "set kill switch",
  "block",
  "unblock",
  "pause",
  "resume",
  "roll back",
  "retry",
  "create namespace",
  "delete namespace",
  "undelete namespace",
];
const AIMS = ["anything", "anything", "write", ...STAGES, ...STAGES, ...CALLS];
const ENV = {
  ...SOON,
  ...TUNED_SOON,
  BRAID_WRITE_MAX: SOON.BRAID_WRITE_MAX,
  BRAID_SPLITS_CONCURRENCY: "1",
  // Long enough to be restored after many kills.
  BRAID_DROP_GRACE: "1h",
  // Every start of a server ends what the one before it left, without a wait.
  BRAID_PAUSE_MAX: "1s",
};

export interface TortureOptions {
  readonly seed: number;
  /** It ends at whichever comes first. */
  readonly kills: number;
  readonly minutes?: number | undefined;
  /** The data directory; kept. */
  readonly data: string;
  readonly onProgress: (line: string) => void;
}

export interface TortureReport {
  readonly seed: number;
  readonly kills: number;
  readonly seconds: number;
  readonly eventsAcknowledged: number;
  /** Events that reads returned and that were compared, most of them again and again. */
  readonly eventsCompared: number;
  /** Kills by what they were aimed at and what was met: "split SPLITTING": 40. */
  readonly aimed: Readonly<Record<string, number>>;
  /** Kills by work that the stored state shows half done. One kill counts for each kind. */
  readonly halfDone: Readonly<Record<string, number>>;
  /** Kills by calls that had no answer yet. One kill counts for each kind. */
  readonly unanswered: Readonly<Record<string, number>>;
  readonly answers: Readonly<Record<string, number>>;
  readonly slowestStartMs: number;
  /** What was wrong, and the story of the last kill; undefined: nothing. */
  readonly failure: TortureFailure | undefined;
}

export interface TortureFailure {
  readonly wrong: readonly string[];
  readonly story: readonly string[];
}

export async function torture(options: TortureOptions): Promise<TortureReport> {
  return new Torture(options).run();
}

class Torture {
  readonly #options: TortureOptions;
  readonly #random: SeededRandom;
  readonly #wrong: string[] = [];
  readonly #calls = new CallsUnderWay(this.#wrong);
  readonly #wanted = { call: "" };
  readonly #aimed = new Map<string, number>();
  readonly #halfDone = new Map<string, number>();
  readonly #unanswered = new Map<string, number>();
  readonly #began = performance.now();
  #callers: readonly Callers[] = [];
  #splitCallers: SplitCallers | undefined;
  #era = 0;
  #eraBegan = { kills: 0, ms: 0 };
  #kills = 0;
  #acknowledgedBefore = 0;
  #comparedBefore = 0;
  #slowestStartMs = 0;
  #story: string[] = [];

  constructor(options: TortureOptions) {
    this.#options = options;
    this.#random = new SeededRandom(options.seed);
  }

  async run(): Promise<TortureReport> {
    const { data } = this.#options;
    const env = { ...ENV, NODE_COMPILE_CACHE: join(data, "..", "compiled") };
    const server = await startServer({ env, data, flags: ["--log-level", "error"] });
    try {
      // A process that ends by itself leaves what it compiled to all later ones.
      await server.restart("SIGTERM");
      await this.#beginEra(server);
      while (!this.#isOver()) {
        await this.#round(server);
        if (this.#eraIsOver() && !this.#isOver()) {
          await this.#endEra();
          await this.#beginEra(server);
        }
      }
      if (this.#wrong.length === 0) await this.#endEra();
    } catch (error) {
      // An error of a check says that something could not be read at all.
      this.#wrong.push(error instanceof Error ? (error.stack ?? error.message) : String(error));
    } finally {
      await server.stop("SIGKILL");
    }
    return this.#report();
  }

  #isOver(): boolean {
    const { kills, minutes = Infinity } = this.#options;
    const late = performance.now() - this.#began > minutes * 60_000;
    return this.#wrong.length > 0 || this.#kills >= kills || late;
  }

  #eraIsOver(): boolean {
    const { kills, ms } = this.#eraBegan;
    return this.#kills - kills >= KILLS_PER_ERA || performance.now() - ms > ERA_MS_MAX;
  }

  async #beginEra(server: StartedServer): Promise<void> {
    this.#era++;
    this.#eraBegan = { kills: this.#kills, ms: performance.now() };
    this.#story = [`era ${this.#era} began with new namespaces`];
    const context: CallerContext = {
      client: connect(server.url, { retries: { attemptsMax: 1 } }),
      patient: connect(server.url),
      calls: this.#calls,
      random: this.#random.fork(),
      wanted: this.#wanted,
      wrong: this.#wrong,
      era: this.#era,
    };
    this.#splitCallers = new SplitCallers(context);
    this.#callers = [this.#splitCallers, new SliceCallers(context), new NamespaceCallers(context)];
    for (const callers of this.#callers) await callers.begin();
  }

  async #endEra(): Promise<void> {
    for (const callers of this.#callers) await callers.end();
    this.#acknowledgedBefore += sumOf(
      this.#callers,
      ({ eventsAcknowledged }) => eventsAcknowledged,
    );
    this.#comparedBefore += sumOf(this.#callers, ({ eventsJudged }) => eventsJudged);
    this.#callers = [];
    this.#options.onProgress(
      `era ${this.#era} ends: every split is like its original; ${this.#total()}`,
    );
  }

  /** Callers call until a kill; then everything is checked on another server. */
  async #round(server: StartedServer): Promise<void> {
    const over = new AbortController();
    const callers = this.#callers.flatMap((each) => each.call(over.signal));
    const aim = this.#random.one(AIMS);
    this.#wanted.call = aim;
    const met = await this.#take(aim);
    const unanswered = this.#calls.names();
    this.#calls.killing = true;
    over.abort();
    await server.stop("SIGKILL");
    await Promise.all(callers);
    this.#kills++;
    const halfDone = await storedWork(this.#options.data);
    const line =
      `kill ${this.#kills}, aimed at ${aim}${met ? "" : " (not met)"}; ` +
      `half done: ${halfDone.join(", ") || "nothing"}; unanswered: ${unanswered.join(", ") || "nothing"}`;
    this.#story.push(line);
    count(this.#aimed, met ? aim : `${aim}, not met`);
    for (const each of halfDone) count(this.#halfDone, each);
    for (const each of unanswered) count(this.#unanswered, each);
    const startedMs = performance.now();
    await server.start();
    this.#calls.killing = false;
    this.#slowestStartMs = Math.max(this.#slowestStartMs, performance.now() - startedMs);
    for (const each of this.#callers) await each.check();
    this.#options.onProgress(line);
  }

  /** Waits for the moment to kill. Returns whether the aimed one came. */
  async #take(aim: string): Promise<boolean> {
    const random = this.#random;
    if (aim === "anything") {
      await pause(50 + random.below(ANY_MS_MAX));
      return true;
    }
    const late = AbortSignal.timeout(AIM_MS_MAX);
    if (STAGES.includes(aim)) await this.#untilStage(aim, late);
    else await this.#calls.until(aim, late);
    if (late.aborted) return false;
    await pause(random.below(AFTER_AIM_MS_MAX));
    return true;
  }

  async #untilStage(stage: string, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const stages = (await this.#splitCallers?.stages()) ?? [];
      if (stages.includes(stage)) return;
      await pause(3);
    }
  }

  #total(): string {
    const acknowledged =
      this.#acknowledgedBefore + sumOf(this.#callers, (each) => each.eventsAcknowledged);
    const compared = this.#comparedBefore + sumOf(this.#callers, (each) => each.eventsJudged);
    return `${acknowledged} events acknowledged, ${compared} read and compared`;
  }

  #report(): TortureReport {
    const failed = this.#wrong.length > 0;
    return {
      seed: this.#options.seed,
      kills: this.#kills,
      seconds: Math.round((performance.now() - this.#began) / 1_000),
      eventsAcknowledged:
        this.#acknowledgedBefore + sumOf(this.#callers, (each) => each.eventsAcknowledged),
      eventsCompared: this.#comparedBefore + sumOf(this.#callers, (each) => each.eventsJudged),
      aimed: sorted(this.#aimed),
      halfDone: sorted(this.#halfDone),
      unanswered: sorted(this.#unanswered),
      answers: this.#calls.answers(),
      slowestStartMs: Math.round(this.#slowestStartMs),
      failure: failed ? { wrong: this.#wrong, story: this.#story } : undefined,
    };
  }
}

function count(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

/** The most frequent first. */
function sorted(counts: ReadonlyMap<string, number>): Record<string, number> {
  return Object.fromEntries([...counts].toSorted(([, a], [, b]) => b - a));
}

function sumOf(callers: readonly Callers[], of: (callers: Callers) => number): number {
  return callers.reduce((sum, each) => sum + of(each), 0);
}
