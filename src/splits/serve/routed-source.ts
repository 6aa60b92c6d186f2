/**
 * Reads one partition that has a split, in order: what the split covers from the split, the rest
 * from the original, as planned.
 *
 * At the first integrity error it continues with the original behind the last event that it
 * returned, so that a caller never notices. While it reads, it sums up the ranges to compare, and
 * submits the sums at the end.
 */
import { ServiceError } from "../../lib/errors.ts";
import type { NamespaceView } from "../../model/namespace.ts";
import { partitionText } from "../../model/partition.ts";
import type { PartitionKey } from "../../model/partition.ts";
import type { RouteRecord, RouteSegment } from "../../model/split.ts";
import { partReadRange } from "../../parts/part-read-range.ts";
import { IntegrityError } from "../../parts/part-reader.ts";
import { RangeSum } from "../../parts/range-sum.ts";
import { SegmentReader } from "../../parts/segment-reader.ts";
import { PartitionReader } from "../../partition/partition-reader.ts";
import type { PartitionRoute, PartitionSource } from "../../partition/partition-source.ts";
import type { ScanRange } from "../../ports/event-store.ts";
import { comparePositions } from "../../wire/frames.ts";
import type { Position, Run } from "../../wire/frames.ts";
import type { Comparison, ReadRange } from "./comparison.ts";
import { mayServe } from "./may-serve.ts";
import type { FallbackReason } from "./fallback-reason.ts";
import { plainPlan } from "./plan-route.ts";
import type { RoutePlan, RouteRange } from "./plan-route.ts";
import type { KnownRoute } from "./route-cache.ts";
import { factsNow, planNow } from "./serve-context.ts";
import type { ServeContext, ServedPartition } from "./serve-context.ts";

/** One range being read, from a segment of the split or from the original. */
interface RangeRead {
  readonly routeRange: RouteRange;
  readonly range: ScanRange;
  readonly sum: RangeSum | undefined;
  /** Undefined until the split's parts are known. */
  runs: PartitionReader | SegmentReader | undefined;
  /** Whether some of its events were returned. */
  begun: boolean;
}

const NOT_LOOKED_UP: PartitionRoute = {
  route: "ORIGINAL_NOT_SPLIT",
  why: "nothing was read of it yet",
  parts: 0,
};

export class RoutedSource implements PartitionSource {
  readonly #context: ServeContext;
  readonly #view: NamespaceView;
  readonly #served: ServedPartition;
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
  /** The segment that the run returned last was read from, if it was read from the split. */
  #lastSegment: RouteSegment | undefined;
  bytes = 0;
  events = 0;
  /**
   * Excludes what a split covers, whichever side it was read from: that is not wide any more (rule
   * C10).
   */
  originalBytes = 0;
  originalEvents = 0;
  millis = 0;

  constructor(
    context: ServeContext,
    view: NamespaceView,
    partition: PartitionKey,
    range: ScanRange,
    signal: AbortSignal,
  ) {
    this.#context = context;
    this.#view = view;
    this.#served = { namespace: view.namespace.name, partition, text: partitionText(partition) };
    this.#range = range;
    this.#signal = signal;
    this.#sign = range.order === "OLDEST_FIRST" ? 1 : -1;
  }

  get partition(): PartitionKey {
    return this.#served.partition;
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
    const { clock } = this.#context;
    const startedMs = clock.monotonicMs();
    try {
      return await this.#next();
    } finally {
      this.millis += clock.monotonicMs() - startedMs;
    }
  }

  async isWithdrawn(): Promise<boolean> {
    const segment = this.#lastSegment;
    if (segment === undefined) return false;
    const known = this.#knownRoute() ?? (await this.#askAgain().catch(() => undefined));
    if (known !== undefined && this.#mayServe(known.route, segment)) return false;
    const { reason, detail } = fallbackOf(new Withdrawn());
    this.#context.observe.fellBack(this.#served.namespace, reason, detail);
    return true;
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
    this.#plan ??= await this.#lookUp();
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

  /** Plans where to read each range. Never rejects: without an answer it reads the original. */
  async #lookUp(): Promise<RoutePlan> {
    const { routes, observe, falsePositive } = this.#context;
    const { namespace, partition, text } = this.#served;
    let route: RouteRecord | undefined;
    try {
      ({ route } = await routes.get(partition, text));
    } catch (error) {
      const original = unasked(error);
      observe.fellBack(namespace, "route", original.why);
      return { ...planNow(this.#context, this.#served, undefined, this.#range), route: original };
    }
    // A split that was taken back has an empty route, which stays in the filter until the next
    // fill.
    if (route === undefined) {
      observe.filterFalsePositive(namespace);
      falsePositive(partition);
    }
    const plan = planNow(this.#context, this.#served, route, this.#range);
    if (plan.fallback !== undefined) observe.fellBack(namespace, plan.fallback, plan.route.why);
    return plan;
  }

  #beginNext(): RangeRead | undefined {
    const routeRange = this.#plan?.routeRanges[this.#nextRange];
    if (routeRange === undefined) return undefined;
    this.#nextRange++;
    const range = { ...this.#range, from: routeRange.from, to: routeRange.to };
    const sum = routeRange.compare === "NO" ? undefined : new RangeSum(routeRange.compare);
    const { store, clock } = this.#context;
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
      // A second read must not delay the end of a read whose caller has left.
      this.#signal.throwIfAborted();
      await this.#fallBack(reading, error);
      return "fell back";
    }
  }

  async #stepInSplit(reading: RangeRead): Promise<Run | undefined> {
    const { segment } = reading.routeRange;
    if (segment === undefined) throw new IntegrityError("gap between parts", "there is no segment");
    const known = this.#knownRoute() ?? (await this.#askAgain());
    if (known === undefined || !this.#mayServe(known.route, segment)) throw new Withdrawn();
    reading.runs ??= await this.#openSegment(segment, reading.range);
    const run = await reading.runs.next();
    if (run !== undefined && !this.#follows(run, reading.range)) {
      throw new IntegrityError("broken chain", "events came out of order");
    }
    return run;
  }

  #knownRoute(): KnownRoute | undefined {
    return this.#context.routes.current(this.partition, this.#served.text);
  }

  async #askAgain(): Promise<KnownRoute | undefined> {
    await this.#context.routes.get(this.partition, this.#served.text);
    // An answer that took too long must not be used.
    return this.#knownRoute();
  }

  /** Called before each fetch, with the present facts. */
  #mayServe(route: RouteRecord | undefined, segment: RouteSegment): boolean {
    const facts = factsNow(this.#context, this.#served, route);
    return mayServe(facts, segment, this.#context.trustOf(this.#served.text, segment)) === "YES";
  }

  async #openSegment(segment: RouteSegment, range: ScanRange): Promise<SegmentReader> {
    const { routes, store } = this.#context;
    const parts = await routes.parts(this.partition, segment);
    this.#readSplit = true;
    const wanted = partReadRange(range, segment);
    return new SegmentReader(store, this.partition, segment, parts, wanted, this.#signal);
  }

  /**
   * Checks, whatever a reader of parts promises, that a run begins behind the last one and inside
   * the range.
   */
  #follows({ first, last }: Run, { from, to }: ScanRange): boolean {
    const { after } = this.#range;
    const [oldest, newest] = this.#sign > 0 ? [first, last] : [last, first];
    if (oldest.time < from || newest.time >= to) return false;
    return after === undefined || comparePositions(first, after) * this.#sign > 0;
  }

  /** Continues with the original, for this range and all that follow. */
  async #fallBack(reading: RangeRead, error: unknown): Promise<void> {
    const { reason, detail, late } = fallbackOf(error);
    this.#context.observe.fellBack(this.#served.namespace, reason, detail);
    this.#partsBefore += this.#partsOpened();
    this.#reading = undefined;
    await reading.runs?.close();
    const { segment } = reading.routeRange;
    if (reason === "integrity" && segment !== undefined) {
      const sum = new RangeSum("SIZES").taken();
      const { routeRange, range } = reading;
      const read = { routeRange, segment, range, last: undefined, sum };
      this.#context.integrityError(this.#comparison(read));
    }
    if (late && reading.begun) {
      // Events already returned may be wrong: the caller must start again, and then reads the
      // original.
      this.#done = true;
      throw new ServiceError(
        // Not a code after which callers continue with the last page's token: that page may lack an
        // event.
        "CONFLICT",
        "a split is not as it was listed, and what was answered of it may lack events; begin the read again, without a page token; it is answered from the original",
        { cause: error },
      );
    }
    this.#fellBack = { why: `the split was given up: ${detail}` };
    if (this.#plan !== undefined) this.#plan = plainPlan(this.#plan);
    // Reads the range again, from behind the last event returned.
    this.#nextRange--;
  }

  #note(reading: RangeRead, run: Run): void {
    reading.begun = true;
    const { readFrom, segment } = reading.routeRange;
    this.#lastSegment = readFrom === "SPLIT" ? segment : undefined;
    reading.sum?.add(run);
    this.bytes += run.bytes;
    this.events += run.count;
    if (segment === undefined) {
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
    const read = { routeRange, segment, range, last, sum: sum.taken() };
    this.#context.compare(this.#comparison(read));
  }

  #comparison(read: ReadRange): Comparison {
    const { namespace, partition } = this.#served;
    return { namespace, partition, round: this.#view.namespace.readMode.round, read };
  }

  #partsOpened(): number {
    const runs = this.#reading?.runs;
    return runs instanceof SegmentReader ? runs.partsOpened : 0;
  }
}

/** If the plan names the split and nothing was read from it yet, only the original was read. */
function readOnlyOriginal(planned: PartitionRoute): PartitionRoute {
  if (planned.route !== "SPLIT" && planned.route !== "SPLIT_AND_ORIGINAL") return planned;
  return { route: "ORIGINAL_NOT_SPLIT", why: planned.why, parts: 0 };
}

/** The route when the catalog did not answer. */
export function unasked(error: unknown): PartitionRoute {
  const detail = error instanceof Error ? error.message : String(error);
  return {
    route: "ORIGINAL_FALLBACK",
    why: `the catalog could not be asked for the route: ${detail}`,
    parts: 0,
  };
}

/** Mode, kill switch, epoch or route no longer allow the split to be read. */
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
