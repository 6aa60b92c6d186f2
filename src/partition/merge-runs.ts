/**
 * Merges the partitions of one time bucket by position, in the order of the read.
 *
 * It returns an event only when every source has shown its next event or has ended, so no later
 * event can belong before it (rule C11). Equal identities come once.
 */
import type { Order } from "../ports/event-store.ts";
import { comparePositions, eventOfFrame, positionOf } from "../wire/frames.ts";
import type { Position, Run } from "../wire/frames.ts";
import { assert } from "../lib/errors.ts";

/** Returns runs in order until it ends. */
export interface RunSource {
  next(): Promise<Run | undefined>;
}

/** What of a source was returned. */
export interface Taken {
  readonly bytes: number;
  readonly events: number;
}

export class MergedRuns implements RunSource {
  readonly #sources: readonly MergeSource[];
  readonly #sign: 1 | -1;
  readonly #runEventsMax: number;
  #last: Position | undefined;

  constructor(sources: readonly RunSource[], order: Order, runEventsMax: number) {
    this.#sources = sources.map((source) => new MergeSource(source));
    this.#sign = order === "OLDEST_FIRST" ? 1 : -1;
    this.#runEventsMax = runEventsMax;
  }

  /** Of each source, in their order; a source may have more at hand. */
  get taken(): readonly Taken[] {
    return this.#sources.map(({ taken }) => ({ ...taken }));
  }

  /**
   * As many events as are certain before a source must be asked again, so that nothing is fetched
   * too early.
   */
  async next(): Promise<Run | undefined> {
    await Promise.all(this.#sources.map((source) => source.fill()));
    const live = this.#sources.filter((source) => source.position !== undefined);
    if (live.length === 0) return undefined;
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    let first: Position | undefined;
    while (chunks.length < this.#runEventsMax) {
      const source = this.#least(live);
      const position = source.position;
      assert(position !== undefined, "a live source has a next event");
      if (this.#last === undefined || comparePositions(position, this.#last) !== 0) {
        const frame = source.frame();
        chunks.push(frame);
        bytes += frame.length;
        first ??= position;
        this.#last = position;
      }
      // A source without buffered events may have more in storage: ask it before taking from
      // another.
      if (!source.advance()) break;
    }
    if (first === undefined) return this.next();
    assert(this.#last !== undefined, "a run has a last event");
    return { chunks, count: chunks.length, bytes, first, last: this.#last };
  }

  /** There are few event buckets as a rule, so comparing all of them beats maintaining a heap. */
  #least(sources: readonly MergeSource[]): MergeSource {
    let least = sources[0] as MergeSource;
    for (let i = 1; i < sources.length; i++) {
      const source = sources[i] as MergeSource;
      const order = comparePositions(source.position as Position, least.position as Position);
      if (order * this.#sign < 0) least = source;
    }
    return least;
  }
}

/** One partition, event by event. */
class MergeSource {
  readonly #source: RunSource;
  #run: Run | undefined;
  #chunk = 0;
  #start = 0;
  #end = 0;
  #ended = false;
  readonly taken = { bytes: 0, events: 0 };
  /** Of the next event, if one is buffered. */
  position: Position | undefined;

  constructor(source: RunSource) {
    this.#source = source;
  }

  async fill(): Promise<void> {
    if (this.position !== undefined || this.#ended) return;
    this.#run = await this.#source.next();
    if (this.#run === undefined) {
      this.#ended = true;
      return;
    }
    this.#chunk = 0;
    this.#end = 0;
    this.advance();
  }

  frame(): Uint8Array {
    const chunk = this.#run?.chunks[this.#chunk];
    assert(chunk !== undefined, "the next event is at hand");
    return this.#start === 0 && this.#end === chunk.length
      ? chunk
      : chunk.subarray(this.#start, this.#end);
  }

  /** Steps to the next event; false if none is buffered. */
  advance(): boolean {
    if (this.position !== undefined) {
      this.taken.events++;
      this.taken.bytes += this.#end - this.#start;
    }
    const chunks = this.#run?.chunks ?? [];
    this.#start = this.#end;
    if (this.#start >= (chunks[this.#chunk]?.length ?? 0)) {
      if (this.#start > 0) this.#chunk++;
      this.#start = 0;
    }
    const chunk = chunks[this.#chunk];
    if (chunk === undefined) {
      this.position = undefined;
      return false;
    }
    const event = eventOfFrame(chunk, this.#start);
    assert(event !== undefined, "a run holds whole frames");
    this.#end = event.end;
    this.position = positionOf(event);
    return true;
  }
}
