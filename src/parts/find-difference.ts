/** Finds where two sides differ, event by event. */
import { compareBytes } from "../lib/bytes.ts";
import type { Order } from "../ports/event-store.ts";
import type { EventBytes } from "../wire/event-record.ts";
import { comparePositions, eventsOfRun, positionOf } from "../wire/frames.ts";
import type { Position } from "../wire/frames.ts";
import type { RunSource } from "../partition/merge-runs.ts";

export type DifferenceKind = "ONLY_IN_ORIGINAL" | "ONLY_IN_SPLIT" | "OTHER_BYTES";

export interface FoundDifference {
  readonly kind: DifferenceKind;
  readonly at: Position;
}

/**
 * The most important difference up to a position (undefined: to the end). An event that only the
 * original has was written late; any other difference means that the copy is wrong, and ends the
 * search.
 */
export async function findDifference(
  original: RunSource,
  split: RunSource,
  order: Order,
  last: Position | undefined,
): Promise<FoundDifference | undefined> {
  const sign = order === "OLDEST_FIRST" ? 1 : -1;
  const left = new EventCursor(original, last, sign);
  const right = new EventCursor(split, last, sign);
  let found: FoundDifference | undefined;
  let [a, b] = [await left.next(), await right.next()];
  while (a !== undefined || b !== undefined) {
    const which = whichFirst(a, b, sign);
    if (which > 0 && b !== undefined) return { kind: "ONLY_IN_SPLIT", at: positionOf(b) };
    if (which === 0 && a !== undefined && b !== undefined && !sameBytes(a, b)) {
      return { kind: "OTHER_BYTES", at: positionOf(a) };
    }
    if (which < 0 && a !== undefined) found ??= { kind: "ONLY_IN_ORIGINAL", at: positionOf(a) };
    if (which <= 0) a = await left.next();
    if (which >= 0) b = await right.next();
  }
  return found;
}

/** Below 0: the first event comes before the second, or is the only one. */
function whichFirst(a: EventBytes | undefined, b: EventBytes | undefined, sign: 1 | -1): number {
  if (a === undefined) return 1;
  if (b === undefined) return -1;
  return comparePositions(positionOf(a), positionOf(b)) * sign;
}

function sameBytes(a: EventBytes, b: EventBytes): boolean {
  return compareBytes(a.bytes.subarray(a.start, a.end), b.bytes.subarray(b.start, b.end)) === 0;
}

class EventCursor {
  readonly #side: RunSource;
  readonly #last: Position | undefined;
  readonly #sign: 1 | -1;
  #events: Iterator<EventBytes> = [].values();
  #ended = false;

  constructor(side: RunSource, last: Position | undefined, sign: 1 | -1) {
    this.#side = side;
    this.#last = last;
    this.#sign = sign;
  }

  async next(): Promise<EventBytes | undefined> {
    while (!this.#ended) {
      const event = this.#events.next();
      if (event.done !== true) {
        if (this.#isBeyond(event.value)) break;
        return event.value;
      }
      const run = await this.#side.next();
      if (run === undefined) break;
      this.#events = eventsOfRun(run);
    }
    this.#ended = true;
    return undefined;
  }

  #isBeyond(event: EventBytes): boolean {
    const last = this.#last;
    return last !== undefined && comparePositions(positionOf(event), last) * this.#sign > 0;
  }
}
