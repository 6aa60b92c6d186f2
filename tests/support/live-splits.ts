/**
 * One namespace on any engine, whose partitions real workers split and real servers read, on a
 * virtual clock: each worker and each server is a process of its own, with its own views.
 */
import { makeSplitTable } from "../../src/namespaces/make-split-table.ts";
import { ByteBudget } from "../../src/lib/byte-budget.ts";
import type { Random } from "../../src/lib/random.ts";
import { readNamespace, updateNamespace } from "../../src/records/namespace-records.ts";
import { NamespaceViews } from "../../src/namespaces/namespace-views.ts";
import { readParts } from "../../src/records/part-records.ts";
import { readSplit } from "../../src/records/split-records.ts";
import { BelievedTime } from "../../src/namespaces/believed-time.ts";
import { SliceOwnership } from "../../src/namespaces/slice-ownership.ts";
import { timeMargins } from "../../src/model/time-margins.ts";
import type { NamespaceConfigPatch } from "../../src/model/merge-config.ts";
import { DEFAULT_NAMESPACE_CONFIG } from "../../src/model/namespace-config.ts";
import type { NamespaceConfig } from "../../src/model/namespace-config.ts";
import { eventBucketOf, timeBucketOf } from "../../src/model/partition.ts";
import type { PartitionKey } from "../../src/model/partition.ts";
import type { ReadMode } from "../../src/model/read-mode.ts";
import type { SplitLocation } from "../../src/splits/use-cases.ts";
import type { PartRecord, SplitRecord } from "../../src/model/split.ts";
import { Namespaces } from "../../src/namespaces/namespaces.ts";
import type { Catalog } from "../../src/ports/catalog.ts";
import type { PlacedEvent } from "../../src/ports/event-store.ts";
import { PageTokens } from "../../src/read/page-tokens.ts";
import type { PartitionRead } from "../../src/partition/partition-read.ts";
import { EventReader } from "../../src/read/read-events.ts";
import { DEFAULT_READ_LIMITS } from "../../src/read/read-limits.ts";
import type { ReadLimits } from "../../src/read/read-limits.ts";
import { SliceReconciler } from "../../src/namespaces/slice-reconciler.ts";
import type { ServeObserver } from "../../src/splits/serve/observer.ts";
import { SplitServing } from "../../src/server/split-serving.ts";
import type { SplitEvent } from "../../src/splits/work/split-context.ts";
import { SplitWorker } from "../../src/splits/work/split-worker.ts";
import { Splits } from "../../src/splits/operate/splits.ts";
import type { EventBytes } from "../../src/wire/event-record.ts";
import { EventWriter } from "../../src/write/write-events.ts";
import { BusyEngine, catalogAround, storeAround } from "./busy-engine.ts";
import type { Around, Engine } from "./busy-engine.ts";
import { VirtualClock } from "./virtual-clock.ts";

export const NAME = "plays";
const VIEW_MAX_AGE_MS = 4_000;
const WRITE_MAX_MS = 3_000;
const PAUSE_MAX_MS = 1_000;
const SKEW_MS = 500;
const MARGINS = timeMargins({
  clockSkewMs: SKEW_MS,
  viewMaxAgeMs: VIEW_MAX_AGE_MS,
  writeMaxMs: WRITE_MAX_MS,
  pauseMaxMs: PAUSE_MAX_MS,
});
/** From the raise of a floor until it is stored as settled. */
export const SETTLE_MS = VIEW_MAX_AGE_MS + WRITE_MAX_MS + PAUSE_MAX_MS + 5_000;
const WORK_MS_MAX = 600_000;

/** Randomness that always gives the same value: no read is sampled for comparison. */
const LAST: Random = {
  bytes: (length) => new Uint8Array(length),
  fraction: () => 0.999,
};

type WidePartition = NamespaceConfig["widePartition"];

/** Where a process's calls wait, each before it is made and again before its answer. */
export interface CallGate {
  (): void | Promise<void>;
}

export interface LiveWorker {
  readonly name: string;
  readonly events: SplitEvent[];
  /** Its later calls have no effect, and its calls under way are never answered. */
  kill(): void;
}

export interface LiveServer {
  readonly serving: SplitServing;
  readonly reader: EventReader;
  readonly writer: EventWriter;
  readonly splits: Splits;
  /** Every partition that was read. */
  readonly reads: PartitionRead[];
  /** What was reported, as `<what> <which>`. */
  readonly told: string[];
}

export class LiveSplits {
  readonly clock: VirtualClock;
  readonly engine: BusyEngine;
  readonly namespaces: Namespaces;
  readonly #stop = new AbortController();
  readonly #running: Promise<unknown>[] = [];
  #namespaceId = "";
  #wide: WidePartition | undefined;
  #started = 0;

  private constructor(engine: Engine, nowMicros: number) {
    this.clock = new VirtualClock(nowMicros);
    this.engine = new BusyEngine(engine);
    const { clock } = this;
    const { catalog, store } = this.engine;
    const ownership = new SliceOwnership({ catalog, clock });
    const changed = async (): Promise<void> => undefined;
    const time = new BelievedTime({ catalog, clock, margins: MARGINS, evenMs: 0 });
    const shared = { catalog, store, ownership, clock, margins: MARGINS, time, changed };
    const allowed = asAllowed(catalog, () => this.#wide);
    this.namespaces = new Namespaces({ ...shared, catalog: allowed, random: LAST });
    const reconciler = new SliceReconciler(shared);
    this.#running.push(reconciler.run(this.#stop.signal));
  }

  /** Closing it closes the engine. */
  static async open(
    engine: Engine,
    nowMicros: number,
    config: NamespaceConfigPatch,
  ): Promise<LiveSplits> {
    const live = new LiveSplits(engine, nowMicros);
    const { id } = await live.pass(live.namespaces.create(NAME, config));
    live.#namespaceId = id;
    return live;
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.pass(Promise.all(this.#running));
    await this.engine.quiet();
    await this.engine.close();
  }

  get namespaceId(): string {
    return this.#namespaceId;
  }

  /** Bypasses the smallest sizes that a namespace may configure: splits in tests are small. */
  async tune(wide: Partial<WidePartition>, mode: ReadMode): Promise<void> {
    const change = updateNamespace(this.engine.catalog, NAME, (record) => {
      this.#wide = { ...record.config.widePartition, ...wide };
      return {
        ...record,
        config: { ...record.config, widePartition: this.#wide },
        readMode: { ...record.readMode, mode, kinds: null, autoAdvance: false },
      };
    });
    await this.pass(change);
  }

  /** Lets time pass until the work has ended. */
  async pass<T>(work: Promise<T>): Promise<T> {
    let ended = false;
    const end = (): void => void (ended = true);
    work.then(end, end);
    for (let passedMs = 0; ; passedMs += 250) {
      await this.engine.quiet();
      if (ended) return work;
      if (passedMs > WORK_MS_MAX) throw new Error("the work does not end");
      await this.clock.advance(250);
    }
  }

  /** Lets time pass, none of it while the engine is working. */
  async advance(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 1_000) {
      await this.engine.quiet();
      await this.clock.advance(Math.min(left, 1_000));
    }
    await this.engine.quiet();
  }

  /** Lets time pass until these splits are at rest. */
  async rest(partitions: readonly PartitionKey[], secondsMax = 300): Promise<void> {
    for (let seconds = 0; ; seconds++) {
      const records = await this.pass(Promise.all(partitions.map((each) => this.record(each))));
      const now = this.clock.nowMicros();
      const busy = records.find((record) => record !== undefined && !isAtRest(record, now));
      if (busy === undefined) return;
      if (seconds === secondsMax)
        throw new Error(`the splits never come to rest: ${JSON.stringify(busy)}`);
      await this.advance(1_000);
    }
  }

  startWorker(gate?: CallGate): LiveWorker {
    const { clock } = this;
    const name = `worker-${++this.#started}`;
    const events: SplitEvent[] = [];
    const stop = this.#stopping();
    const around = aroundOf(stop.signal, gate);
    const engine = this.engine;
    // A test does not step through the search for work and the reads of namespaces.
    const free = catalogAround(engine.catalog, aroundOf(stop.signal, undefined));
    const gated = catalogAround(engine.catalog, around);
    const { list, versions } = free;
    const catalog = { ...gated, list, versions, read: readBy(gated.read, free.read) };
    const views = new NamespaceViews({ catalog: free, clock, viewMaxAgeMs: VIEW_MAX_AGE_MS });
    const store = storeAround(engine.store, around);
    const ownership = new SliceOwnership({ catalog, clock });
    const worker = new SplitWorker({
      catalog,
      store,
      views,
      clock,
      random: LAST,
      by: name,
      margins: MARGINS,
      copyAtAll: false,
      makeSplitTable: (...of) => makeSplitTable({ catalog, store, ownership }, ...of),
      observe: (event) => events.push(event),
      sweepMs: 1_000,
      leaseMs: 5_000,
    });
    this.#running.push(views.run(stop.signal), worker.run(stop.signal));
    return { name, events, kill: () => stop.abort() };
  }

  /** Only calls that read events wait at the gate. */
  startServer(limits: Partial<ReadLimits> = {}, gate?: CallGate): LiveServer {
    const { clock } = this;
    const { catalog, store } = this.engine;
    const { signal } = this.#stopping();
    const around = aroundOf(signal, gate);
    const gated = catalogAround(catalog, around);
    const views = new NamespaceViews({ catalog, clock, viewMaxAgeMs: VIEW_MAX_AGE_MS });
    const refreshView = (name: string): Promise<void> => views.refresh(name);
    const told: string[] = [];
    const reads: PartitionRead[] = [];
    const serving = new SplitServing({
      catalog: { ...catalog, read: readBy(gated.read, catalog.read) },
      store: storeAround(store, around),
      views,
      clock,
      random: LAST,
      killSwitch: { on: () => false, stale: () => false },
      margins: MARGINS,
      observe: telling(told),
      fallBack: (_, reason) => void told.push(`fell back: ${reason}`),
      by: `server-${++this.#started}`,
    });
    const budget = new ByteBudget(1 << 26);
    const reader = new EventReader({
      clock,
      views,
      opener: serving.opener,
      search: store,
      budget,
      streamBudget: new ByteBudget(1 << 26),
      tokens: new PageTokens(new Uint8Array(32)),
      limits: { ...DEFAULT_READ_LIMITS, ...limits },
      others: { clockSkewMicros: MARGINS.clockSkew.micros, refreshView },
      onPartitionRead: (read) => reads.push(read),
    });
    this.#running.push(views.run(signal), serving.run(signal));
    return {
      serving,
      reader,
      writer: new EventWriter({ clock, store, views, budget }),
      splits: new Splits({
        catalog,
        clock,
        changed: (partition) => serving.changed(partition),
        namespaceChanged: refreshView,
      }),
      reads,
      told,
    };
  }

  /**
   * Bypasses every limit of time: straight into the store. Returns the partitions of the events.
   */
  async store(events: readonly EventBytes[]): Promise<PartitionKey[]> {
    const { catalog, store } = this.engine;
    const views = new NamespaceViews({ catalog, clock: this.clock });
    const { slices } = await this.pass(views.get(NAME));
    const bySlice = new Map<string, PlacedEvent[]>();
    const partitions = new Map<string, PartitionKey>();
    for (const event of events) {
      const slice = slices.find(({ start, end }) => start <= event.time && event.time < end);
      if (slice === undefined) throw new Error(`no slice holds ${event.time}`);
      const id = event.bytes.subarray(event.idStart, event.idEnd);
      const timeBucket = timeBucketOf(slice, event.time);
      const eventBucket = eventBucketOf(slice.timePartition.eventBuckets, id);
      const placed = bySlice.get(slice.name) ?? [];
      placed.push({ event, timeBucket, eventBucket });
      bySlice.set(slice.name, placed);
      const series = event.bytes.subarray(event.seriesStart, event.seriesEnd);
      const seriesId = Buffer.from(series).toString();
      const { namespaceId } = this;
      const key = { namespaceId, slice: slice.name, seriesId, timeBucket, eventBucket };
      partitions.set(JSON.stringify(key), key);
    }
    for (const [slice, placed] of bySlice) {
      await this.pass(store.append({ namespaceId: this.namespaceId, slice }, placed));
    }
    return [...partitions.values()];
  }

  record(partition: PartitionKey): Promise<SplitRecord | undefined> {
    return readSplit(this.engine.catalog, partition);
  }

  /** Of all its segments. */
  parts(record: SplitRecord): Promise<PartRecord[]> {
    const runs = record.segments.flatMap((segment) => segment.partRanges);
    return readParts(this.engine.catalog, record.partition, runs);
  }

  async acceptLimitMicros(): Promise<number> {
    const namespace = await readNamespace(this.engine.catalog, NAME);
    return namespace?.config.acceptLimitMicros ?? 0;
  }

  #stopping(): AbortController {
    const stop = new AbortController();
    this.#stop.signal.addEventListener("abort", () => stop.abort(), { once: true });
    return stop;
  }
}

export function locationOf(partition: PartitionKey): SplitLocation {
  const { slice, seriesId, timeBucket, eventBucket } = partition;
  return { namespace: NAME, timeSlice: slice, seriesId, timeBucket, eventBucket };
}

/** Nothing is left to do now: time or an operator has to trigger the rest. */
function isAtRest({ owner, dueAt, segments }: SplitRecord, nowMicros: number): boolean {
  if (owner !== null || (dueAt !== null && dueAt <= nowMicros)) return false;
  return segments.every(({ state, confirmedAt }) => state !== "COMPLETED" || confirmedAt !== null);
}

class Dead extends Error {
  constructor() {
    super("the process is dead");
    this.name = "Dead";
  }
}

function aroundOf(dead: AbortSignal, gate: CallGate | undefined): Around {
  const died = Promise.withResolvers<never>();
  died.promise.catch(() => undefined);
  dead.addEventListener("abort", () => died.reject(new Dead()), { once: true });
  const wait = async (): Promise<void> => {
    if (gate !== undefined) await Promise.race([gate(), died.promise]);
    if (dead.aborted) throw new Dead();
  };
  return async (call) => {
    await wait();
    const answer = await call();
    await wait();
    return answer;
  };
}

/**
 * A change of a namespace checks all of it: readers see allowed sizes, the record holds the small
 * ones.
 */
function asAllowed(catalog: Catalog, small: () => WidePartition | undefined): Catalog {
  const withWide = (value: string, widePartition: WidePartition | undefined): string => {
    if (widePartition === undefined) return value;
    const record = JSON.parse(value) as { config: NamespaceConfig };
    return JSON.stringify({ ...record, config: { ...record.config, widePartition } });
  };
  const { widePartition: allowed } = DEFAULT_NAMESPACE_CONFIG;
  return {
    ...catalog,
    read: async (space, key) => {
      const found = await catalog.read(space, key);
      if (found === undefined || space !== "namespaces" || small() === undefined) return found;
      return { ...found, value: withWide(found.value, allowed) };
    },
    write: (space, key, value, expected) =>
      catalog.write(
        space,
        key,
        space === "namespaces" ? withWide(value, small()) : value,
        expected,
      ),
  };
}

type Read = BusyEngine["catalog"]["read"];

function readBy(gated: Read, free: Read): Read {
  const ofSplit = /^(?:splits|parts|routes)\//;
  return (space, key) => (ofSplit.test(space) ? gated(space, key) : free(space, key));
}

function telling(told: string[]): ServeObserver {
  return {
    filterChecked: () => undefined,
    filterCheckTook: () => undefined,
    filterFalsePositive: () => undefined,
    routeCache: () => undefined,
    routeFetchTook: () => undefined,
    fellBack: (_, reason) => void told.push(`fallback ${reason}`),
    compared: (_, __, result) => void told.push(`compared ${result}`),
    differenceChecked: (_, verdict) => void told.push(`difference ${verdict}`),
    trouble: (what) => void told.push(`trouble ${what}`),
  };
}
