/**
 * Keeps the slices of every namespace in step with time: made ahead of need, closed and dropped
 * behind it, and the sealed line raised (rule C1). Also finishes what a crash has left half done:
 * deletions, creations, re-openings.
 *
 * The keeper and the control methods, which also make slices and open them again, take turns on a
 * namespace. Each run looks at what is stored, so it may stop anywhere and start anew; a failure in
 * one namespace does not hold up the others. A slice is marked as
 * dropped first, for good, and its events go only when everybody has had the time to see the mark
 * (rule C18).
 */
import type { Clock } from "../lib/clock.ts";
import { mapBounded } from "../lib/map-bounded.ts";
import {
  changingSlices,
  endSlicesChange,
  makeSlices,
  moveSlices,
  openSlices,
} from "../metadata/change-slices.ts";
import type { Storage } from "../metadata/change-slices.ts";
import { finishDeletion } from "../metadata/finish-deletion.ts";
import { listNamespaces, readNamespace, writeNamespace } from "../metadata/namespace-records.ts";
import type { NamespaceRecord } from "../metadata/namespace-records.ts";
import { finishReopening } from "../metadata/reopen.ts";
import { readSlices, removeSlice, writeSlice } from "../metadata/slice-records.ts";
import type { SliceRecord } from "../metadata/slice-records.ts";
import type { SliceTurns } from "../metadata/slice-turns.ts";
import type { ConfigMargins } from "../model/check-config.ts";
import { SECOND_MICROS } from "../model/namespace-config.ts";
import { ClockWatch } from "./clock-watch.ts";
import type { ClockTrust } from "./clock-watch.ts";
import { changesSlices, dueChanges } from "./due-changes.ts";
import type { DueChanges } from "./due-changes.ts";

export type KeeperEvent =
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
export interface KeeperReport {
  readonly namespaces: number;
  readonly made: number;
  readonly dropped: number;
  /** Slices that were not dropped because the clock is in doubt. */
  readonly refused: number;
  readonly failed: number;
}

export interface SliceKeeperOptions extends Storage {
  /** Shared with the control methods. */
  readonly turns: SliceTurns;
  readonly clock: Clock;
  readonly margins: ConfigMargins;
  /** Brings this process's view up to date (`NamespaceViews.refresh`). */
  readonly changed: (name: string) => Promise<void>;
  readonly observe?: (event: KeeperEvent) => void;
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

const NAMESPACES_PAGE = 500;
const NAMESPACES_AT_ONCE = 8;
/** A creation that takes longer than this has died. */
const CREATING_MAX_MS = 60_000;
const FLOOR_STEP_MICROS_MAX = 60 * SECOND_MICROS;

export class SliceKeeper {
  readonly #options: SliceKeeperOptions;
  readonly #watch: ClockWatch;
  readonly #viewMaxAgeMs: number;
  readonly #observe: (event: KeeperEvent) => void;
  /**
   * When something was first seen, on the monotonic clock. Only what the present or last run saw.
   */
  #seen = new Map<string, number>();
  #seenBefore = new Map<string, number>();
  /** The slices of a namespace's id, as of a change. */
  #slices = new Map<string, { readonly change: number; readonly slices: readonly SliceRecord[] }>();
  /** Namespaces whose refused drops were told. */
  readonly #refusing = new Set<string>();
  #report = { namespaces: 0, made: 0, dropped: 0, refused: 0, failed: 0 };

  constructor(options: SliceKeeperOptions) {
    this.#options = options;
    this.#observe = options.observe ?? (() => undefined);
    this.#viewMaxAgeMs = options.margins.viewMaxAgeMicros / 1000;
    this.#watch = new ClockWatch(
      options.clock,
      options.clockJumpMicros ?? 3_600 * SECOND_MICROS,
      options.clockSettleMs ?? 600_000,
    );
  }

  /** Runs again and again until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.runOnce(signal);
      await this.#options.clock.sleep(this.#options.intervalMs ?? 5_000, signal);
    }
  }

  /**
   * Goes over all namespaces once; stops between two of them when the signal aborts. Never rejects:
   * failures are observed and counted.
   */
  async runOnce(signal: AbortSignal): Promise<KeeperReport> {
    const trust = this.#watch.look();
    const known = new Set<string>();
    this.#report = { namespaces: 0, made: 0, dropped: 0, refused: 0, failed: 0 };
    this.#seenBefore = this.#seen;
    this.#seen = new Map();
    try {
      for (let after = ""; !signal.aborted;) {
        const page = await listNamespaces(this.#options.catalog, after, NAMESPACES_PAGE);
        const keep = async ({ name, record }: (typeof page)[number]): Promise<void> => {
          if (signal.aborted) return;
          this.#report.namespaces++;
          try {
            if (record instanceof Error) throw record;
            known.add(record.id);
            await this.#keepInTurn(record, trust);
          } catch (error) {
            this.#failed(name, error);
          }
        };
        const never = new AbortController().signal;
        for await (const _ of mapBounded(page, () => NAMESPACES_AT_ONCE, never, keep));
        const last = page.at(-1);
        if (last === undefined || page.length < NAMESPACES_PAGE) break;
        after = last.name;
      }
      if (!signal.aborted) this.#forgetAllBut(known);
    } catch (error) {
      this.#failed("", error);
    }
    return this.#report;
  }

  /**
   * The record was listed before the turn. It is read again only if someone was at it, since there
   * may be thousands of namespaces: an older one changes nothing, by compare-and-set on its version.
   */
  async #keepInTurn(listed: NamespaceRecord, trust: ClockTrust): Promise<void> {
    const { catalog, turns } = this.#options;
    const taken = turns.isTaken(listed.name);
    await turns.take(listed.name, async () => {
      const record = taken ? await readNamespace(catalog, listed.name) : listed;
      if (record !== undefined) await this.#keep(record, trust);
    });
  }

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
   * Of a creation that died: what it made is removed. One that was only slow finds its record
   * changed.
   */
  async #endCreation(record: NamespaceRecord): Promise<void> {
    if (this.#seenForMs(`creating/${record.id}`) < CREATING_MAX_MS) return;
    await writeNamespace(this.#options.catalog, { ...record, phase: "DELETING" });
  }

  async #endDeletion(record: NamespaceRecord): Promise<void> {
    const waited = this.#seenForMs(`deleting/${record.id}`) >= this.#viewMaxAgeMs;
    if (this.#options.catalog.shared && !waited) return;
    await finishDeletion(this.#options, record);
    this.#observe({ kind: "deleted", namespace: record.name });
  }

  async #keepReady(found: NamespaceRecord, trust: ClockTrust): Promise<void> {
    const { clock, margins } = this.#options;
    const record = await this.#endReopening(found);
    const slices = await this.#slicesOf(record);
    const now = clock.nowMicros();
    const due = dueChanges(record, slices, now, margins.clockSkewMicros, trust);
    this.#tellRefused(record, due.refused);
    if (changesSlices(due)) await this.#changeSlices(record, due);
    else if (record.slicesChanging) await endSlicesChange(this.#options.catalog, record);
    else await this.#raiseFloor(record, due.floor);
    await this.#dropMarked(record, slices);
    await this.#forgetDropped(record, slices);
  }

  async #endReopening(record: NamespaceRecord): Promise<NamespaceRecord> {
    const { catalog, changed } = this.#options;
    if (record.reopening === null) return record;
    const waited = this.#seenForMs(`reopening/${record.id}/${record.epoch}`) >= this.#viewMaxAgeMs;
    if (catalog.shared && !waited) return record;
    const finished = await finishReopening(catalog, record);
    await changed(record.name);
    this.#observe({ kind: "reopened", namespace: record.name });
    return finished;
  }

  async #slicesOf(record: NamespaceRecord): Promise<readonly SliceRecord[]> {
    const known = this.#slices.get(record.id);
    if (known?.change === record.slicesChange && !record.slicesChanging) return known.slices;
    const slices = await readSlices(this.#options.catalog, record.id);
    this.#slices.set(record.id, { change: record.slicesChange, slices });
    return slices;
  }

  async #changeSlices(record: NamespaceRecord, due: DueChanges): Promise<void> {
    const { catalog, changed } = this.#options;
    this.#slices.delete(record.id);
    const written = await changingSlices(catalog, { ...record, floor: due.floor }, async () => {
      await makeSlices(this.#options, record.id, due.make);
      this.#report.made += due.make.length;
      this.#tell(record, "made", due.make);
      this.#tell(record, "opened", await openSlices(this.#options, record.id, due.open));
      this.#tell(record, "closed", await moveSlices(catalog, record.id, due.close, "CLOSED"));
      const marked = await moveSlices(catalog, record.id, due.drop, "DROPPED");
      for (const slice of marked) this.#seenForMs(markOf(record, slice));
      this.#tell(record, "marked as dropped", marked);
    });
    // If someone else has changed the namespace meanwhile, nothing was done and the next run
    // decides anew.
    if (written !== undefined) await changed(record.name);
  }

  /** In steps: each is a durable write, and there may be thousands of namespaces. */
  async #raiseFloor(record: NamespaceRecord, floor: number): Promise<void> {
    const step = Math.min(record.config.acceptLimitMicros / 10, FLOOR_STEP_MICROS_MAX);
    if (floor - record.floor < Math.max(step, SECOND_MICROS)) return;
    await writeNamespace(this.#options.catalog, { ...record, floor });
  }

  async #dropMarked(record: NamespaceRecord, slices: readonly SliceRecord[]): Promise<void> {
    const { catalog, store } = this.#options;
    const dropped: SliceRecord[] = [];
    for (const slice of slices) {
      if (slice.state !== "DROPPED" || slice.storeDropped) continue;
      if (this.#seenForMs(markOf(record, slice)) < this.#viewMaxAgeMs) continue;
      await store.dropSlice({ namespaceId: record.id, slice: slice.name });
      this.#slices.delete(record.id);
      await writeSlice(catalog, record.id, { ...slice, storeDropped: true });
      dropped.push(slice);
    }
    this.#report.dropped += dropped.length;
    this.#tell(record, "dropped", dropped);
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

  #forgetAllBut(known: ReadonlySet<string>): void {
    for (const id of this.#slices.keys()) if (!known.has(id)) this.#slices.delete(id);
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
    slices: readonly { readonly name: string }[],
  ): void {
    if (slices.length === 0) return;
    this.#observe({ kind: "slices", action, namespace: name, slices: slices.map((s) => s.name) });
  }

  #failed(namespace: string, error: unknown): void {
    this.#report.failed++;
    this.#observe({ kind: "failed", namespace, error });
  }
}

function markOf(record: NamespaceRecord, slice: { readonly name: string }): string {
  return `mark/${record.id}/${slice.name}`;
}
