/**
 * The control side on doubles: a catalog and a store in memory, a virtual clock, and processes that
 * can crash.
 */
import { systemRandom } from "../../src/lib/random.ts";
import { BelievedTime } from "../../src/namespaces/believed-time.ts";
import type { ClockEvent, SecondOpinion } from "../../src/namespaces/believed-time.ts";
import { NamespaceViews } from "../../src/namespaces/namespace-views.ts";
import { SliceOwnership } from "../../src/namespaces/slice-ownership.ts";
import { timeMargins } from "../../src/model/time-margins.ts";
import type { TimeMargins } from "../../src/model/time-margins.ts";
import type { BlockedId } from "../../src/model/namespace.ts";
import { SECOND_MICROS } from "../../src/model/namespace-config.ts";
import { Namespaces } from "../../src/namespaces/namespaces.ts";
import { SliceReconciler } from "../../src/namespaces/slice-reconciler.ts";
import type { ReconcilerEvent } from "../../src/namespaces/reconcile/reconcile-run.ts";
import { removeDroppedRecords } from "../../src/records/dropped-slices.ts";
import { MemoryCatalog } from "./memory-catalog.ts";
import { MemoryStore } from "./memory-store.ts";
import { gatedCatalog, gatedStore } from "./stopped-process.ts";
import type { Gate } from "./stopped-process.ts";
import { VirtualClock } from "./virtual-clock.ts";

export const VIEW_MAX_AGE_MS = 10_000;
export const NOON = Date.UTC(2026, 2, 28, 12) * 1000;
export const HOUR = 3_600 * SECOND_MICROS;
export const DAY = 24 * HOUR;

const MARGINS = {
  clockSkewMs: 1_000,
  viewMaxAgeMs: VIEW_MAX_AGE_MS,
  writeMaxMs: 10_000,
};

/** The control side of one process. */
export interface ControlProcess {
  readonly views: NamespaceViews;
  readonly namespaces: Namespaces;
  readonly reconciler: SliceReconciler;
  readonly events: ReconcilerEvent[];
  readonly time: BelievedTime;
  readonly clockEvents: ClockEvent[];
}

export class ControlFixture {
  readonly clock = new VirtualClock(NOON);
  readonly catalog: MemoryCatalog;
  readonly store = new MemoryStore();

  readonly margins: TimeMargins;

  /** `dropGraceMs`: slices that are past their retention are dropped at once if it is not given. */
  constructor(options: { shared?: boolean; dropGraceMs?: number } = {}) {
    this.margins = timeMargins({ ...MARGINS, dropGraceMs: options.dropGraceMs ?? 0 });
    this.catalog = new MemoryCatalog(options);
  }

  start(
    options: {
      configuredBlocks?: ReadonlyMap<string, readonly BlockedId[]>;
      blockedIdsMax?: number;
      /** How long the wall clock runs evenly before it is believed. */
      evenMs?: number;
      opinions?: readonly SecondOpinion[];
      droppedKept?: number;
      /** Where the process can be stopped. */
      gate?: Gate;
    } = {},
  ): ControlProcess {
    const { clock } = this;
    const { gate } = options;
    const catalog = gate === undefined ? this.catalog : gatedCatalog(this.catalog, gate);
    const store = gate === undefined ? this.store : gatedStore(this.store, gate);
    const {
      configuredBlocks = new Map(),
      blockedIdsMax = 100_000,
      evenMs = 600_000,
      opinions = [],
      droppedKept = 1_000,
    } = options;
    const views = new NamespaceViews({
      catalog,
      clock,
      viewMaxAgeMs: VIEW_MAX_AGE_MS,
      configuredBlocks,
    });
    const changed = (name: string): Promise<void> => views.refresh(name);
    const ownership = new SliceOwnership({ catalog, clock });
    const clockEvents: ClockEvent[] = [];
    const time = new BelievedTime({
      catalog,
      clock,
      margins: timeMargins(MARGINS),
      evenMs,
      opinions,
      observe: (event) => clockEvents.push(event),
    });
    const shared = { catalog, store, ownership, clock, margins: this.margins, time, changed };
    const events: ReconcilerEvent[] = [];
    return {
      views,
      namespaces: new Namespaces({
        ...shared,
        random: systemRandom,
        configuredBlocks,
        blockedIdsMax,
      }),
      reconciler: new SliceReconciler({
        ...shared,
        droppedKept,
        observe: (event) => events.push(event),
      }),
      events,
      time,
      clockEvents,
    };
  }

  /** Lets time pass, a second at a time, until the work has ended, successfully or not. */
  async passWhile(work: Promise<unknown>): Promise<void> {
    let ended = false;
    void work.then(
      () => (ended = true),
      () => (ended = true),
    );
    for (let seconds = 0; ; seconds++) {
      await this.clock.advance(0);
      if (ended) return;
      if (seconds === 600) throw new Error("the work does not end");
      await this.clock.advance(1_000);
    }
  }

  /** What the owner of the slices removes in the background. */
  async removeDropped(): Promise<void> {
    await removeDroppedRecords(this.catalog, () => true);
  }

  /**
   * Fails the n-th operation from now on (counted from 0) and all later ones, as if the process had
   * died there.
   */
  crashAt(operation: number): void {
    let count = 0;
    const step = (): void => {
      if (count++ >= operation) throw new Error("crashed");
    };
    this.catalog.before = step;
    this.store.before = step;
  }

  /** Ends the crash. The caller checks whether the operations since `crashAt` reached it. */
  recover(): void {
    this.catalog.before = () => undefined;
    this.store.before = () => undefined;
  }
}

export const never = new AbortController().signal;
