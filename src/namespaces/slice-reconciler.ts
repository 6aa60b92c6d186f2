/**
 * Keeps the slices of every namespace up to date with time, and finishes what a crash has left half
 * done. This class decides when and for which namespace; `reconcile/` has one file for each task.
 *
 * Where processes share a catalog, a lease decides which of them runs its reconciler, and another
 * takes over when that one dies. Each run reads the stored state, so it may stop at any point and
 * start again; a failure in one namespace does not delay the others. Only where something is due
 * does it take the namespace's mutex, like the use cases, which also make and reopen slices. A
 * slice is first marked as dropped, permanently. Its events are removed only when every process has
 * had the time to see the mark (rule C18).
 */
import type { Clock } from "../lib/clock.ts";
import { ServiceError } from "../lib/errors.ts";
import { forEachBounded } from "../lib/for-each-bounded.ts";
import { floorLookMs, floorSettleTime } from "../model/time-margins.ts";
import type { TimeMargins } from "../model/time-margins.ts";
import { Leases } from "../records/lease.ts";
import type { Lease } from "../records/lease.ts";
import { deletedPages } from "../records/deleted-records.ts";
import { namespacePages } from "../records/namespace-records.ts";
import type { NamespaceRecord } from "../records/namespace-records.ts";
import type { Changing } from "./change-slices.ts";
import type { BelievedTime } from "./believed-time.ts";
import { dueChanges } from "./due-changes.ts";
import { BackgroundRemoval } from "./reconcile/background-removal.ts";
import { changeDueSlices } from "./reconcile/change-due-slices.ts";
import { dropMarkedSlices, markedLongAgo } from "./reconcile/drop-marked-slices.ts";
import { endDeadIdChanges } from "./reconcile/end-dead-id-changes.ts";
import { finishLeaving, finishLeftRestoring } from "./reconcile/finish-moves.ts";
import { finishLeftReopening } from "./reconcile/finish-left-reopening.ts";
import { finishMarkedDeletion } from "./reconcile/finish-marked-deletion.ts";
import { forgetDroppedSlices } from "./reconcile/forget-dropped-slices.ts";
import { KnownSlices } from "./reconcile/known-slices.ts";
import { purgeDue } from "./reconcile/purge-due.ts";
import type { ReconcileRun, ReconcilerEvent, ReconcilerReport } from "./reconcile/reconcile-run.ts";
import { ReopenedSplits } from "./reconcile/reopened-splits.ts";
import { RefusedDrops } from "./reconcile/refused-drops.ts";
import { removeDeadCreation } from "./reconcile/remove-dead-creation.ts";
import { SettlingFloors } from "./reconcile/settling-floors.ts";
import { Sightings } from "./reconcile/sightings.ts";

/** The use cases share `ownership`. */
export interface SliceReconcilerOptions extends Changing {
  readonly clock: Clock;
  readonly margins: TimeMargins;
  readonly time: BelievedTime;
  /** Brings this process's view up to date (`NamespaceViews.refresh`). */
  readonly changed: (name: string) => Promise<void>;
  readonly observe?: (event: ReconcilerEvent) => void;
  /** Time between two runs. */
  readonly intervalMs?: number;
  /** How many dropped slices of a namespace stay recorded. */
  readonly droppedKept?: number;
}

const LEASE = "slice-reconciler";
/** A catalog stores what comes at the same time together: floors of thousands of namespaces rise in one run. */
const NAMESPACES_AT_ONCE = 32;
/** In one run over all namespaces. */
const DROPPED_SLICES_MAX = 256;

export class SliceReconciler {
  readonly #options: SliceReconcilerOptions;
  readonly #observe: (event: ReconcilerEvent) => void;
  readonly #sightings: Sightings;
  readonly #knownSlices: KnownSlices;
  readonly #settlingFloors: SettlingFloors;
  readonly #removal: BackgroundRemoval;
  readonly #refusedDrops = new RefusedDrops();
  readonly #reopenedSplits = new ReopenedSplits();

  constructor(options: SliceReconcilerOptions) {
    const { catalog, clock, margins } = options;
    this.#options = options;
    this.#observe = options.observe ?? (() => undefined);
    this.#sightings = new Sightings(clock);
    this.#knownSlices = new KnownSlices(catalog);
    this.#settlingFloors = new SettlingFloors(clock, floorSettleTime(margins, catalog).ms);
    this.#removal = new BackgroundRemoval(catalog, clock);
  }

  /**
   * Repeats runs until the signal aborts; where the catalog is shared, only while this process
   * holds the lease. Never rejects.
   */
  async run(signal: AbortSignal): Promise<void> {
    const { catalog, clock, margins } = this.#options;
    const intervalMs = this.#options.intervalMs ?? floorLookMs(margins, catalog);
    const leases = new Leases(this.#options);
    let lease: Lease | undefined;
    const isOwner = (): boolean => !catalog.shared || lease?.held === true;
    let removing: Promise<void> | undefined;
    while (!signal.aborted) {
      if (catalog.shared && (lease === undefined || lease.lost))
        lease = await this.#tryTake(leases);
      if (isOwner()) {
        await this.runOnce(signal, isOwner);
        // It may take longer than many runs.
        removing ??= this.removeOnce(signal, isOwner).finally(() => (removing = undefined));
      } else await this.#followTime(signal);
      await clock.sleep(intervalMs, signal);
    }
    await removing;
    await lease?.release();
  }

  /**
   * Removes records that no process needs any more, until none is left or it may not continue. Never
   * rejects.
   */
  async removeOnce(signal: AbortSignal, isOwner: () => boolean = () => true): Promise<void> {
    try {
      await this.#removal.runOnce(() => !signal.aborted && isOwner());
    } catch (error) {
      if (!signal.aborted) this.#observe({ kind: "failed", namespace: "", error });
    }
  }

  /** Another process owns the slices: this one only follows believed time. */
  async #followTime(signal: AbortSignal): Promise<void> {
    try {
      await this.#options.time.refresh("other", signal);
    } catch (error) {
      this.#observe({ kind: "failed", namespace: "", error });
    }
  }

  async #tryTake(leases: Leases): Promise<Lease | undefined> {
    try {
      return await leases.tryTake(LEASE);
    } catch (error) {
      this.#observe({ kind: "failed", namespace: "", error });
      return undefined;
    }
  }

  /**
   * Processes all namespaces once. When the signal aborts it stops before the next slice; when
   * another process has taken over, before the next namespace. The next run does the rest. Never
   * rejects: failures are observed and counted.
   */
  async runOnce(
    signal: AbortSignal,
    isOwner: () => boolean = () => true,
  ): Promise<ReconcilerReport> {
    const run = this.#beginRun(signal);
    const known = new Set<string>();
    const continues = (): boolean => !signal.aborted && isOwner();
    try {
      await this.#options.time.refresh("owner", signal);
      for await (const page of namespacePages(this.#options.catalog, signal)) {
        const reconcile = async ({ name, record }: (typeof page)[number]): Promise<void> => {
          if (!continues()) return;
          run.report.namespaces++;
          try {
            if (record instanceof Error) throw record;
            known.add(record.id);
            await this.#reconcile(run, record);
          } catch (error) {
            // A run that is stopped has not failed.
            if (!(signal.aborted && isConflict(error))) fail(run, name, error);
          }
        };
        await forEachBounded(page, reconcile, NAMESPACES_AT_ONCE);
        if (!continues()) break;
      }
      await this.#reconcileDeleted(run, continues);
      if (continues()) this.#forgetAllBut(known);
    } catch (error) {
      fail(run, "", error);
    }
    return run.report;
  }

  #beginRun(signal: AbortSignal): ReconcileRun {
    this.#sightings.beginRun();
    return {
      ...this.#options,
      observe: this.#observe,
      sightings: this.#sightings,
      knownSlices: this.#knownSlices,
      settlingFloors: this.#settlingFloors,
      drops: { slices: DROPPED_SLICES_MAX },
      wait: { waitMs: 0, signal },
      report: { namespaces: 0, made: 0, dropped: 0, refused: 0, failed: 0 },
    };
  }

  /**
   * Uses the record as listed. It reads nothing again, since there may be thousands: a decision on
   * an older record changes nothing, by compare-and-set on its version.
   */
  async #reconcile(run: ReconcileRun, record: NamespaceRecord): Promise<void> {
    switch (record.phase) {
      case "CREATING":
        return removeDeadCreation(run, record);
      case "DELETING":
        return finishMarkedDeletion(run, record);
      case "LEAVING":
        return finishLeaving(run, record);
      case "RESTORING":
        return finishLeftRestoring(run, record);
      case "READY":
        return this.#reconcileReady(run, record);
    }
  }

  async #reconcileDeleted(run: ReconcileRun, continues: () => boolean): Promise<void> {
    for await (const page of deletedPages(run.catalog, run.wait.signal)) {
      const reconcile = async ({ id, record }: (typeof page)[number]): Promise<void> => {
        if (!continues()) return;
        try {
          if (record instanceof Error) throw record;
          await purgeDue(run, record);
        } catch (error) {
          if (!(run.wait.signal?.aborted === true && isConflict(error))) fail(run, id, error);
        }
      };
      await forEachBounded(page, reconcile, NAMESPACES_AT_ONCE);
    }
  }

  async #reconcileReady(run: ReconcileRun, found: NamespaceRecord): Promise<void> {
    const { clock, margins, time } = run;
    const record = await endDeadIdChanges(run, await finishLeftReopening(run, found));
    const slices = await this.#knownSlices.of(record);
    const { inDoubt, leaps } = time;
    const seen = {
      wallMicros: clock.nowMicros(),
      believedMicros: time.nowMicros(),
      inDoubt,
      leaps,
    };
    const due = dueChanges(record, slices, seen, margins);
    this.#refusedDrops.note(run, record, due.refused);
    const marked = markedLongAgo(run, record, slices);
    await changeDueSlices(run, record, due, seen.believedMicros);
    await dropMarkedSlices(run, record, marked);
    await forgetDroppedSlices(run, record, slices, this.#options.droppedKept ?? 1_000);
    await this.#reopenedSplits.return(run, record, slices);
  }

  #forgetAllBut(known: ReadonlySet<string>): void {
    this.#knownSlices.forgetAllBut(known);
    this.#settlingFloors.forgetAllBut(known);
    this.#refusedDrops.forgetAllBut(known);
    this.#reopenedSplits.forgetAllBut(known);
  }
}

function fail({ report, observe }: ReconcileRun, namespace: string, error: unknown): void {
  report.failed++;
  observe({ kind: "failed", namespace, error });
}

function isConflict(error: unknown): boolean {
  return error instanceof ServiceError && error.code === "CONFLICT";
}
