/**
 * A server and a worker composed as in the program, each on its own faulty connection to what they
 * share.
 */
import { ByteBudget } from "../../src/lib/byte-budget.ts";
import { ServiceError } from "../../src/lib/errors.ts";
import { DetectionEmitter } from "../../src/splits/detect/detection-emitter.ts";
import { KillSwitch } from "../../src/splits/record/kill-switch.ts";
import { makeSplitTable } from "../../src/namespaces/make-split-table.ts";
import { NamespaceViews } from "../../src/namespaces/namespace-views.ts";
import { BelievedTime, believedClock } from "../../src/namespaces/believed-time.ts";
import { SliceOwnership } from "../../src/namespaces/slice-ownership.ts";
import { timeMargins } from "../../src/model/time-margins.ts";
import { Namespaces } from "../../src/namespaces/namespaces.ts";
import { recordDetection } from "../../src/splits/detect/record-detection.ts";
import { PageTokens } from "../../src/read/page-tokens.ts";
import { EventReader } from "../../src/read/read-events.ts";
import { DEFAULT_READ_LIMITS } from "../../src/read/read-limits.ts";
import { SliceReconciler } from "../../src/namespaces/slice-reconciler.ts";
import type { ServeObserver } from "../../src/splits/serve/observer.ts";
import { SplitServing } from "../../src/server/split-serving.ts";
import { SplitWorker } from "../../src/splits/work/split-worker.ts";
import { fallBack, ReadModeReconciler } from "../../src/splits/promote/read-mode-reconciler.ts";
import { ReadModes } from "../../src/splits/promote/read-modes.ts";
import { Splits } from "../../src/splits/operate/splits.ts";
import { EventWriter } from "../../src/write/write-events.ts";
import { setPartitioning } from "../../src/namespaces/set-partitioning.ts";
import { SliceWalker } from "../../src/sizes/slice-walker.ts";
import { Tuner } from "../../src/tune/tuner.ts";
import type { VirtualClock } from "../support/virtual-clock.ts";
import { faultyCatalog, FaultyWay, faultyStore } from "./faulty-parts.ts";
import type { Chaos, Network } from "./faulty-parts.ts";
import type { Promises } from "./promises.ts";
import type { SeededRandom } from "./seeded-random.ts";
import type { SimCatalog } from "./sim-catalog.ts";
import { SimMachine } from "./sim-machine.ts";
import type { SimQueue } from "./sim-queue.ts";
import type { SimStore } from "./sim-store.ts";

export const VIEW_MAX_AGE_MS = 4_000;
const WRITE_MAX_MS = 3_000;
const SKEW_MS = 500;
/** The longest pause of a machine. */
export const PAUSE_MAX_MS = 20_000;
/** Pauses of one machine lie further apart than this, in which a floor settles. */
export const PAUSES_APART_MS = VIEW_MAX_AGE_MS + WRITE_MAX_MS + PAUSE_MAX_MS;

/** Steps of a wall clock are longer, so that only an operator or a second opinion believes them. */
export const BELIEVE_MAX_MS = 300_000;

export const MARGINS = timeMargins({
  clockSkewMs: SKEW_MS,
  viewMaxAgeMs: VIEW_MAX_AGE_MS,
  writeMaxMs: WRITE_MAX_MS,
  pauseMaxMs: PAUSE_MAX_MS,
  believeMaxMs: BELIEVE_MAX_MS,
  dropGraceMs: 30_000,
});

/** What all processes share, and the counts. */
export interface Shared {
  readonly clock: VirtualClock;
  readonly catalog: SimCatalog;
  readonly store: SimStore;
  readonly queue: SimQueue;
  readonly random: SeededRandom;
  readonly network: Network;
  readonly count: (what: string) => void;
  readonly promises: Promises;
  /** The tuner and the walks that it needs run in workers. */
  readonly tuning: boolean;
  /** Whether the clocks of the machines differ. */
  readonly skewed: boolean;
  /** What a process could not do. Only injected faults are not bugs. */
  readonly trouble: (error: unknown) => void;
}

interface Process {
  readonly name: string;
  readonly machine: SimMachine;
  readonly way: FaultyWay;
  readonly views: NamespaceViews;
  kill(): void;
}

export interface SimServer extends Process {
  readonly writer: EventWriter;
  readonly reader: EventReader;
  readonly namespaces: Namespaces;
  readonly splits: Splits;
  readonly modes: ReadModes;
  /** A split is not its original, says an offline comparison. */
  readonly recheck: SplitServing["recheck"];
}

export type SimWorker = Process;

const PROCESS_BUDGET = 1 << 26;

function begin(shared: Shared, name: string, chaos: Chaos) {
  const random = shared.random.fork();
  // Two clocks differ by less than the clock skew.
  const skewMicros = (random.below(SKEW_MS) - SKEW_MS / 2) * 1_000;
  const machine = new SimMachine(shared.clock, shared.skewed ? skewMicros : 0);
  const clock = machine;
  const way = new FaultyWay(machine, random.fork(), chaos, shared.network);
  const catalog = faultyCatalog(shared.catalog, way);
  const store = faultyStore(shared.store, way);
  const stop = new AbortController();
  const views = new NamespaceViews({ catalog, clock, viewMaxAgeMs: VIEW_MAX_AGE_MS, viewsMax: 16 });
  void views.run(stop.signal);
  const changed = (of: string): Promise<void> => views.refresh(of);
  const ownership = new SliceOwnership({ catalog, clock });
  const time = new BelievedTime({ catalog, clock, margins: MARGINS });
  const believed = believedClock(clock, time);
  const changing = { catalog, store, ownership, clock, margins: MARGINS, time, changed };
  const reconciler = new SliceReconciler({
    ...changing,
    observe: (event) => {
      if (event.kind === "slices") shared.count(`slices ${event.action}`);
      else if (event.kind !== "failed") shared.count(`namespace ${event.kind}`);
    },
  });
  void reconciler.run(stop.signal);
  const kill = (): void => {
    way.kill();
    stop.abort();
    shared.queue.leave(name);
  };
  return {
    name,
    machine,
    clock,
    random,
    way,
    catalog,
    store,
    views,
    changed,
    ownership,
    time,
    believed,
    changing,
    stop,
    kill,
  };
}

export function startServer(shared: Shared, name: string, chaos: Chaos): SimServer {
  const process = begin(shared, name, chaos);
  const { clock, believed, random, catalog, store, views, changed, stop, way, kill } = process;
  const killSwitch = new KillSwitch({ catalog, clock, viewMaxAgeMs: VIEW_MAX_AGE_MS });
  void killSwitch.run(stop.signal);
  const serving = new SplitServing({
    catalog,
    store,
    views,
    clock: believed,
    random,
    killSwitch,
    margins: MARGINS,
    observe: counting(shared),
    fallBack: async (namespace, reason) => {
      shared.count(`fell back to SHADOW: ${reason}`);
      await fallBack(catalog, believed, namespace, reason, name);
      await changed(namespace.name);
    },
    by: name,
    shadowSample: 2,
    serveSample: 2,
  });
  void serving.run(stop.signal);
  const emitter = new DetectionEmitter({
    clock,
    publish: (message) => shared.queue.publish(message),
    windowMs: 10_000,
    rememberedMax: 200,
  });
  const reader = new EventReader({
    clock,
    views,
    opener: serving.opener,
    search: store,
    budget: new ByteBudget(PROCESS_BUDGET),
    streamBudget: new ByteBudget(PROCESS_BUDGET),
    tokens: new PageTokens(new Uint8Array(32)),
    // A page that ends with a time bucket is rare with the default.
    limits: { ...DEFAULT_READ_LIMITS, pagePartitionsMax: random.one([1_000, 3, 1]) },
    others: { clockSkewMicros: MARGINS.clockSkew.micros, refreshView: changed },
    onPartitionRead: (read) => {
      shared.count(`route ${read.route}`);
      void shared.promises.check(process, read.partition, read.route);
      emitter.note(read, read.view);
    },
  });
  const budget = new ByteBudget(PROCESS_BUDGET);
  return {
    name,
    machine: process.machine,
    way,
    views,
    kill,
    writer: new EventWriter({
      clock,
      store,
      views,
      budget,
      onWritten: (namespace) => {
        const grown = views.current(namespace)?.idStrategies;
        const nowMicros = clock.nowMicros();
        for (const steps of grown?.values() ?? []) {
          if (steps.some((step) => step.from <= nowMicros))
            shared.count("write by an id's strategy");
        }
      },
    }),
    reader,
    namespaces: new Namespaces({ ...process.changing, random }),
    splits: new Splits({
      catalog,
      clock: believed,
      changed: (partition) => serving.changed(partition),
      namespaceChanged: changed,
    }),
    modes: new ReadModes({ catalog, clock: believed, namespaceChanged: changed }),
    recheck: (reported, signal) => serving.recheck(reported, signal),
  };
}

export function startWorker(shared: Shared, name: string, chaos: Chaos): SimWorker {
  const process = begin(shared, name, chaos);
  const {
    believed: clock,
    time,
    random,
    catalog,
    store,
    views,
    changed,
    stop,
    way,
    kill,
  } = process;
  if (shared.tuning) startTuning(shared, process);
  const worker = new SplitWorker({
    catalog,
    store,
    views,
    clock,
    random,
    by: name,
    margins: MARGINS,
    copyAtAll: false,
    clockInDoubt: () => time.inDoubt,
    makeSplitTable: (...of) => makeSplitTable(process.changing, ...of),
    observe: (event) => {
      if (event.kind === "moved") shared.count(`to ${event.to} by ${event.cause}`);
      if (event.kind === "id step") shared.count("id gets more event buckets");
      if (event.kind === "trouble") shared.trouble(event.error);
    },
    sweepMs: 1_500,
    leaseMs: 5_000,
  });
  void worker.run(stop.signal);
  const modes = new ReadModeReconciler({
    catalog,
    clock,
    by: name,
    thresholds: { shadowReads: 2, compareReads: 2, bytes: 1, splits: 2, afterMs: 5_000 },
    namespaceChanged: changed,
    everyMs: 3_000,
    observe: ({ to }) => shared.count(`mode ${to}`),
  });
  void modes.run(stop.signal);
  shared.queue.consume(
    name,
    recordDetection({
      catalog,
      views,
      clock,
      by: name,
      nudge: (partition) => worker.nudge(partition),
    }),
  );
  return { name, machine: process.machine, way, views, kill };
}

const WALK_EVERY_MS = 15_000;

function startTuning(shared: Shared, { stop, random, changing }: ReturnType<typeof begin>): void {
  const { catalog, store, clock, time } = changing;
  const walker = new SliceWalker({
    catalog,
    store,
    clock,
    table: undefined,
    sources: [],
    everyMs: WALK_EVERY_MS,
    currentEveryMs: 2 * WALK_EVERY_MS,
    rate: { bytesPerSecond: 1e9, partitionsPerSecond: 1e6 },
    bytesMax: 1e9,
    walkMsMax: 60_000,
    observe: (event) => {
      if (event.kind === "walked") shared.count("slice walked");
    },
  });
  void walker.run(stop.signal);
  const tuner = new Tuner({
    catalog,
    clock,
    margins: MARGINS,
    time,
    everyMs: WALK_EVERY_MS,
    setPartitioning: (namespace, from, to) =>
      setPartitioning({ ...changing, random }, namespace, from, to),
    observe: (_, tuning) => shared.count(`tuning ${tuning.state}`),
  });
  void tuner.run(stop.signal);
}

function counting({ count, trouble }: Shared): ServeObserver {
  return {
    filterChecked: () => undefined,
    filterCheckTook: () => undefined,
    filterFalsePositive: () => count("false positive"),
    routeCache: () => undefined,
    routeFetchTook: () => undefined,
    fellBack: (_, reason) => count(`fallback: ${reason}`),
    compared: (_, __, result) => count(`compared: ${result}`),
    differenceChecked: (_, verdict) => count(`difference: ${verdict}`),
    trouble: (_, error) => trouble(error),
  };
}

/** Errors that a caller may get while parts of the world are unavailable; any other is a bug. */
export function isExpected(error: unknown): boolean {
  return (
    error instanceof ServiceError &&
    [
      "STORAGE_UNAVAILABLE",
      "OUTCOME_UNKNOWN",
      "CONFLICT",
      "OVERLOADED",
      "SPLIT_NOT_FOUND",
      // An operator that comes too late.
      "REQUEST_INVALID",
      "DEADLINE_EXCEEDED",
      // Deleted, or not made again yet.
      "NAMESPACE_NOT_FOUND",
      "NAMESPACE_EXISTS",
      "TIME_SLICE_NOT_FOUND",
      "PAGE_TOKEN_INVALID",
      // By a clock that leapt.
      "PAGE_TOKEN_EXPIRED",
      "ID_BLOCKED",
    ].includes(error.code)
  );
}
