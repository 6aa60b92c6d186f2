/**
 * Stops a read at the namespace's latency limit, for callers that would rather have a part now.
 *
 * Never before there is progress: a partial answer that moves nothing on would be asked for again
 * for ever.
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

  /** The result, or that time is up if it is and the read has moved on. */
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
