/**
 * Reads one segment of a split in order, part behind part, ahead of its consumer.
 *
 * A page usually needs one fetch. After that much was returned, the next fetch begins while the
 * last one is used, and the next part's first fetch begins before this part ends. A long range may
 * have the blocks of several subranges fetched in parallel (`blocks-ahead.ts`). The reader holds a
 * bounded amount: the run returned last, and the fetch behind it or one of each subrange ahead.
 */
import { LinkedAbort } from "../lib/linked-abort.ts";
import type { PartitionKey } from "../model/partition.ts";
import { LAYOUTS } from "../model/layouts.ts";
import { partKey } from "../model/split.ts";
import type { PartRecord, RouteSegment } from "../model/split.ts";
import { strategyOf } from "../model/strategies/strategies.ts";
import type { EventStore, StoredBlock } from "../ports/event-store.ts";
import type { Run } from "../wire/frames.ts";
import { boundsOf } from "./block-cut.ts";
import { blockRangeOf, blocksOfSubrange } from "./block-range.ts";
import { BlocksAhead } from "./blocks-ahead.ts";
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
  /** From the first part on whose blocks are fetched in subranges. */
  #ahead: BlocksAhead | undefined;
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
    await this.#ahead?.close();
    this.#open.clear();
  }

  #begin(): RunSource {
    checkParts(this.#segment, this.#parts);
    const range = this.#range;
    const wanted = this.#parts.filter((part) => mayHold(part, range));
    if (!strategyOf(this.#segment).ordered) return this.#merged(wanted);
    return this.#inOrder(range.order === "NEWEST_FIRST" ? wanted : wanted.toReversed());
  }

  /**
   * All parts cover all of the time, so each gets a share of the fetch size, and of what a page
   * wants first.
   */
  #merged(parts: readonly PartRecord[]): RunSource {
    const { order, runBytesMax } = this.#range;
    const share = Math.max(MERGED_RUN_BYTES_MIN, Math.floor(runBytesMax / parts.length));
    const sources = parts.map((part) => {
      const cursor = this.#openPart(part, share, parts.length);
      return { next: () => cursor.next(this.#streaming) };
    });
    return new MergedRuns(sources, order, MERGED_EVENTS_MAX);
  }

  #inOrder(parts: readonly PartRecord[]): RunSource {
    const { runBytesMax } = this.#range;
    const left = parts.values();
    let current: PartCursor | undefined;
    let following: PartCursor | undefined;
    const openNext = (): PartCursor | undefined => {
      const part = left.next().value;
      return part === undefined ? undefined : this.#openPart(part, runBytesMax);
    };
    const next = async (): Promise<Run | undefined> => {
      for (;;) {
        if (current === undefined) {
          if (following === undefined) this.#readAhead(parts);
          current = following ?? openNext();
          following = undefined;
        }
        if (current === undefined) return undefined;
        const run = await current.next(this.#streaming);
        if (run === undefined) {
          this.#open.delete(current);
          current = undefined;
          continue;
        }
        if (this.#wantsMuch && current.bytesLeft <= AHEAD_RUNS * runBytesMax) {
          this.#readAhead(parts);
          if (this.#ahead === undefined) following ??= openNext();
          following?.begin();
        }
        return run;
      }
    };
    return { next };
  }

  /** Fetches in subranges from the next part on, if the range is long and allows it. */
  #readAhead(parts: readonly PartRecord[]): void {
    const { subrangesAhead = 0 } = this.#range;
    const { layout } = this.#segment;
    if (subrangesAhead === 0 || !LAYOUTS[layout].blocks || !this.#wantsMuch) return;
    this.#ahead ??= new BlocksAhead(
      new PartSubranges(parts.slice(this.#partsOpened), this.#range),
      subrangesAhead,
      (subrange) => this.#scanSubrange(subrange),
    );
    this.#ahead.begin();
  }

  #scanSubrange(subrange: Subrange): AsyncIterable<readonly StoredBlock[]> {
    const { part } = subrange;
    if (part !== this.#newestOpened) this.#partsOpened++;
    this.#newestOpened = part;
    const { runBytesMax: wholeBytes, subrangeBytes = wholeBytes } = this.#range;
    const runBytesMax = subrange.cut === undefined ? wholeBytes : subrangeBytes;
    const range = { ...this.#range, runBytesMax, firstBytes: runBytesMax };
    const whole = blockRangeOf(part, range, boundsOf(range));
    const blocks = blocksOfSubrange(whole, wholeSubrange(part, range), subrange);
    return this.#store.scanBlocks(partKey(this.#original, part.part), blocks, this.#leaving.signal);
  }

  /** Whether the reader was asked for more than a first fetch brings. */
  get #streaming(): boolean {
    if (this.#range.onDemand === true) return false;
    return this.#bytes >= Math.min(this.#range.firstBytes, this.#range.runBytesMax);
  }

  /** Streaming, or a range so large that there is no page to serve first. */
  get #wantsMuch(): boolean {
    if (this.#range.onDemand === true) return false;
    return this.#streaming || this.#range.firstBytes >= this.#range.runBytesMax;
  }

  #openPart(part: PartRecord, runBytesMax: number, mergedParts = 1): PartCursor {
    const { generation, layout } = this.#segment;
    const left = Math.max(0, this.#range.firstBytes - this.#bytes) / mergedParts;
    const wanted = this.#streaming ? runBytesMax : left;
    const range = { ...this.#range, runBytesMax, firstBytes: Math.min(wanted, part.bytes) };
    const { signal } = this.#leaving;
    const ahead = this.#ahead;
    if (ahead === undefined) this.#partsOpened++;
    const blocks = ahead && ((): AsyncIterable<readonly StoredBlock[]> => ahead.blocksOf(part));
    const runs = readPart(
      this.#store,
      this.#original,
      generation,
      layout,
      part,
      range,
      signal,
      blocks,
    );
    const cursor = new PartCursor(runs, part, ahead === undefined);
    this.#open.add(cursor);
    return cursor;
  }
}

/** One part, read one fetch ahead if requested, unless its blocks are fetched ahead anyway. */
class PartCursor {
  readonly #runs: AsyncGenerator<Run, void, undefined>;
  readonly #mayReadAhead: boolean;
  #ahead: Promise<Run | undefined> | undefined;
  /** Of the part: an upper bound. */
  bytesLeft: number;

  constructor(runs: AsyncGenerator<Run, void, undefined>, part: PartRecord, mayReadAhead: boolean) {
    this.#runs = runs;
    this.#mayReadAhead = mayReadAhead;
    this.bytesLeft = part.bytes;
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
    this.bytesLeft -= run.bytes;
    if (readAhead && this.#mayReadAhead) this.begin();
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
