/**
 * Limits how often the same line goes into the log: of an error that repeats with every request,
 * the first lines say all there is to say, and the rest would fill the disk. The next line that
 * passes says how many did not.
 */
import { LRUCache } from "lru-cache";
import type { Clock } from "./clock.ts";

/** Lines of one text that pass in each window. */
const LINES_MAX = 20;
const WINDOW_MS = 10_000;
/** Texts are those of the code, with few variations; the one used longest ago is forgotten. */
const TEXTS_MAX = 1_000;

interface Seen {
  readonly sinceMs: number;
  passed: number;
  leftOut: number;
}

export class LineLimit {
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #texts = new LRUCache<string, Seen>({ max: TEXTS_MAX });

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
  }

  /**
   * Undefined if the line is one too many; otherwise how many lines of this text were left out
   * since the last one that passed.
   */
  pass(text: string): number | undefined {
    const nowMs = this.#clock.monotonicMs();
    let seen = this.#texts.get(text);
    let leftOut = 0;
    if (seen === undefined || nowMs - seen.sinceMs >= WINDOW_MS) {
      leftOut = seen?.leftOut ?? 0;
      seen = { sinceMs: nowMs, passed: 0, leftOut: 0 };
      this.#texts.set(text, seen);
    }
    if (seen.passed >= LINES_MAX) {
      seen.leftOut++;
      return undefined;
    }
    seen.passed++;
    return leftOut;
  }
}
