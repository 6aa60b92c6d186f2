/**
 * A server and a worker composed as in the program, each on its own faulty connection to what they
 * share.
 */
import { ByteBudget } from "../../src/lib/byte-budget.ts";
import { ServiceError } from "../../src/lib/errors.ts";
import { DetectionEmitter } from "../../src/splits/detect/detection-emitter.ts";
import { KillSwitch } from "../../src/splits/record/kill-switch.ts";
import { NamespaceViews } from "../../src/namespaces/namespace-views.ts";
import { BelievedTime } from "../../src/namespaces/believed-time.ts";
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
import type { MemoryCatalog } from "../support/memory-catalog.ts";
import type { MemoryStore } from "../support/memory-store.ts";
import { PausableMachine } from "../support/pausable-machine.ts";
import type { VirtualClock } from "../support/virtual-clock.ts";
import { faultyCatalog, FaultyWay, faultyStore } from "./faulty-parts.ts";
import type { Chaos } from "./faulty-parts.ts";
import type { SeededRandom } from "./seeded-random.ts";
import type { SimQueue } from "./sim-queue.ts";
import type { Withdrawals } from "./withdrawals.ts";

export const NAMESPACE = "plays";
export const VIEW_MAX_AGE_MS = 4_000;
const WRITE_MAX_MS = 3_000;
const SKEW_MS = 500;
/** The longest pause of a machine. */
export const PAUSE_MAX_MS = 20_000;
/** Pauses of one machine lie further apart than this, in which a floor settles. */
export const PAUSES_APART_MS = VIEW_MAX_AGE_MS + WRITE_MAX_MS + PAUSE_MAX_MS;

const MARGINS = timeMargins({
  clockSkewMs: SKEW_MS,
  viewMaxAgeMs: VIEW_MAX_AGE_MS,
  writeMaxMs: WRITE_MAX_MS,
  pauseMaxMs: PAUSE_MAX_MS,
});

/** What all processes share, and the counts. */
export interface Shared {
  readonly clock: VirtualClock;
  readonly catalog: MemoryCatalog;
  readonly store: MemoryStore;
  readonly queue: SimQueue;
  readonly random: SeededRandom;
  readonly count: (what: string) => void;
  readonly withdrawals: Withdrawals;
  /** What a process could not do. Only injected faults are not bugs. */
  readonly trouble: (error: unknown) => void;
}

interface Process {
  readonly name: string;
  readonly machine: PausableMachine;
  readonly way: FaultyWay;
  kill(): void;
}

export interface SimServer extends Process {
  readonly writer: EventWriter;
  readonly reader: EventReader;
  readonly namespaces: Namespaces;
  readonly splits: Splits;
  readonly modes: ReadModes;
}

export type SimWorker = Process;

const PROCESS_BUDGET = 1 << 26;

function begin(shared: Shared, name: string, chaos: Chaos) {
  const machine = new PausableMachine(shared.clock);
  const clock = machine;
  const random = shared.random.fork();
  const way = new FaultyWay(machine, random.fork(), chaos);
  const catalog = faultyCatalog(shared.catalog, way);
  const store = faultyStore(shared.store, way);
  const stop = new AbortController();
  const views = new NamespaceViews({ catalog, clock, viewMaxAgeMs: VIEW_MAX_AGE_MS });
  void views.run(stop.signal);
  const changed = (of: string): Promise<void> => views.refresh(of);
  const ownership = new SliceOwnership({ catalog, clock });
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
    stop,
    kill,
  };
}

export function startServer(shared: Shared, name: string, chaos: Chaos): SimServer {
  const process = begin(shared, name, chaos);
  const { clock, random, catalog, store, views, changed, ownership, stop, way, kill } = process;
  const killSwitch = new KillSwitch({ catalog, clock, viewMaxAgeMs: VIEW_MAX_AGE_MS });
  void killSwitch.run(stop.signal);
  const serving = new SplitServing({
    catalog,
    store,
    views,
    clock,
    random,
    killSwitch,
    margins: MARGINS,
    observe: counting(shared),
    fallBack: async (namespace, reason) => {
      shared.count(`fell back to SHADOW: ${reason}`);
      await fallBack(catalog, clock, namespace, reason, name);
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
  });
  const reader = new EventReader({
    clock,
    views,
    opener: serving.opener,
    search: store,
    budget: new ByteBudget(PROCESS_BUDGET),
    streamBudget: new ByteBudget(PROCESS_BUDGET),
    tokens: new PageTokens(new Uint8Array(32)),
    limits: DEFAULT_READ_LIMITS,
    others: { clockSkewMicros: MARGINS.clockSkew.micros, refreshView: changed },
    onPartitionRead: (read) => {
      if (read.route === "SPLIT" || read.route === "SPLIT_AND_ORIGINAL") shared.count("served");
      void shared.withdrawals.check(process, read.partition, read.route);
      emitter.note(read, read.view);
    },
  });
  const budget = new ByteBudget(PROCESS_BUDGET);
  return {
    name,
    machine: process.machine,
    way,
    kill,
    writer: new EventWriter({ clock, store, views, budget }),
    reader,
    namespaces: new Namespaces({
      catalog,
      store,
      ownership,
      clock,
      random,
      margins: MARGINS,
      time: new BelievedTime({ catalog, clock, margins: MARGINS }),
      changed,
    }),
    splits: new Splits({
      catalog,
      clock,
      changed: (partition) => serving.changed(partition),
      namespaceChanged: changed,
    }),
    modes: new ReadModes({ catalog, clock, namespaceChanged: changed }),
  };
}

export function startWorker(shared: Shared, name: string, chaos: Chaos): SimWorker {
  const process = begin(shared, name, chaos);
  const { clock, random, catalog, store, views, changed, ownership, stop, way, kill } = process;
  const reconciler = new SliceReconciler({
    catalog,
    store,
    ownership,
    clock,
    margins: MARGINS,
    time: new BelievedTime({ catalog, clock, margins: MARGINS }),
    changed,
  });
  void reconciler.run(stop.signal);
  const worker = new SplitWorker({
    catalog,
    store,
    views,
    clock,
    random,
    by: name,
    margins: MARGINS,
    copyAtAll: false,
    observe: (event) => {
      if (event.kind === "moved") shared.count(`to ${event.to} by ${event.cause}`);
      if (event.kind === "trouble") shared.trouble(event.error);
    },
    sweepMs: 1_000,
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
  return { name, machine: process.machine, way, kill };
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
    ].includes(error.code)
  );
}
