/**
 * One partition of which something is split, read in order: what the split covers from the split, the
 * rest from the original, as planned.
 *
 * At the first doubt it goes on with the original behind the last event that was handed on, so a caller
 * never notices. What is to be compared is summed up while it passes, and handed over at the end.
 */
import type { Clock } from "../../lib/clock.ts";
import { ServiceError } from "../../lib/errors.ts";
import type { PartitionKey } from "../../model/partition.ts";
import type { PartRecord, RouteSegment } from "../../model/split.ts";
import { IntegrityError } from "../../parts/part-reader.ts";
import { PartitionReader } from "../../partition/partition-reader.ts";
import type { PartitionRoute, PartitionSource } from "../../partition/partition-source.ts";
import { SegmentReader } from "../../parts/segment-reader.ts";
import type { EventStore, ScanRange } from "../../ports/event-store.ts";
import { comparePositions } from "../../wire/frames.ts";
import type { Position, Run } from "../../wire/frames.ts";
import type { FallbackReason } from "./observer.ts";
import { partReadRange } from "../../parts/part-read-range.ts";
import { plainPlan } from "./plan-route.ts";
import type { RoutePlan, RouteRange } from "./plan-route.ts";
import { RangeSum } from "../../parts/range-sum.ts";
import type { SumTaken } from "../../parts/range-sum.ts";

/** What was read of one stretch, to be compared with the other side. */
export interface ReadRange {
  readonly routeRange: RouteRange;
  readonly segment: RouteSegment;
  readonly range: ScanRange;
  /** Up to here it was read; undefined: to the end. */
  readonly last: Position | undefined;
  readonly sum: SumTaken;
}

/** What a source asks of whoever serves. */
export interface SourceServing {
  readonly store: EventStore;
  readonly clock: Clock;
  /** Where to read what. Never rejects: without an answer it is the original. */
  plan(): Promise<RoutePlan>;
  /** Whether the split may still be read now: asked before each fetch. */
  stillServed(segment: RouteSegment): boolean | Promise<boolean>;
  parts(segment: RouteSegment): Promise<readonly PartRecord[]>;
  fellBack(reason: FallbackReason, detail: string): void;
  /** The split could not be vouched for. */
  integrityError(read: ReadRange): void;
  compare(read: ReadRange): void;
}

/** Something being read: a segment of the split, or the original. */
interface RangeRead {
  readonly routeRange: RouteRange;
  readonly range: ScanRange;
  readonly sum: RangeSum | undefined;
  /** Undefined until the split's parts are known. */
  runs: PartitionReader | SegmentReader | undefined;
  /** Whether something of it was handed on. */
  begun: boolean;
}

const NOT_LOOKED_UP: PartitionRoute = {
  route: "ORIGINAL_NOT_SPLIT",
  why: "nothing was read of it yet",
  parts: 0,
};

export class RoutedSource implements PartitionSource {
  readonly partition: PartitionKey;
  readonly #serving: SourceServing;
  readonly #signal: AbortSignal;
  readonly #sign: 1 | -1;
  #range: ScanRange;
  #plan: RoutePlan | undefined;
  #nextRange = 0;
  #reading: RangeRead | undefined;
  #fellBack: { readonly why: string } | undefined;
  #readSplit = false;
  #readOriginal = false;
  #partsBefore = 0;
  #done = false;
  bytes = 0;
  events = 0;
  /** What a split covers is left out, wherever it was read from: it is not wide any more (rule C10). */
  originalBytes = 0;
  originalEvents = 0;
  millis = 0;

  constructor(
    serving: SourceServing,
    partition: PartitionKey,
    range: ScanRange,
    signal: AbortSignal,
  ) {
    this.partition = partition;
    this.#serving = serving;
    this.#range = range;
    this.#signal = signal;
    this.#sign = range.order === "OLDEST_FIRST" ? 1 : -1;
  }

  get route(): PartitionRoute {
    const planned = this.#plan?.route ?? NOT_LOOKED_UP;
    const parts = this.#partsBefore + this.#partsOpened();
    if (this.#fellBack !== undefined) {
      return { route: "ORIGINAL_FALLBACK", why: this.#fellBack.why, parts };
    }
    if (!this.#readSplit && !this.#readOriginal) return planned;
    if (!this.#readSplit) return readOnlyOriginal(planned);
    const route = this.#readOriginal ? "SPLIT_AND_ORIGINAL" : "SPLIT";
    return { route, why: planned.why, parts };
  }

  async next(): Promise<Run | undefined> {
    const startedMs = this.#serving.clock.monotonicMs();
    try {
      return await this.#next();
    } finally {
      this.millis += this.#serving.clock.monotonicMs() - startedMs;
    }
  }

  async close(): Promise<void> {
    if (this.#done) return;
    this.#done = true;
    const reading = this.#reading;
    this.#reading = undefined;
    if (reading === undefined) return;
    if (reading.begun) this.#handOver(reading, this.#range.after);
    await reading.runs?.close();
  }

  async #next(): Promise<Run | undefined> {
    this.#plan ??= await this.#serving.plan();
    while (!this.#done) {
      const reading = (this.#reading ??= this.#beginNext());
      if (reading === undefined) {
        this.#done = true;
        break;
      }
      const run = await this.#step(reading);
      if (run === "fell back") continue;
      if (run !== undefined) {
        this.#note(reading, run);
        return run;
      }
      await this.#end(reading);
    }
    return undefined;
  }

  #beginNext(): RangeRead | undefined {
    const routeRange = this.#plan?.routeRanges[this.#nextRange];
    if (routeRange === undefined) return undefined;
    this.#nextRange++;
    const range = { ...this.#range, from: routeRange.from, to: routeRange.to };
    const sum = routeRange.compare === "NO" ? undefined : new RangeSum(routeRange.compare);
    const { store, clock } = this.#serving;
    const runs =
      routeRange.readFrom === "SPLIT"
        ? undefined
        : new PartitionReader(store, clock, this.partition, range, this.#signal);
    if (runs !== undefined) this.#readOriginal = true;
    return { routeRange, range, sum, runs, begun: false };
  }

  async #step(reading: RangeRead): Promise<Run | undefined | "fell back"> {
    if (reading.routeRange.readFrom === "ORIGINAL") return reading.runs?.next();
    try {
      return await this.#stepInSplit(reading);
    } catch (error) {
      // Whoever left is not to be kept by a second read.
      this.#signal.throwIfAborted();
      await this.#fallBack(reading, error);
      return "fell back";
    }
  }

  async #stepInSplit(reading: RangeRead): Promise<Run | undefined> {
    const { segment } = reading.routeRange;
    if (segment === undefined) throw new IntegrityError("gap between parts", "there is no segment");
    const served = this.#serving.stillServed(segment);
    if (!(typeof served === "boolean" ? served : await served)) throw new Withdrawn();
    reading.runs ??= await this.#openSegment(segment, reading.range);
    const run = await reading.runs.next();
    if (run !== undefined && !this.#follows(run, reading.range)) {
      throw new IntegrityError("broken chain", "events came out of order");
    }
    return run;
  }

  async #openSegment(segment: RouteSegment, range: ScanRange): Promise<SegmentReader> {
    const parts = await this.#serving.parts(segment);
    this.#readSplit = true;
    const wanted = partReadRange(range, segment);
    const { store } = this.#serving;
    return new SegmentReader(store, this.partition, segment, parts, wanted, this.#signal);
  }

  /** Whatever a reader of parts vouches for: a run goes on where the last one ended, inside the stretch. */
  #follows({ first, last }: Run, { from, to }: ScanRange): boolean {
    const { after } = this.#range;
    const [oldest, newest] = this.#sign > 0 ? [first, last] : [last, first];
    if (oldest.time < from || newest.time >= to) return false;
    return after === undefined || comparePositions(first, after) * this.#sign > 0;
  }

  /** Goes on with the original, here and in all that follows. */
  async #fallBack(reading: RangeRead, error: unknown): Promise<void> {
    const { reason, detail, late } = fallbackOf(error);
    this.#serving.fellBack(reason, detail);
    this.#partsBefore += this.#partsOpened();
    this.#reading = undefined;
    await reading.runs?.close();
    const { segment } = reading.routeRange;
    if (reason === "integrity" && segment !== undefined) {
      const sum = new RangeSum("SIZES").taken();
      const { routeRange, range } = reading;
      this.#serving.integrityError({ routeRange, segment, range, last: undefined, sum });
    }
    if (late && reading.begun) {
      // What was handed on already may be wrong: the caller must begin again, and reads the original then.
      this.#done = true;
      throw new ServiceError(
        // Not a code that callers go on after with the token of the last page: that page may lack an event.
        "CONFLICT",
        "a split is not as it was listed, and what was answered of it may lack events; begin the read again, without a page token; it is answered from the original",
        { cause: error },
      );
    }
    this.#fellBack = { why: `the split was given up: ${detail}` };
    if (this.#plan !== undefined) this.#plan = plainPlan(this.#plan);
    // The stretch is read again, from behind what was handed on.
    this.#nextRange--;
  }

  #note(reading: RangeRead, run: Run): void {
    reading.begun = true;
    reading.sum?.add(run);
    this.bytes += run.bytes;
    this.events += run.count;
    if (reading.routeRange.segment === undefined) {
      this.originalBytes += run.bytes;
      this.originalEvents += run.count;
    }
    this.#range = { ...this.#range, after: run.last };
  }

  async #end(reading: RangeRead): Promise<void> {
    this.#handOver(reading, undefined);
    this.#partsBefore += this.#partsOpened();
    this.#reading = undefined;
    await reading.runs?.close();
  }

  #handOver({ routeRange, range, sum }: RangeRead, last: Position | undefined): void {
    const { segment } = routeRange;
    if (sum === undefined || segment === undefined) return;
    this.#serving.compare({ routeRange, segment, range, last, sum: sum.taken() });
  }

  #partsOpened(): number {
    const runs = this.#reading?.runs;
    return runs instanceof SegmentReader ? runs.partsOpened : 0;
  }
}

/** Where the plan has the split and nothing was read of it yet, the original is all that was read. */
function readOnlyOriginal(planned: PartitionRoute): PartitionRoute {
  if (planned.route !== "SPLIT" && planned.route !== "SPLIT_AND_ORIGINAL") return planned;
  return { route: "ORIGINAL_NOT_SPLIT", why: planned.why, parts: 0 };
}

/** Mode, kill switch, epoch or route do not allow it any more. */
class Withdrawn extends Error {}

function fallbackOf(error: unknown): { reason: FallbackReason; detail: string; late: boolean } {
  if (error instanceof Withdrawn) {
    return { reason: "withdrawn", detail: "it may not be served any more", late: false };
  }
  if (error instanceof IntegrityError) {
    const reason = error.reason === "storage" ? "storage" : "integrity";
    return { reason, detail: error.message, late: error.late };
  }
  const detail = error instanceof Error ? error.message : String(error);
  return { reason: "route", detail, late: false };
}
