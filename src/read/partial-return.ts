/**
 * Stops a read at the namespace's latency limit, for callers that prefer a partial answer in time.
 *
 * Never before there is progress: a caller would repeat a partial answer without progress for ever.
 */
import type { Clock } from "../lib/clock.ts";
import { formatDurationMs } from "../lib/units.ts";

export type TimeIsUp = "time is up";

export class PartialReturn implements Disposable {
  readonly reason: string;
  #cancelTimer: () => void = () => undefined;
  #up: Promise<TimeIsUp> | undefined;
  #isUp = false;

  /** `maxMs` undefined: the caller wants all or nothing. */
  constructor(clock: Clock, maxMs: number | undefined) {
    this.reason = maxMs === undefined ? "" : `slos.read.max of ${formatDurationMs(maxMs)} is over`;
    if (maxMs === undefined) return;
    this.#up = new Promise((resolve) => {
      this.#cancelTimer = clock.after(maxMs, () => {
        this.#isUp = true;
        resolve("time is up");
      });
    });
  }

  /** The result; or "time is up" if the time is over and the read has made progress. */
  async race<T>(work: Promise<T>, progressed: boolean): Promise<T | TimeIsUp> {
    if (this.#up === undefined || !progressed) return work;
    // Work that loses the race may still fail later, when it is aborted: nothing waits for it then.
    work.catch(() => undefined);
    return this.#isUp ? "time is up" : Promise.race([work, this.#up]);
  }

  [Symbol.dispose](): void {
    this.#cancelTimer();
  }
}
