/**
 * Keeps the slices of every namespace in step with time: made ahead of need, closed and dropped
 * behind it, and the sealed line raised (rule C1). Also finishes what a crash has left half done:
 * changes of slices, of blocked ids and of ids' strategies, deletions, creations, re-openings.
 *
 * Where processes share a catalog the keeper of one of them works, by a lease, and another takes over
 * when that one dies. Each run looks at what is stored, so it may stop anywhere and start anew; a
 * failure in one namespace does not hold up the others. Only where something is due it takes a turn,
 * like the control methods, which also make slices and open them again. A slice is marked as dropped
 * first, for good, and its events go only when everybody has had the time to see the mark (rule C18).
 */
import type { Clock } from "../lib/clock.ts";
import { ServiceError } from "../lib/errors.ts";
import { mapBounded } from "../lib/map-bounded.ts";
import { changeSlices, finishChange } from "./change-slices.ts";
import type { Changing, SlicesMoved } from "./change-slices.ts";
import { finishDeletion } from "./finish-deletion.ts";
import { fenceIdStrategy, ID_CHANGE_MAX_MS } from "../records/id-strategies.ts";
import { invalidateSplits } from "../splits/record/invalidate-splits.ts";
import { Leases } from "../records/lease.ts";
import type { Lease } from "../records/lease.ts";
import {
  endedBlockedChanges,
  endedIdStrategyChanges,
  listNamespaces,
  writeNamespace,
} from "../records/namespace-records.ts";
import type { NamespaceRecord } from "../records/namespace-records.ts";
import { finishReopening } from "./reopen.ts";
import { readSlices, removeSlice, writeSlice } from "../records/slice-records.ts";
import type { SliceRecord } from "../records/slice-records.ts";
import { dropTables } from "./slice-tables.ts";
import type { OwnerWait } from "./slice-ownership.ts";
import { trimChanges } from "../records/split-changes.ts";
import { removeSplits } from "../records/split-records.ts";
import type { TimeMargins } from "../model/time-margins.ts";
import { SECOND_MICROS } from "../model/namespace-config.ts";
import { ClockWatch } from "./clock-watch.ts";
import type { ClockTrust } from "./clock-watch.ts";
import { changesSlices, dueChanges } from "./due-changes.ts";
import type { DueChanges } from "./due-changes.ts";

export type ReconcilerEvent =
  | {
      readonly kind: "slices";
      readonly action: "made" | "closed" | "opened" | "marked as dropped" | "dropped";
      readonly namespace: string;
      readonly slices: readonly string[];
    }
  | { readonly kind: "reopened" | "deleted"; readonly namespace: string }
  | {
      /** Told once, until it is over. */
      readonly kind: "drops refused";
      readonly namespace: string;
      readonly count: number;
      readonly message: string;
    }
  | { readonly kind: "failed"; readonly namespace: string; readonly error: unknown };

/** What one run did and found. */
export interface ReconcilerReport {
  readonly namespaces: number;
  readonly made: number;
  readonly dropped: number;
  /** Slices that were not dropped because the clock is in doubt. */
  readonly refused: number;
  readonly failed: number;
}

/** `ownership` are shared with the control methods. */
export interface SliceReconcilerOptions extends Changing {
  readonly clock: Clock;
  readonly margins: TimeMargins;
  /** Brings this process's view up to date (`NamespaceViews.refresh`). */
  readonly changed: (name: string) => Promise<void>;
  readonly observe?: (event: ReconcilerEvent) => void;
  /** Time between two runs. */
  readonly intervalMs?: number;
  /** A step of the wall clock beyond this is doubted. */
  readonly clockJumpMicros?: number;
  /** How long a jump of the clock, or a start, is waited upon before it is acted on. */
  readonly clockSettleMs?: number;
  /**
   * Dropped slices of a namespace that are remembered, for people to see. One is enough to keep
   * dropped time from being made again.
   */
  readonly droppedKept?: number;
}

const LEASE = "keeper";
const NAMESPACES_PAGE = 500;
const NAMESPACES_AT_ONCE = 8;
/** A creation that takes longer than this, and does not own its slices any more, has died. */
const CREATING_MAX_MS = 60_000;
/** How long it is remembered which routes have changed; and how often the older ones are removed. */
const CHANGES_KEPT_MICROS = 3_600 * SECOND_MICROS;
const TRIM_EVERY_MS = 600_000;
const FLOOR_STEP_MICROS_MAX = 60 * SECOND_MICROS;

export class SliceReconciler {
  readonly #options: SliceReconcilerOptions;
  readonly #watch: ClockWatch;
  readonly #viewMaxAgeMs: number;
  readonly #observe: (event: ReconcilerEvent) => void;
  /**
   * When something was first seen, on the monotonic clock. Only what the present or last run saw.
   */
  #seen = new Map<string, number>();
  #seenBefore = new Map<string, number>();
  /** The slices of a namespace's id, as of a change. */
  #slices = new Map<string, { readonly change: number; readonly slices: readonly SliceRecord[] }>();
  /** When the changes of a namespace's id were last trimmed, on the monotonic clock. */
  readonly #trimmed = new Map<string, number>();
  /** Namespaces whose refused drops were told. */
  readonly #refusing = new Set<string>();
  /** Who is at the slices of a namespace goes on; the next run looks again. */
  #atOnceOrLater: OwnerWait = { waitMs: 0 };
  #report = { namespaces: 0, made: 0, dropped: 0, refused: 0, failed: 0 };

  constructor(options: SliceReconcilerOptions) {
    this.#options = options;
    this.#observe = options.observe ?? (() => undefined);
    this.#viewMaxAgeMs = options.margins.viewMaxAge.ms;
    this.#watch = new ClockWatch(
      options.clock,
      options.clockJumpMicros ?? 3_600 * SECOND_MICROS,
      options.clockSettleMs ?? 600_000,
    );
  }

  /**
   * Runs again and again until the signal aborts; where the catalog is shared, only while this
   * process is the one that keeps the slices. Never rejects.
   */
  async run(signal: AbortSignal): Promise<void> {
    const { catalog, clock, intervalMs } = this.#options;
    const leases = new Leases(this.#options);
    let lease: Lease | undefined;
    while (!signal.aborted) {
      if (!catalog.shared) await this.runOnce(signal);
      else {
        if (lease === undefined || lease.lost) lease = await this.#tryTake(leases);
        if (lease?.held === true) await this.runOnce(signal, () => lease?.held === true);
      }
      await clock.sleep(intervalMs ?? 5_000, signal);
    }
    await lease?.release();
  }

  async #tryTake(leases: Leases): Promise<Lease | undefined> {
    try {
      return await leases.tryTake(LEASE);
    } catch (error) {
      this.#failed("", error);
      return undefined;
    }
  }

  /**
   * Goes over all namespaces once. When the signal aborts it stops before the next slice, when someone
   * else has taken over before the next namespace; what is left is done by whoever runs next. Never
   * rejects: failures are observed and counted.
   */
  async runOnce(
    signal: AbortSignal,
    isOwner: () => boolean = () => true,
  ): Promise<ReconcilerReport> {
    const trust = this.#watch.look();
    const known = new Set<string>();
    this.#report = { namespaces: 0, made: 0, dropped: 0, refused: 0, failed: 0 };
    this.#seenBefore = this.#seen;
    this.#seen = new Map();
    this.#atOnceOrLater = { waitMs: 0, signal };
    try {
      const goesOn = (): boolean => !signal.aborted && isOwner();
      for (let after = ""; goesOn();) {
        const page = await listNamespaces(this.#options.catalog, after, NAMESPACES_PAGE);
        const keep = async ({ name, record }: (typeof page)[number]): Promise<void> => {
          if (!goesOn()) return;
          this.#report.namespaces++;
          try {
            if (record instanceof Error) throw record;
            known.add(record.id);
            await this.#keep(record, trust);
          } catch (error) {
            // Who was told to stop has not failed.
            if (!(signal.aborted && isConflict(error))) this.#failed(name, error);
          }
        };
        const never = new AbortController().signal;
        for await (const _ of mapBounded(page, () => NAMESPACES_AT_ONCE, never, keep));
        const last = page.at(-1);
        if (last === undefined || page.length < NAMESPACES_PAGE) break;
        after = last.name;
      }
      if (goesOn()) this.#forgetAllBut(known);
    } catch (error) {
      this.#failed("", error);
    }
    return this.#report;
  }

  /**
   * The record is as it was listed. Nothing is read again, since there may be thousands: what is
   * decided on an older one changes nothing, by compare-and-set on its version.
   */
  async #keep(record: NamespaceRecord, trust: ClockTrust): Promise<void> {
    switch (record.phase) {
      case "CREATING":
        return this.#endCreation(record);
      case "DELETING":
        return this.#endDeletion(record);
      case "READY":
        return this.#keepReady(record, trust);
    }
  }

  /**
   * Of a creation that died: what it made is removed. One that was only slow owns its slices, or
   * finds its record changed and removes them itself.
   */
  async #endCreation(record: NamespaceRecord): Promise<void> {
    const { catalog } = this.#options;
    if (this.#seenForMs(`creating/${record.id}`) < CREATING_MAX_MS) return;
    await this.#own(record, () => writeNamespace(catalog, { ...record, phase: "DELETING" }));
  }

  async #endDeletion(record: NamespaceRecord): Promise<void> {
    const waited = this.#seenForMs(`deleting/${record.id}`) >= this.#viewMaxAgeMs;
    if (this.#options.catalog.shared && !waited) return;
    await this.#own(record, async (isOwner) => {
      await finishDeletion(this.#options, record, isOwner);
      this.#observe({ kind: "deleted", namespace: record.name });
    });
  }

  async #keepReady(found: NamespaceRecord, trust: ClockTrust): Promise<void> {
    const { clock, margins } = this.#options;
    const record = await this.#endIdChanges(await this.#endReopening(found));
    const slices = await this.#slicesOf(record);
    const now = clock.nowMicros();
    const due = dueChanges(record, slices, now, margins.clockSkew.micros, trust);
    this.#tellRefused(record, due.refused);
    const marked = this.#markedLongAgo(record, slices);
    if (record.changing !== null) {
      await this.#raiseFloor(record, due.floor);
      await this.#inTurn(record, () => this.#finishChange(record));
    } else if (changesSlices(due)) {
      await this.#inTurn(record, () => this.#changeSlices(record, due));
    } else {
      await this.#raiseFloor(record, due.floor);
    }
    if (marked.length > 0)
      await this.#own(record, (isOwner) => this.#dropMarked(record, marked, isOwner));
    await this.#forgetDropped(record, slices);
    await this.#trimChanges(record);
  }

  /**
   * Or not at all this time, if someone here is at it: making tables can take minutes, and the other
   * namespaces would have to wait.
   */
  async #inTurn({ name }: NamespaceRecord, work: () => Promise<unknown>): Promise<void> {
    const { ownership } = this.#options;
    if (!ownership.isTaken(name)) await ownership.take(name, work);
  }

  /** Work on tables: in a turn, as the owner, or not at all this time. */
  #own(record: NamespaceRecord, work: (isOwner: () => boolean) => Promise<unknown>): Promise<void> {
    const { ownership } = this.#options;
    return this.#inTurn(record, () => ownership.own(record.id, this.#atOnceOrLater, work));
  }

  async #endReopening(record: NamespaceRecord): Promise<NamespaceRecord> {
    const { catalog, clock, changed } = this.#options;
    if (record.reopening === null) return record;
    const mark = `reopening/${record.id}/${record.epoch}`;
    // What relies on the old line goes first, and then L passes. Who begins to keep does it again.
    if (!this.#hasSeen(mark)) {
      await invalidateSplits(catalog, clock, record, this.#atOnceOrLater.signal);
    }
    const waited = this.#seenForMs(mark) >= this.#viewMaxAgeMs;
    if (catalog.shared && !waited) return record;
    const finished = await finishReopening(catalog, record);
    await changed(record.name);
    this.#observe({ kind: "reopened", namespace: record.name });
    return finished;
  }

  /**
   * Of changes of blocked ids and of ids' strategies that died: views need not re-read the ids any more.
   * One that was only slow counts itself when it ends.
   */
  async #endIdChanges(record: NamespaceRecord): Promise<NamespaceRecord> {
    const { catalog } = this.#options;
    const isDead = (kind: string, began: number): boolean =>
      this.#seenForMs(`${kind}/${record.id}/${began}`) >= ID_CHANGE_MAX_MS;
    const blocking = record.blockedChanging.filter((began) => isDead("blocking", began));
    const growing = record.idStrategyChanging.filter(({ began }) => isDead("growing", began));
    if (blocking.length + growing.length === 0) return record;
    for (const { seriesId } of growing) await fenceIdStrategy(catalog, record.id, seriesId);
    const grown = growing.map(({ began }) => began);
    const ended = {
      ...record,
      ...(blocking.length === 0 ? {} : endedBlockedChanges(record, blocking)),
      ...(grown.length === 0 ? {} : endedIdStrategyChanges(record, grown)),
    };
    // Someone else has changed the namespace: the next run looks again.
    return (await writeNamespace(catalog, ended)) ?? record;
  }

  /** Who follows the routes has read them all anew by then. */
  async #trimChanges({ id }: NamespaceRecord): Promise<void> {
    const { catalog, clock } = this.#options;
    const nowMs = clock.monotonicMs();
    if (nowMs - (this.#trimmed.get(id) ?? -Infinity) < TRIM_EVERY_MS) return;
    await trimChanges(catalog, id, clock.nowMicros() - CHANGES_KEPT_MICROS);
    this.#trimmed.set(id, nowMs);
  }

  async #slicesOf(record: NamespaceRecord): Promise<readonly SliceRecord[]> {
    const known = this.#slices.get(record.id);
    if (known?.change === record.slicesChange && record.changing === null) return known.slices;
    const slices = await readSlices(this.#options.catalog, record.id);
    this.#slices.set(record.id, { change: record.slicesChange, slices });
    return slices;
  }

  async #changeSlices(record: NamespaceRecord, due: DueChanges): Promise<void> {
    const change = {
      make: due.make,
      open: namesOf(due.open),
      close: namesOf(due.close),
      drop: namesOf(due.drop),
    };
    const raised = { ...record, floor: due.floor };
    const moved = await changeSlices(this.#options, raised, change, this.#atOnceOrLater);
    // Someone else has changed the namespace, or is at its slices: the next run decides anew.
    if (moved === "overtaken" || moved === "busy") return;
    await this.#tellMoved(record, moved);
  }

  async #finishChange(record: NamespaceRecord): Promise<void> {
    const moved = await finishChange(this.#options, record, this.#atOnceOrLater);
    if (moved !== "busy") await this.#tellMoved(record, moved);
  }

  async #tellMoved(record: NamespaceRecord, moved: SlicesMoved): Promise<void> {
    this.#slices.delete(record.id);
    this.#report.made += moved.made.length;
    for (const slice of moved.marked) this.#seenForMs(markOf(record, slice));
    this.#tell(record, "made", moved.made);
    this.#tell(record, "opened", moved.opened);
    this.#tell(record, "closed", moved.closed);
    this.#tell(record, "marked as dropped", moved.marked);
    await this.#options.changed(record.name);
  }

  /** In steps: each is a durable write, and there may be thousands of namespaces. */
  async #raiseFloor(record: NamespaceRecord, floor: number): Promise<void> {
    const step = Math.min(record.config.acceptLimitMicros / 10, FLOOR_STEP_MICROS_MAX);
    if (floor - record.floor < Math.max(step, SECOND_MICROS)) return;
    await writeNamespace(this.#options.catalog, { ...record, floor });
  }

  /** Those whose mark this process has seen for L: by now everybody has. */
  #markedLongAgo(record: NamespaceRecord, slices: readonly SliceRecord[]): SliceRecord[] {
    const marked = slices.filter(({ state, storeDropped }) => state === "DROPPED" && !storeDropped);
    return marked.filter(({ name }) => this.#seenForMs(markOf(record, name)) >= this.#viewMaxAgeMs);
  }

  async #dropMarked(
    record: NamespaceRecord,
    marked: readonly SliceRecord[],
    isOwner: () => boolean,
  ): Promise<void> {
    const { catalog, store } = this.#options;
    this.#slices.delete(record.id);
    const dropped: SliceRecord[] = [];
    for (const slice of marked) {
      if (!isOwner()) break;
      const ref = { namespaceId: record.id, slice: slice.name };
      await dropTables(store, ref);
      await removeSplits(catalog, ref);
      await writeSlice(catalog, record.id, { ...slice, storeDropped: true });
      dropped.push(slice);
    }
    this.#report.dropped += dropped.length;
    this.#tell(record, "dropped", namesOf(dropped));
  }

  async #forgetDropped(record: NamespaceRecord, slices: readonly SliceRecord[]): Promise<void> {
    const kept = Math.max(1, this.#options.droppedKept ?? 1_000);
    const gone = slices.filter(({ storeDropped }) => storeDropped);
    for (const slice of gone.slice(0, Math.max(0, gone.length - kept))) {
      this.#slices.delete(record.id);
      await removeSlice(this.#options.catalog, record.id, slice);
    }
  }

  /** How long something has been seen by this process, run after run; 0 the first time. */
  #seenForMs(what: string): number {
    const nowMs = this.#options.clock.monotonicMs();
    const since = this.#seen.get(what) ?? this.#seenBefore.get(what) ?? nowMs;
    this.#seen.set(what, since);
    return nowMs - since;
  }

  #hasSeen(what: string): boolean {
    return this.#seen.has(what) || this.#seenBefore.has(what);
  }

  #forgetAllBut(known: ReadonlySet<string>): void {
    for (const id of this.#slices.keys()) if (!known.has(id)) this.#slices.delete(id);
    for (const id of this.#trimmed.keys()) if (!known.has(id)) this.#trimmed.delete(id);
    for (const id of this.#refusing) if (!known.has(id)) this.#refusing.delete(id);
  }

  #tellRefused({ id, name }: NamespaceRecord, count: number): void {
    this.#report.refused += count;
    if (count === 0) this.#refusing.delete(id);
    else if (!this.#refusing.has(id)) {
      this.#refusing.add(id);
      this.#observe({
        kind: "drops refused",
        namespace: name,
        count,
        message:
          `${count} slices of namespace "${name}" are past their retention by this machine's clock, which has jumped or has just started; ` +
          "none of them is dropped until the clock has been right for a while; check it, and restart to confirm it",
      });
    }
  }

  #tell(
    { name }: NamespaceRecord,
    action: "made" | "closed" | "opened" | "marked as dropped" | "dropped",
    slices: readonly string[],
  ): void {
    if (slices.length === 0) return;
    this.#observe({ kind: "slices", action, namespace: name, slices });
  }

  #failed(namespace: string, error: unknown): void {
    this.#report.failed++;
    this.#observe({ kind: "failed", namespace, error });
  }
}

function isConflict(error: unknown): boolean {
  return error instanceof ServiceError && error.code === "CONFLICT";
}

function markOf(record: NamespaceRecord, slice: string): string {
  return `mark/${record.id}/${slice}`;
}

function namesOf(slices: readonly SliceRecord[]): string[] {
  return slices.map(({ name }) => name);
}
