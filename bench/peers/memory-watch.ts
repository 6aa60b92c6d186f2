/** The most memory that a process has, without mapped files, in each phase of a bench. */
import { memoryOf } from "../support/process-figures.ts";

const EVERY_MS = 100;

export class MemoryWatch {
  readonly #timer: NodeJS.Timeout;
  readonly #peaks = new Map<string, number>();
  #phase = "start";

  constructor(pid: number | undefined) {
    this.#timer = setInterval(() => {
      void memoryOf(pid).then(({ RssAnon = 0 }) => {
        this.#peaks.set(this.#phase, Math.max(this.#peaks.get(this.#phase) ?? 0, RssAnon));
      });
    }, EVERY_MS);
    this.#timer.unref();
  }

  enter(phase: string): void {
    this.#phase = phase;
  }

  /** In MiB, by phase. */
  get peaks(): ReadonlyMap<string, number> {
    return this.#peaks;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
