/**
 * Reads one segment of a split in order, part behind part, ahead of its consumer.
 *
 * A page usually needs one fetch. After that much was returned, the next fetch begins while the
 * last one is used, and the next part's first fetch begins before this part ends. A long range may
 * have several subranges read in parallel (`part-subranges.ts`). The reader holds a bounded amount:
 * the run returned last, the fetch behind it, and one fetch of each subrange ahead.
 */
import { LinkedAbort } from "../lib/linked-abort.ts";
import type { PartitionKey } from "../model/partition.ts";
import type { PartRecord, RouteSegment } from "../model/split.ts";
import { strategyOf } from "../model/strategies/strategies.ts";
import type { EventStore } from "../ports/event-store.ts";
import type { Run } from "../wire/frames.ts";
import { mayHold, PartSubranges, wholeSubrange } from "./part-subranges.ts";
import type { Subrange } from "./part-subranges.ts";
import { MergedRuns } from "../partition/merge-runs.ts";
import type { RunSource } from "../partition/merge-runs.ts";
import { readPart, IntegrityError } from "./part-reader.ts";
import type { PartReadRange } from "./part-reader.ts";

/** A merged run has a chunk for each event. */
const MERGED_EVENTS_MAX = 4096;
/** The next part is opened when at most this many runs of the current one are left. */
const AHEAD_RUNS = 2;
/** For one part that is merged with others: less would not hold a block. */
const MERGED_RUN_BYTES_MIN = 32 * 1024;

export class SegmentReader implements RunSource {
  readonly #store: EventStore;
  readonly #original: PartitionKey;
  readonly #segment: RouteSegment;
  readonly #parts: readonly PartRecord[];
  readonly #range: PartReadRange;
  readonly #leaving: LinkedAbort;
  readonly #open = new Set<PartCursor>();
  #runs: RunSource | undefined;
  #bytes = 0;
  #partsOpened = 0;
  #newestOpened: PartRecord | undefined;
  #done = false;

  /** `parts`: all of the segment, in order. */
  constructor(
    store: EventStore,
    original: PartitionKey,
    segment: RouteSegment,
    parts: readonly PartRecord[],
    range: PartReadRange,
    signal: AbortSignal,
  ) {
    this.#store = store;
    this.#original = original;
    this.#segment = segment;
    this.#parts = parts;
    this.#range = range;
    this.#leaving = new LinkedAbort(signal);
  }

  /** The number of parts from which something was requested. */
  get partsOpened(): number {
    return this.#partsOpened;
  }

  /** The next run, or undefined at the end. Throws IntegrityError. */
  async next(): Promise<Run | undefined> {
    if (this.#done) return undefined;
    this.#runs ??= this.#begin();
    const run = await this.#runs.next();
    if (run === undefined) await this.close();
    else this.#bytes += run.bytes;
    return run;
  }

  /** Resolves when nothing is under way any more. */
  async close(): Promise<void> {
    this.#done = true;
    this.#leaving.abort();
    await Promise.all([...this.#open].map((cursor) => cursor.close()));
    this.#open.clear();
  }

  #begin(): RunSource {
    checkParts(this.#segment, this.#parts);
    const range = this.#range;
    const wanted = this.#parts.filter((part) => mayHold(part, range));
    if (!strategyOf(this.#segment).ordered) return this.#merged(wanted);
    return this.#inOrder(range.order === "NEWEST_FIRST" ? wanted : wanted.toReversed());
  }

  /** All parts cover all of the time, so each gets a share of the fetch size. */
  #merged(parts: readonly PartRecord[]): RunSource {
    const { order, runBytesMax } = this.#range;
    const share = Math.max(MERGED_RUN_BYTES_MIN, Math.floor(runBytesMax / parts.length));
    const sources = parts.map((part) => {
      const cursor = this.#openSubrange(wholeSubrange(part, this.#range), share);
      return { next: () => cursor.next(this.#streaming) };
    });
    return new MergedRuns(sources, order, MERGED_EVENTS_MAX);
  }

  #inOrder(parts: readonly PartRecord[]): RunSource {
    const { runBytesMax, subrangesAhead = 0 } = this.#range;
    const subranges = new PartSubranges(parts, this.#range);
    const ahead: PartCursor[] = [];
    const openNext = (): PartCursor | undefined => {
      const subrange = subranges.next(subrangesAhead > 0 && this.#wantsMuch);
      return subrange === undefined ? undefined : this.#openSubrange(subrange, runBytesMax);
    };
    /** Opens one part ahead when parts are read whole; otherwise as many subranges as allowed. */
    const openAhead = (current: PartCursor): void => {
      if (!this.#wantsMuch) return;
      const most = subrangesAhead > 0 ? subrangesAhead : 1;
      const early = subrangesAhead > 0 || current.bytesLeft <= AHEAD_RUNS * runBytesMax;
      while (early && ahead.length < most) {
        const cursor = openNext();
        if (cursor === undefined) return;
        cursor.begin();
        ahead.push(cursor);
      }
    };
    let current: PartCursor | undefined;
    const next = async (): Promise<Run | undefined> => {
      for (;;) {
        current ??= ahead.shift() ?? openNext();
        if (current === undefined) return undefined;
        if (subrangesAhead > 0) openAhead(current);
        const run = await current.next(this.#streaming);
        if (run === undefined) {
          subranges.ended(current.subrange, current.bytesRead);
          this.#open.delete(current);
          current = undefined;
          continue;
        }
        openAhead(current);
        return run;
      }
    };
    return { next };
  }

  /** Whether the reader was asked for more than a first fetch brings. */
  get #streaming(): boolean {
    return this.#bytes >= Math.min(this.#range.firstBytes, this.#range.runBytesMax);
  }

  /** Streaming, or a range so large that there is no page to serve first. */
  get #wantsMuch(): boolean {
    return this.#streaming || this.#range.firstBytes >= this.#range.runBytesMax;
  }

  #openSubrange(subrange: Subrange, runBytesMax: number): PartCursor {
    const { generation, layout } = this.#segment;
    const { part, from, to } = subrange;
    const wanted = this.#streaming ? runBytesMax : this.#range.firstBytes - this.#bytes;
    const firstBytes = Math.min(wanted, subrange.bytes);
    const range = { ...this.#range, from, to, runBytesMax, firstBytes };
    const { signal } = this.#leaving;
    const runs = readPart(this.#store, this.#original, generation, layout, part, range, signal);
    const cursor = new PartCursor(runs, subrange);
    this.#open.add(cursor);
    // Subranges of a part follow one another.
    if (part !== this.#newestOpened) this.#partsOpened++;
    this.#newestOpened = part;
    return cursor;
  }
}

/** One subrange, read one fetch ahead if requested. */
class PartCursor {
  readonly subrange: Subrange;
  readonly #runs: AsyncGenerator<Run, void, undefined>;
  #ahead: Promise<Run | undefined> | undefined;
  bytesRead = 0;

  constructor(runs: AsyncGenerator<Run, void, undefined>, subrange: Subrange) {
    this.#runs = runs;
    this.subrange = subrange;
  }

  /** Of a whole part: an upper bound. */
  get bytesLeft(): number {
    return this.subrange.bytes - this.bytesRead;
  }

  /** Fetches the next run before it is requested. */
  begin(): void {
    this.#ahead ??= this.#fetch();
    // The consumer awaits it later; until then a failure must not count as unhandled.
    this.#ahead.catch(() => undefined);
  }

  async next(readAhead: boolean): Promise<Run | undefined> {
    const run = await (this.#ahead ?? this.#fetch());
    this.#ahead = undefined;
    if (run === undefined) return undefined;
    this.bytesRead += run.bytes;
    if (readAhead) this.begin();
    return run;
  }

  async close(): Promise<void> {
    await this.#ahead?.catch(() => undefined);
    await this.#runs.return();
  }

  async #fetch(): Promise<Run | undefined> {
    const next = await this.#runs.next();
    return next.done === true ? undefined : next.value;
  }
}

/** The listed parts must be the whole segment, without a gap. */
function checkParts(segment: RouteSegment, parts: readonly PartRecord[]): void {
  let { to } = segment;
  let events = 0;
  let bytes = 0;
  let joined = true;
  const { ordered } = strategyOf(segment);
  for (const part of parts) {
    joined &&= part.to === to;
    if (ordered) to = part.from;
    else joined &&= part.from === segment.from;
    events += part.events;
    bytes += part.bytes;
  }
  if (ordered && parts.length > 0) joined &&= to === segment.from;
  if (joined && events === segment.events && bytes === segment.bytes) return;
  throw new IntegrityError("gap between parts", `segment from ${segment.from} to ${segment.to}`);
}
