/**
 * One namespace on a catalog and a store in memory and a virtual clock; a process that does all the
 * work and may end at any of its steps; and a server that never ends, whose reads are judged all
 * the time.
 *
 * Every event is known before it is stored, so a read has exactly one right answer. Every change of
 * a stored record is checked against its table of moves.
 */
import { isDeepStrictEqual } from "node:util";
import { ByteBudget } from "../../src/lib/byte-budget.ts";
import { compareBytes, utf8 } from "../../src/lib/bytes.ts";
import { ServiceError } from "../../src/lib/errors.ts";
import { SeededRandom } from "../../src/lib/seeded-random.ts";
import { encodeDetection } from "../../src/model/detection.ts";
import type { NamespaceConfigPatch } from "../../src/model/merge-config.ts";
import { eventBucketOf, timeBucketOf } from "../../src/model/partition.ts";
import type { PartitionKey } from "../../src/model/partition.ts";
import { SPLIT_MOVES } from "../../src/model/split-moves.ts";
import type { SplitRecord } from "../../src/model/split.ts";
import { timeMargins } from "../../src/model/time-margins.ts";
import { BelievedTime } from "../../src/namespaces/believed-time.ts";
import { NamespaceViews } from "../../src/namespaces/namespace-views.ts";
import { Namespaces } from "../../src/namespaces/namespaces.ts";
import { makeSplitTable } from "../../src/namespaces/make-split-table.ts";
import { setPartitioning } from "../../src/namespaces/set-partitioning.ts";
import { SliceOwnership } from "../../src/namespaces/slice-ownership.ts";
import { SliceReconciler } from "../../src/namespaces/slice-reconciler.ts";
import type { RouteName } from "../../src/partition/partition-source.ts";
import type { CatalogRecord } from "../../src/ports/catalog.ts";
import { EventReader } from "../../src/read/read-events.ts";
import { PageTokens } from "../../src/read/page-tokens.ts";
import { DEFAULT_READ_LIMITS } from "../../src/read/read-limits.ts";
import type { ReadQuery } from "../../src/read/read-query.ts";
import { readNamespace, updateNamespace } from "../../src/records/namespace-records.ts";
import type { NamespaceRecord } from "../../src/records/namespace-records.ts";
import { readSlices } from "../../src/records/slice-records.ts";
import { readSplit } from "../../src/records/split-records.ts";
import { SplitServing } from "../../src/server/split-serving.ts";
import { recordDetection } from "../../src/splits/detect/record-detection.ts";
import { Splits } from "../../src/splits/operate/splits.ts";
import type { SplitLocation } from "../../src/splits/use-cases.ts";
import { SplitWorker } from "../../src/splits/work/split-worker.ts";
import { tuneNamespace } from "../../src/tune/tune-namespace.ts";
import { encodeEvent } from "../../src/wire/event-record.ts";
import type { EventBytes } from "../../src/wire/event-record.ts";
import { eventOfFrame, frameLength, writeFrame } from "../../src/wire/frames.ts";
import { MemoryCatalog } from "../support/memory-catalog.ts";
import { MemoryStore } from "../support/memory-store.ts";
import { SliceWitness } from "../support/slice-witness.ts";
import { VirtualClock } from "../support/virtual-clock.ts";
import { catalogInSteps, ProcessSteps, storeInSteps } from "./crash-step.ts";
import type { CrashPoint } from "./crash-step.ts";

export const NAME = "plays";
const SERIES = "profile:123";
export const SECOND = 1_000_000;
export const MINUTE = 60 * SECOND;
/** The tuner sees days that have not come yet, as walked already. */
export const TUNED_LATER = 1_000 * 86_400 * SECOND;
export const NOON = Date.UTC(2026, 2, 28, 12) * 1_000;
const VIEW_MAX_AGE_MS = 4_000;
const MARGINS = timeMargins({
  clockSkewMs: 500,
  viewMaxAgeMs: VIEW_MAX_AGE_MS,
  writeMaxMs: 3_000,
  pauseMaxMs: 1_000,
  // A slice of a scenario waits for a quarter of its deleteAfter.
  dropGraceMs: 1_800_000,
});
const WORK_SECONDS_MAX = 600;
const TIMELINE_MAX = 400;

/** The process that works: control, splitting and tuning, and serving where a scenario asks. */
export interface WorkProcess {
  readonly name: string;
  readonly steps: ProcessSteps;
  readonly namespaces: Namespaces;
  readonly splits: Splits;
  /** As the queue delivers it. */
  detect(partition: PartitionKey): Promise<void>;
  /** One round of the tuner. */
  tune(): Promise<void>;
  /** Compares every read that it serves from a split. */
  read(): Promise<void>;
}

export class CrashWorld {
  readonly clock = new VirtualClock(NOON);
  readonly catalog = new MemoryCatalog({ shared: true });
  readonly store = new MemoryStore();
  readonly #witness = new SliceWitness(this);
  readonly #random = new SeededRandom(7);
  readonly #over = new AbortController();
  readonly #reader: Reader;
  /** What happened, for the story of a failure. */
  readonly timeline: string[] = [];
  readonly #wrong: string[] = [];
  #started = 0;
  /** By position: those that every read returns, and those that one may return. */
  #must: KnownEvent[] = [];
  #may: KnownEvent[] = [];
  /** A scenario deletes the namespace and restores it. */
  mayBeDeleted = false;
  readsJudged = 0;

  constructor() {
    this.#reader = this.#startReader();
    const { changed } = this.catalog;
    this.catalog.changed = (space, before, after) => {
      changed(space, before, after);
      this.#recordChanged(space, before, after);
    };
  }

  close(): void {
    this.#over.abort();
  }

  fail(what: string): void {
    this.tell(`WRONG: ${what}`);
    this.#wrong.push(what);
  }

  get wrong(): readonly string[] {
    return this.#wrong;
  }

  tell(what: string): void {
    if (this.timeline.length >= TIMELINE_MAX) return;
    const seconds = (this.clock.monotonicMs() / 1_000).toFixed(1);
    this.timeline.push(`${seconds.padStart(7)} s  ${what}`);
  }

  start(options: { readonly point?: CrashPoint; readonly splits?: boolean } = {}): WorkProcess {
    const { point, splits: splitsToo = true } = options;
    const name = `process-${++this.#started}`;
    this.tell(`${name} starts`);
    const steps = new ProcessSteps(point);
    this.#over.signal.addEventListener("abort", () => steps.kill(), { once: true });
    const { clock, signal } = { clock: this.clock, signal: steps.signal };
    const catalog = catalogInSteps(this.catalog, steps);
    const store = storeInSteps(this.store, steps);
    const random = this.#random.fork();
    const views = new NamespaceViews({ catalog, clock, viewMaxAgeMs: VIEW_MAX_AGE_MS });
    const changed = (of: string): Promise<void> => views.refresh(of);
    const ownership = new SliceOwnership({ catalog, clock });
    const time = new BelievedTime({ catalog, clock, margins: MARGINS, evenMs: 0 });
    const control = { catalog, store, ownership, clock, margins: MARGINS, time, changed, random };
    const namespaces = new Namespaces(control);
    const worker = new SplitWorker({
      catalog,
      store,
      views,
      clock,
      random,
      by: name,
      margins: MARGINS,
      copyAtAll: false,
      makeSplitTable: (...of) => makeSplitTable(control, ...of),
      observe: (event) => {
        if (event.kind === "trouble") this.#trouble(name, event.what, event.error);
      },
      sweepMs: 1_000,
      leaseMs: 5_000,
    });
    void views.run(signal);
    void new SliceReconciler(control).run(signal);
    if (splitsToo) void worker.run(signal);
    const nudge = (partition: PartitionKey): void => worker.nudge(partition);
    const detected = recordDetection({ catalog, views, clock, by: name, nudge });
    let reader: Reader | undefined;
    return {
      name,
      steps,
      namespaces,
      splits: new Splits({ catalog, clock, namespaceChanged: changed }),
      detect: async (partition) => {
        await detected(await this.#detectionOf(partition), signal);
      },
      tune: async () => {
        const found = await readNamespace(catalog, NAME);
        const context = {
          catalog,
          clock,
          margins: MARGINS,
          time: { nowMicros: () => time.nowMicros() + TUNED_LATER, inDoubt: false },
          setPartitioning: (...args: SetPartitioning) => setPartitioning(control, ...args),
        };
        if (found !== undefined) await tuneNamespace(context, found);
      },
      read: async () => {
        reader ??= this.#readerOf({ catalog, store, views, signal, by: name, compareAll: true });
        await reader.read(queryOf(this.#must, false));
      },
    };
  }

  /** Lets time pass until the work has ended. */
  async pass<T>(work: Promise<T>): Promise<T> {
    let ended = false;
    const end = (): void => void (ended = true);
    work.then(end, end);
    for (let passed = 0; !ended; passed++) {
      if (passed > 4 * WORK_SECONDS_MAX) throw new Error("the work does not end");
      await this.clock.advance(250);
    }
    return work;
  }

  /** Lets time pass until the claim holds. */
  async until(what: string, claim: () => Promise<boolean>, seconds = 300): Promise<void> {
    for (let passed = 0; !(await claim()); passed++) {
      if (passed === seconds) throw new Error(`${what} never came true`);
      await this.clock.advance(1_000);
    }
  }

  /** Reads are served from splits without evidence. */
  async serve(): Promise<void> {
    const change = updateNamespace(this.catalog, NAME, (record) => ({
      ...record,
      readMode: { ...record.readMode, mode: "SERVE", kinds: null, autoAdvance: false },
    }));
    await this.pass(change);
  }

  async config(): Promise<NamespaceRecord | undefined> {
    return readNamespace(this.catalog, NAME);
  }

  /** Stores events straight away, evenly over a time. Reads must return them from now on. */
  async write(written: Written): Promise<void> {
    await this.#store(written, (event) => this.#must.push(event));
  }

  /** The same for an event of a write that had failed: reads may return it. */
  async surface(written: Written): Promise<void> {
    await this.#store(written, (event) => this.#may.push(event));
  }

  /** From now on reads must return what they might return before. */
  mustReturnAll(): void {
    this.#must.push(...this.#may.splice(0));
  }

  /** Their slice is about to be closed and dropped: reads may return all of them, or none. */
  mayBeDropped(): void {
    this.#may.push(...this.#must.splice(0));
  }

  async partitionAt(time: number, series = SERIES): Promise<PartitionKey> {
    const { id } = (await this.config()) ?? { id: "" };
    const slices = await readSlices(this.catalog, id);
    const slice = slices.find((each) => each.start <= time && time < each.end);
    if (slice === undefined) throw new Error(`no slice holds ${time}`);
    const timeBucket = timeBucketOf(slice, time);
    return { namespaceId: id, slice: slice.name, seriesId: series, timeBucket, eventBucket: 0 };
  }

  async locationAt(time: number): Promise<SplitLocation> {
    const { slice, seriesId, timeBucket, eventBucket } = await this.partitionAt(time);
    return { namespace: NAME, timeSlice: slice, seriesId, timeBucket, eventBucket };
  }

  split(partition: PartitionKey): Promise<SplitRecord | undefined> {
    return readSplit(this.catalog, partition);
  }

  /**
   * Reads everything through the server that never ends, in both orders, and judges it. Returns the
   * routes of the partitions that were read.
   */
  async judge(): Promise<ReadonlySet<RouteName>> {
    const routes = new Set<RouteName>();
    for (const newestFirst of [true, false]) {
      const must = [...this.#must];
      try {
        this.#reader.routes.length = 0;
        const frames = await this.#reader.read(queryOf([...must, ...this.#may], newestFirst));
        this.readsJudged++;
        for (const route of this.#reader.routes) routes.add(route);
        const problem = problemOf(newestFirst ? frames.toReversed() : frames, must, this.#may);
        if (problem !== undefined) this.fail(`a read is not right: ${problem}`);
      } catch (error) {
        const gone = error instanceof ServiceError && error.code === "NAMESPACE_NOT_FOUND";
        if (!gone || !this.mayBeDeleted) throw error;
      }
    }
    return routes;
  }

  /** Slices are as decided, nothing is half done, and no record is without its namespace. */
  checkSlices(): void {
    try {
      this.#witness.check("in the end");
    } catch (error) {
      this.fail(error instanceof Error ? error.message : String(error));
    }
  }

  /** The number of records of each kind of space. */
  recordCounts(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const record of this.catalog.dump()) {
      const [kind = ""] = record.split("/");
      counts.set(kind, (counts.get(kind) ?? 0) + 1);
    }
    return counts;
  }

  /** Only an answer that was lost excuses it. */
  #trouble(by: string, what: string, error: unknown): void {
    this.tell(`${by}: ${what}: ${error instanceof Error ? error.message : String(error)}`);
    if (!(error instanceof ServiceError)) this.fail(`${by}: ${what}: ${String(error)}`);
  }

  #startReader(): Reader {
    const { catalog, store, clock } = this;
    const { signal } = this.#over;
    const views = new NamespaceViews({ catalog, clock, viewMaxAgeMs: VIEW_MAX_AGE_MS });
    void views.run(signal);
    return this.#readerOf({ catalog, store, views, signal, by: "reader", compareAll: false });
  }

  #readerOf(options: ReaderOptions): Reader {
    const { catalog, store, views, signal, by, compareAll } = options;
    const { clock } = this;
    const serving = new SplitServing({
      catalog,
      store,
      views,
      clock,
      by,
      margins: MARGINS,
      // Compares every read of a split, or only the first.
      random: {
        bytes: (length) => new Uint8Array(length),
        fraction: () => (compareAll ? 0 : 0.999),
      },
      killSwitch: { on: () => false, stale: () => false },
      observe: {
        filterChecked: () => undefined,
        filterCheckTook: () => undefined,
        filterFalsePositive: () => undefined,
        routeCache: () => undefined,
        routeFetchTook: () => undefined,
        fellBack: () => undefined,
        compared: (_, __, result) => this.tell(`${by} compared split and original: ${result}`),
        differenceChecked: (_, verdict) => this.tell(`${by} read the difference again: ${verdict}`),
        trouble: () => undefined,
      },
      fallBack: async () => this.fail("a read mode falls back"),
    });
    void serving.run(signal);
    const routes: RouteName[] = [];
    const reader = new EventReader({
      clock,
      views,
      opener: serving.opener,
      search: store,
      limits: DEFAULT_READ_LIMITS,
      budget: new ByteBudget(1 << 26),
      streamBudget: new ByteBudget(1 << 26),
      tokens: new PageTokens(new Uint8Array(32)),
      others: {
        clockSkewMicros: MARGINS.clockSkew.micros,
        refreshView: (of) => views.refresh(of),
      },
      onPartitionRead: (read) => void routes.push(read.route),
    });
    const read = async (query: ReadQuery): Promise<Uint8Array[]> => {
      const chunks: Uint8Array[] = [];
      for await (const page of reader.stream(query, signal)) chunks.push(...page.chunks);
      return splitFrames(chunks);
    };
    return { routes, read };
  }

  async #detectionOf(partition: PartitionKey) {
    const { epoch = 0 } = (await this.config()) ?? {};
    const frames = this.#must.filter(({ series }) => series === partition.seriesId);
    const value = encodeDetection({
      namespace: NAME,
      timeSlice: partition.slice,
      timeSeriesId: partition.seriesId,
      timeBucket: partition.timeBucket,
      eventBucket: partition.eventBucket,
      immutable: false,
      epoch,
      bytes: frames.reduce((sum, { frame }) => sum + frame.length, 0),
      events: frames.length,
      detectedAt: this.clock.nowMicros(),
    });
    return { key: "", value };
  }

  async #store(written: Written, known: (event: KnownEvent) => void): Promise<void> {
    const { series = SERIES, events, bytes, from, to, id = "e" } = written;
    const { id: namespaceId } = (await this.config()) ?? { id: "" };
    const slices = await readSlices(this.catalog, namespaceId);
    for (let nth = 0; nth < events; nth++) {
      const time = from + Math.floor(((to - from) * nth) / events);
      const slice = slices.find((each) => each.start <= time && time < each.end);
      if (slice === undefined) throw new Error(`no slice holds ${time}`);
      const eventId = utf8(`${id}-${String(nth).padStart(6, "0")}`);
      const value = new Uint8Array(bytes).fill(nth);
      const event = encodeEvent(utf8(series), time, eventId, [{ key: utf8("k"), value }]);
      const timeBucket = timeBucketOf(slice, time);
      const eventBucket = eventBucketOf(slice.timePartition.eventBuckets, eventId);
      await this.store.append({ namespaceId, slice: slice.name }, [
        { event, timeBucket, eventBucket },
      ]);
      known({ series, time, id: eventId, frame: frameOf(event) });
    }
  }

  #recordChanged(
    space: string,
    before: CatalogRecord | undefined,
    after: CatalogRecord | undefined,
  ): void {
    if (space.startsWith("splits/") && after !== undefined) this.#splitChanged(before, after);
    if (space === "namespaces" && after !== undefined) this.#namespaceChanged(before, after);
    if (space.startsWith("slices/")) this.#sliceChanged(before, after);
  }

  #splitChanged(before: CatalogRecord | undefined, after: CatalogRecord): void {
    const [old, now] = [recordOf<SplitRecord>(before), recordOf<SplitRecord>(after)];
    if (now === undefined) return;
    const move = now.history.at(-1);
    const moved = move !== undefined && !isDeepStrictEqual(move, old?.history.at(-1));
    if (!moved) {
      if (old !== undefined && old.state !== now.state)
        this.fail(`a split became ${now.state} without a move`);
      return;
    }
    this.tell(
      `split: ${move.from ?? "none"} -> ${move.to} (${move.cause}) by ${move.by}: ${move.reason}`,
    );
    // A repeat replaces the entry of the first, which began in another state.
    const right = now.state === move.to && (move.times > 1 || (old?.state ?? null) === move.from);
    if (!right) this.fail(`a split was ${old?.state} and became ${now.state} by that move`);
    if (move.from === null) return;
    const causes = SPLIT_MOVES[move.from][move.to];
    if (causes?.includes(move.cause) !== true) {
      this.fail(`a split moved ${move.from} -> ${move.to} for ${move.cause}, which is no move`);
    }
    if (old !== undefined && now.fence < old.fence) this.fail("a fence fell");
    if (old !== undefined && now.nextPart < old.nextPart) this.fail("part numbers are used twice");
  }

  #namespaceChanged(before: CatalogRecord | undefined, after: CatalogRecord): void {
    const [old, now] = [recordOf<NamespaceRecord>(before), recordOf<NamespaceRecord>(after)];
    if (now === undefined) return;
    if (old?.phase !== now.phase) this.tell(`namespace: ${old?.phase ?? "none"} -> ${now.phase}`);
    if (old === undefined || old.id !== now.id) return;
    if (old.epoch !== now.epoch) this.tell(`epoch ${old.epoch} -> ${now.epoch}`);
    if (now.epoch < old.epoch) this.fail("an epoch fell");
    if (now.epoch === old.epoch && now.floor < old.floor) this.fail("a floor fell in its epoch");
    const settledFell =
      now.settled.epoch === old.settled.epoch && now.settled.floor < old.settled.floor;
    if (settledFell) this.fail("a settled floor fell in its epoch");
    if (now.settled.epoch === now.epoch && now.settled.floor > now.floor) {
      this.fail("a floor is settled that is not raised");
    }
    const [was, is] = [JSON.stringify(old.changing), JSON.stringify(now.changing)];
    if (was !== is) this.tell(is === "null" ? "slices are changed" : `slices are to change: ${is}`);
  }

  #sliceChanged(before: CatalogRecord | undefined, after: CatalogRecord | undefined): void {
    const [old, now] = [recordOf<SliceState>(before), recordOf<SliceState>(after)];
    if (old?.state === now?.state && old?.storeDropped === now?.storeDropped) return;
    const state =
      now === undefined
        ? "forgotten"
        : `${now.state}${now.storeDropped ? ", without its table" : ""}`;
    this.tell(`slice ${after?.key ?? before?.key}: ${old?.state ?? "none"} -> ${state}`);
  }
}

export interface Written {
  readonly series?: string;
  readonly events: number;
  /** Of each event's value. */
  readonly bytes: number;
  /** Event time: evenly from `from` on, before `to`. */
  readonly from: number;
  readonly to: number;
  /** The prefix of its ids. */
  readonly id?: string;
}

export type NamespacePatch = NamespaceConfigPatch;

type SetPartitioning =
  Parameters<typeof setPartitioning> extends [unknown, ...infer Rest] ? Rest : never;

interface KnownEvent {
  readonly series: string;
  readonly time: number;
  readonly id: Uint8Array;
  readonly frame: Uint8Array;
}

interface SliceState {
  readonly state: string;
  readonly storeDropped: boolean;
}

interface Reader {
  /** Of the partitions that were read. */
  readonly routes: RouteName[];
  read(query: ReadQuery): Promise<Uint8Array[]>;
}

interface ReaderOptions {
  readonly catalog: Parameters<typeof catalogInSteps>[0];
  readonly store: Parameters<typeof storeInSteps>[0];
  readonly views: NamespaceViews;
  readonly signal: AbortSignal;
  readonly by: string;
  readonly compareAll: boolean;
}

function queryOf(events: readonly KnownEvent[], newestFirst: boolean): ReadQuery {
  const times = events.map(({ time }) => time);
  return {
    namespace: NAME,
    seriesId: SERIES,
    start: Math.min(NOON, ...times),
    end: Math.max(NOON, ...times) + 1,
    filters: [],
    order: newestFirst ? "NEWEST_FIRST" : "OLDEST_FIRST",
    pageSize: 1_000,
    totalLimit: 0,
    pageToken: "",
    allowPartial: false,
  };
}

/** `found`, oldest first, against what must and may be there. */
function problemOf(
  found: readonly Uint8Array[],
  must: readonly KnownEvent[],
  may: readonly KnownEvent[],
): string | undefined {
  const texts = found.map(textOf);
  const known = [...must, ...may]
    .filter(({ series }) => series === SERIES)
    .toSorted((a, b) => a.time - b.time || compareBytes(a.id, b.id));
  const places = new Map(known.map(({ frame }, nth) => [textOf(frame), nth]));
  let before = -1;
  for (const text of texts) {
    const place = places.get(text);
    if (place === undefined) return "an event that was not written, or with other bytes";
    if (place === before) return "an event came twice";
    if (place < before) return "events are out of order";
    before = place;
  }
  const there = new Set(texts);
  const missing = must.filter(
    ({ series, frame }) => series === SERIES && !there.has(textOf(frame)),
  );
  if (missing.length === 0) return undefined;
  return `${missing.length} of ${must.length} events are missing, the first of ${missing[0]?.time}`;
}

function splitFrames(chunks: readonly Uint8Array[]): Uint8Array[] {
  const frames: Uint8Array[] = [];
  for (const chunk of chunks) {
    for (let at = 0; at < chunk.length;) {
      const event = eventOfFrame(chunk, at);
      if (event === undefined) throw new Error("a page holds whole frames");
      frames.push(chunk.subarray(at, event.end));
      at = event.end;
    }
  }
  return frames;
}

function textOf(frame: Uint8Array): string {
  return Buffer.from(frame).toString("latin1");
}

function frameOf(event: EventBytes): Uint8Array {
  const frame = new Uint8Array(frameLength(event.end - event.start));
  writeFrame(frame, 0, event);
  return frame;
}

/** The code under test wrote it a moment ago, so its type is right. */
function recordOf<T>(stored: CatalogRecord | undefined): T | undefined {
  return stored === undefined ? undefined : (JSON.parse(stored.value) as T);
}
