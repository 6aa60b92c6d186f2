/**
 * Collects what GetStatus returns: the state of this process, and what the catalog holds for all.
 */
import type { ServiceStatus, ShownClock, StatusUseCase } from "../api/methods/status.ts";
import { BUILD_INFO } from "../lib/build-info.ts";
import { doubtMessage } from "../namespaces/believed-time.ts";
import type { ClockStatus } from "../namespaces/believed-time.ts";
import { eachNamespace } from "../records/namespace-records.ts";
import { readCountedSplits } from "../records/split-count-records.ts";
import { readKillSwitch } from "../splits/record/kill-switch.ts";
import type { PausedNamespace } from "../splits/use-cases.ts";
import type { CommonParts } from "./common-parts.ts";
import type { ServiceConfig } from "./config.ts";
import type { Runtime } from "./runtime.ts";

/**
 * Limits of what it lists, and of the namespaces it checks for that: an operator waits for the
 * answer.
 */
const PAUSED_MAX = 100;
const NAMESPACES_MAX = 10_000;

export class StatusReporter implements StatusUseCase {
  readonly #config: ServiceConfig;
  readonly #runtime: Runtime;
  readonly #parts: CommonParts;
  readonly #process: string;
  readonly #startedMs: number;
  readonly #startedAt: number;

  constructor(config: ServiceConfig, runtime: Runtime, parts: CommonParts, process: string) {
    this.#config = config;
    this.#runtime = runtime;
    this.#parts = parts;
    this.#process = process;
    this.#startedMs = runtime.clock.monotonicMs();
    this.#startedAt = runtime.clock.nowMicros();
  }

  async get(): Promise<ServiceStatus> {
    const { engine, queue, view_max_age } = this.#config;
    const { catalog, storage, views, time } = this.#parts;
    const { clock } = this.#runtime;
    const [killSwitch, paused, splits] = await Promise.all([
      readKillSwitch(catalog),
      this.#paused(),
      readCountedSplits(catalog),
    ]);
    return {
      ...BUILD_INFO,
      nodeVersion: process.version,
      engine,
      queue,
      process: this.#process,
      startedAt: this.#startedAt,
      uptimeMicros: Math.round((clock.monotonicMs() - this.#startedMs) * 1000),
      now: clock.nowMicros(),
      notReady: storage.notReady(),
      killSwitch,
      paused,
      views: { ...views.ages(), maxAgeMs: view_max_age },
      clock: shownClock(time.status()),
      disk: storage.disk?.(),
      splits,
    };
  }

  async confirmClock(): Promise<ShownClock> {
    const { time } = this.#parts;
    const status = await time.confirm();
    this.#runtime.log.warn("an operator confirmed this machine's clock");
    return shownClock(status);
  }

  async #paused(): Promise<readonly PausedNamespace[]> {
    const paused: PausedNamespace[] = [];
    let seen = 0;
    for await (const { name, record } of eachNamespace(this.#parts.catalog)) {
      if (!(record instanceof Error) && record.splitsPaused !== null) {
        paused.push({ namespace: name, ...record.splitsPaused });
      }
      if (paused.length === PAUSED_MAX || ++seen === NAMESPACES_MAX) break;
    }
    return paused;
  }
}

function shownClock({ believedMicros, doubt }: ClockStatus): ShownClock {
  const message = doubt === undefined ? "" : doubtMessage(doubt.leapMicros);
  return { believedMicros, doubt, message };
}
