/** The sum of a range of events, computed while it passes, so that two reads can be compared. */
import { RangeDigest } from "./range-digest.ts";
import type { Order } from "../ports/event-store.ts";
import { comparePositions, eventsOfRun, frameLength, positionOf } from "../wire/frames.ts";
import type { Position, Run } from "../wire/frames.ts";

/** SIZES: the number of events and bytes. DIGEST: every byte. */
export type CompareHow = "NO" | "SIZES" | "DIGEST";

export interface SumTaken {
  readonly events: number;
  readonly bytes: number;
  /** Of all bytes in the order of the read; "" where only sizes are compared. */
  readonly digest: string;
}

export class RangeSum {
  readonly #digest: RangeDigest | undefined;
  #events = 0;
  #bytes = 0;

  constructor(how: CompareHow) {
    this.#digest = how === "DIGEST" ? new RangeDigest() : undefined;
  }

  add(run: Run): void {
    this.#events += run.count;
    this.#bytes += run.bytes;
    this.#digest?.addRun(run);
  }

  taken(): SumTaken {
    const digest = this.#digest?.digest() ?? "";
    return { events: this.#events, bytes: this.#bytes, digest };
  }
}

export function sameSum(a: SumTaken, b: SumTaken): boolean {
  return a.events === b.events && a.bytes === b.bytes && a.digest === b.digest;
}

/** Adds runs up to and including a position (undefined: to the end), in the order of the read. */
export async function sumUpTo(
  sum: RangeSum,
  runs: { next(): Promise<Run | undefined> },
  last: Position | undefined,
  order: Order,
): Promise<void> {
  const sign = order === "OLDEST_FIRST" ? 1 : -1;
  for (;;) {
    const run = await runs.next();
    if (run === undefined) return;
    const beyond = last === undefined ? -1 : comparePositions(run.last, last) * sign;
    const wanted = beyond <= 0 || last === undefined ? run : cutRun(run, last, sign);
    if (wanted !== undefined) sum.add(wanted);
    if (beyond >= 0) return;
  }
}

/** The events of a run up to and including a position; undefined if all lie behind it. */
function cutRun(run: Run, last: Position, sign: 1 | -1): Run | undefined {
  const chunks: Uint8Array[] = [];
  let [count, bytes] = [0, 0];
  let end: Position | undefined;
  for (const event of eventsOfRun(run)) {
    const position = positionOf(event);
    if (comparePositions(position, last) * sign > 0) break;
    const frame = frameLength(event.end - event.start);
    chunks.push(event.bytes.subarray(event.end - frame, event.end));
    count++;
    bytes += frame;
    end = position;
  }
  return end === undefined ? undefined : { chunks, count, bytes, first: run.first, last: end };
}
