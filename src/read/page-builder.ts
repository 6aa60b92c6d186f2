/**
 * Builds a page: takes runs until it is full in events or in bytes, and knows the last position it
 * has examined.
 *
 * Without filters whole runs pass unchanged; only at the page's edge, or to filter, are events
 * examined one by one.
 */
import { compareBytes } from "../lib/bytes.ts";
import { itemsOf } from "../wire/event-record.ts";
import type { EventBytes } from "../wire/event-record.ts";
import { eventOfFrame, positionOf } from "../wire/frames.ts";
import type { Position, Run } from "../wire/frames.ts";
import { frameEnd } from "../wire/packed-block.ts";
import { assert } from "../lib/errors.ts";
import type { ItemFilter } from "./read-query.ts";

/** Where a full page may be cut. */
export type PageCut = "EVENT" | "RUN";

export class PageBuilder {
  readonly #eventsMax: number;
  readonly #bytesMax: number;
  readonly #filters: readonly ItemFilter[];
  readonly #cutAt: PageCut;
  /** Whole frames, in order. */
  readonly chunks: Uint8Array[] = [];
  count = 0;
  bytes = 0;
  full = false;
  /** Everything up to here was examined, returned or not. */
  examined: Position | undefined;
  /** Of all events examined. */
  examinedBytes = 0;
  examinedEvents = 0;

  constructor(eventsMax: number, bytesMax: number, filters: readonly ItemFilter[], cutAt: PageCut) {
    this.#eventsMax = eventsMax;
    this.#bytesMax = bytesMax;
    this.#filters = filters;
    this.#cutAt = cutAt;
  }

  /** Takes what fits and returns the rest of the run, if there is any. */
  add(run: Run): Run | undefined {
    if (this.#filters.length > 0) return this.#addOneByOne(run);
    if (this.#hasRoom(run)) {
      this.#addWhole(run);
      return undefined;
    }
    if (this.#cutAt === "RUN" && this.count > 0) {
      this.full = true;
      return run;
    }
    return this.#addPart(run);
  }

  #hasRoom(run: Run): boolean {
    return this.count + run.count <= this.#eventsMax && this.bytes + run.bytes <= this.#bytesMax;
  }

  #addWhole(run: Run): void {
    for (const chunk of run.chunks) this.chunks.push(chunk);
    this.count += run.count;
    this.bytes += run.bytes;
    this.examinedBytes += run.bytes;
    this.examinedEvents += run.count;
    this.examined = run.last;
    if (this.count === this.#eventsMax) this.full = true;
  }

  /**
   * A part of a run that does not fit whole: only the lengths of its frames count, and events are
   * parsed at the two edges.
   */
  #addPart(run: Run): Run | undefined {
    let taken = 0;
    let takenBytes = 0;
    let rest: Run | undefined;
    let last: { readonly chunk: Uint8Array; readonly at: number } | undefined;
    for (const [nth, chunk] of run.chunks.entries()) {
      let at = 0;
      let lastAt = 0;
      while (at < chunk.length) {
        const end = frameEnd(chunk, at, chunk.length);
        assert(end > at, "a run holds whole frames");
        // A single event larger than the page's bytes is a page of its own.
        const fits = this.count === 0 || this.bytes + end - at <= this.#bytesMax;
        if (!fits || this.count === this.#eventsMax) break;
        this.count++;
        this.bytes += end - at;
        taken++;
        lastAt = at;
        at = end;
      }
      takenBytes += at;
      if (at > 0) {
        this.chunks.push(at === chunk.length ? chunk : chunk.subarray(0, at));
        last = { chunk, at: lastAt };
      }
      if (at === chunk.length) continue;
      rest = {
        chunks: [at === 0 ? chunk : chunk.subarray(at), ...run.chunks.slice(nth + 1)],
        count: run.count - taken,
        bytes: run.bytes - takenBytes,
        first: positionAt(chunk, at),
        last: run.last,
      };
      break;
    }
    if (last !== undefined) this.examined = positionAt(last.chunk, last.at);
    this.examinedEvents += taken;
    this.examinedBytes += takenBytes;
    if (rest !== undefined || this.count === this.#eventsMax) this.full = true;
    return rest;
  }

  /** With filters. */
  #addOneByOne(run: Run): Run | undefined {
    let taken = 0;
    let takenBytes = 0;
    for (const [nth, chunk] of run.chunks.entries()) {
      for (let at = 0; at < chunk.length;) {
        const event = eventOfFrame(chunk, at);
        assert(event !== undefined, "a run holds whole frames");
        const length = event.end - at;
        if (this.#filters.every((filter) => matches(event, filter))) {
          // A single event larger than the page's bytes is a page of its own.
          const fits = this.count === 0 || this.bytes + length <= this.#bytesMax;
          if (!fits || this.count === this.#eventsMax) {
            this.full = true;
            const rest = at === 0 ? chunk : chunk.subarray(at);
            return {
              chunks: [rest, ...run.chunks.slice(nth + 1)],
              count: run.count - taken,
              bytes: run.bytes - takenBytes,
              first: positionOf(event),
              last: run.last,
            };
          }
          // A match is copied, so that it does not keep its whole run in memory.
          this.chunks.push(Buffer.from(chunk.subarray(at, event.end)));
          this.count++;
          this.bytes += length;
        }
        taken++;
        takenBytes += length;
        this.examinedBytes += length;
        this.examinedEvents++;
        this.examined = positionOf(event);
        at = event.end;
      }
    }
    if (this.count === this.#eventsMax) this.full = true;
    return undefined;
  }
}

function positionAt(chunk: Uint8Array, at: number): Position {
  const event = eventOfFrame(chunk, at);
  assert(event !== undefined, "a run holds whole frames");
  return positionOf(event);
}

function matches(event: EventBytes, filter: ItemFilter): boolean {
  for (const item of itemsOf(event)) {
    if (compareBytes(item.key, filter.key) === 0)
      return compareBytes(item.value, filter.value) === 0;
  }
  return false;
}
