/**
 * Ensures that every split ends: takes the splits that are due and works on a few at a time.
 *
 * A nudge says that a split may be due now; it is a hint and may be lost. Every few seconds the
 * sweep reads the index by due time, so that it finds every due split without any nudge (rule C16).
 * Any number of workers may run side by side.
 */
import { LRUCache } from "lru-cache";
import { listNamespaces } from "../../records/namespace-records.ts";
import { settleDue } from "../record/move-split.ts";
import { readSplit } from "../../records/split-records.ts";
import { closeWindows } from "../../records/split-work-windows.ts";
import type { WorkIndex } from "../../records/split-work-windows.ts";
import { cursorAt, listDue } from "../../records/split-work.ts";
import type { DueCursor, DuePage, DueSplit } from "../../records/split-work.ts";
import type { UnreadableEntry } from "../../records/stored-json.ts";
import { ServiceError } from "../../lib/errors.ts";
import { isUnreadable } from "../../lib/stored-format.ts";
import { forEachBounded } from "../../lib/for-each-bounded.ts";
import { partitionText } from "../../model/partition.ts";
import type { PartitionKey } from "../../model/partition.ts";
import type { SplitRecord } from "../../model/split.ts";
import { LEASE_MS, OwnerLiveness } from "../../lib/owner-liveness.ts";
import { isFree } from "./is-free.ts";
import type { SplitContext } from "./split-context.ts";
import { workOnSplit } from "./work-on-split.ts";

const SWEEP_MS = 2_000;
const CONCURRENCY = 2;
/** Splits that wait at a time; a later sweep finds those that have no room. */
const WAITING_MAX = 1_000;
const DUE_PAGE = 200;
/** Pages of one sweep; the next sweep continues after them. */
const PAGES_MAX = 10;
/** How often the worker checks splits of paused namespaces, which stay due. */
const PAUSED_LOOK_MS = 60_000;
/** Undecodable entries that the worker remembers as reported. */
const SKIPPED_MAX = 10_000;
const CLOSE_WINDOWS_MS = 30_000;
/** Namespaces that the worker knows as paused or not. */
const NAMESPACES_KNOWN = 500;

interface Waiting {
  readonly partition: PartitionKey;
  /** The entry that the sweep found; undefined for a nudge. */
  readonly due: DueSplit | undefined;
}

/** One pass through all due splits, in one or more sweeps. */
interface SweepPass {
  after: DueCursor | undefined;
  readonly pausedToo: boolean;
}

export class SplitWorker {
  readonly #context: SplitContext;
  readonly #owners: OwnerLiveness;
  readonly #waiting = new Map<string, Waiting>();
  readonly #active = new Set<string>();
  /** When the worker last read the namespaces. */
  #namespacesReadAtMs = -Infinity;
  /**
   * Whether the splits of a namespace are paused, by namespace id, for the namespaces last read.
   */
  #paused: ReadonlyMap<string, boolean> = new Map();
  #pass: SweepPass | undefined;
  #lookedAtPausedMs = -Infinity;
  #closedAtMs = -Infinity;
  readonly #closedTo = new Map<WorkIndex, string>();
  /** Where the next sweep continues in the guard entries; undefined: at the first entry. */
  #guardsAfter: DueCursor | undefined;
  readonly #idle = new Set<() => void>();
  readonly #skipped = new LRUCache<string, true>({ max: SKIPPED_MAX });

  constructor(context: SplitContext) {
    this.#context = context;
    const { clock, leaseMs = LEASE_MS } = context;
    this.#owners = new OwnerLiveness(clock, leaseMs);
  }

  /** How many splits this process is checking or working on. */
  get active(): number {
    return this.#active.size;
  }

  nudge(partition: PartitionKey): void {
    this.#offer({ partition, due: undefined });
  }

  /** Runs until the signal aborts, then resolves when no work is in progress. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const workers = Array.from({ length: this.#context.concurrency ?? CONCURRENCY }, () =>
      this.#workAgainAndAgain(signal),
    );
    await Promise.all([this.#sweepAgainAndAgain(signal), ...workers]);
  }

  async #sweepAgainAndAgain(signal: AbortSignal): Promise<void> {
    const { clock, random, sweepMs = SWEEP_MS } = this.#context;
    while (!signal.aborted) {
      try {
        await this.#sweep(signal);
      } catch (error) {
        this.#trouble("", "the splits that are due cannot be listed", error);
      }
      // A random interval keeps workers out of step with one another.
      await clock.sleep(sweepMs * (0.75 + random.fraction() / 2), signal);
    }
  }

  /** Publishes routes first, then offers the due splits, oldest first, while there is room. */
  async #sweep(signal: AbortSignal): Promise<void> {
    const { clock } = this.#context;
    await this.#settleGuards(signal);
    await this.#readNamespaces();
    const nowMicros = clock.nowMicros();
    await this.#continuePass(nowMicros, signal);
    await this.#closeWindows(nowMicros);
  }

  /**
   * Publishes routes that a failed or crashed process left unpublished (rule C23). The sweep itself
   * does this, without a copy slot, and for paused namespaces too. So while a worker runs and the
   * catalog answers, a route is published within one sweep of its record's change.
   */
  async #settleGuards(signal: AbortSignal): Promise<void> {
    const { catalog, clock } = this.#context;
    for (let pages = 0; pages < PAGES_MAX && !signal.aborted; pages++) {
      // No entry lies in the future, unless the clock of another process is ahead.
      const page = await this.#list("split-publish", Number.MAX_SAFE_INTEGER, this.#guardsAfter);
      await forEachBounded(page.due, async (due) => {
        try {
          await settleDue(catalog, clock, due);
        } catch (error) {
          if (signal.aborted) return;
          this.#trouble(due.namespace, "a route could not be published", error);
        }
      });
      this.#guardsAfter = page.cursor;
      if (page.cursor === undefined) return;
    }
  }

  /**
   * If there is no room, the next sweep continues here: splits that triage can only leave must not
   * block the others.
   */
  async #continuePass(nowMicros: number, signal: AbortSignal): Promise<void> {
    const pass = (this.#pass ??= this.#newPass());
    for (let pages = 0; pages < PAGES_MAX && !signal.aborted; pages++) {
      const page = await this.#list("split-work", nowMicros, pass.after);
      for (const due of page.due) {
        if (!this.#passes(pass, due)) return;
        pass.after = cursorAt(due);
      }
      if (page.cursor === undefined) {
        this.#pass = undefined;
        return;
      }
      pass.after = page.cursor;
    }
  }

  async #list(index: WorkIndex, nowMicros: number, after: DueCursor | undefined): Promise<DuePage> {
    const page = await listDue(this.#context.catalog, index, nowMicros, DUE_PAGE, after);
    for (const entry of page.unreadable) this.#skip(entry);
    return page;
  }

  /** Each process reports an entry once, although every sweep finds it again. */
  #skip(entry: UnreadableEntry): void {
    const name = `${entry.space}/${entry.key}`;
    if (this.#skipped.has(name)) return;
    this.#skipped.set(name, true);
    this.#context.observe({ kind: "unreadable", entry });
  }

  /** False if there is no room for the split. */
  #passes({ pausedToo }: SweepPass, due: DueSplit): boolean {
    if (!pausedToo && this.#isPaused(due)) return true;
    return this.#offer({ partition: due.partition, due });
  }

  #newPass(): SweepPass {
    const nowMs = this.#context.clock.monotonicMs();
    const pausedToo = nowMs - this.#lookedAtPausedMs >= PAUSED_LOOK_MS;
    if (pausedToo) this.#lookedAtPausedMs = nowMs;
    return { after: undefined, pausedToo };
  }

  /** Does not ask the catalog: there may be many paused splits, for a long time. */
  #isPaused({ namespace, partition }: DueSplit): boolean {
    const known = this.#paused.get(partition.namespaceId);
    if (known !== undefined) return known;
    const view = this.#context.views.current(namespace);
    return view !== undefined && view.namespace.splitsPaused !== null;
  }

  async #closeWindows(nowMicros: number): Promise<void> {
    const { catalog, clock } = this.#context;
    const nowMs = clock.monotonicMs();
    if (nowMs - this.#closedAtMs < CLOSE_WINDOWS_MS) return;
    this.#closedAtMs = nowMs;
    for (const index of ["split-work", "split-publish"] as const) {
      const after = this.#closedTo.get(index) ?? "";
      this.#closedTo.set(index, await closeWindows(catalog, index, nowMicros, after));
    }
  }

  /** Finds out which namespaces are paused. Of any other, the worker asks the view. */
  async #readNamespaces(): Promise<void> {
    const { catalog, clock, margins } = this.#context;
    const nowMs = clock.monotonicMs();
    if (nowMs - this.#namespacesReadAtMs < margins.viewMaxAge.ms / 2) return;
    this.#namespacesReadAtMs = nowMs;
    const found = await listNamespaces(catalog, "", NAMESPACES_KNOWN);
    const paused = new Map<string, boolean>();
    for (const { record } of found) {
      if (record instanceof ServiceError) continue;
      paused.set(record.id, record.splitsPaused !== null);
    }
    this.#paused = paused;
  }

  /** False if there is no room for the split. */
  #offer(waiting: Waiting): boolean {
    const name = partitionText(waiting.partition);
    if (this.#waiting.has(name)) return true;
    if (this.#waiting.size >= WAITING_MAX) return false;
    this.#waiting.set(name, waiting);
    this.#wake();
    return true;
  }

  async #workAgainAndAgain(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const next = this.#take();
      if (next === undefined) await this.#offered(signal);
      else await this.#work(next, signal);
    }
  }

  /** A split that this process does not work on. */
  #take(): Waiting | undefined {
    for (const [name, waiting] of this.#waiting) {
      if (this.#active.has(name)) continue;
      this.#waiting.delete(name);
      return waiting;
    }
    return undefined;
  }

  async #work({ partition, due }: Waiting, signal: AbortSignal): Promise<void> {
    const name = partitionText(partition);
    this.#active.add(name);
    let namespace = "";
    try {
      const record = await this.#find(partition, due);
      if (record === undefined || !isFree(record, this.#owners)) return;
      ({ namespace } = record);
      await workOnSplit(this.#context, record, signal);
    } catch (error) {
      if (error instanceof ServiceError && isUnreadable(error)) {
        this.#skip({ space: "splits", key: name, error });
      } else if (!signal.aborted) {
        this.#trouble(namespace, "a split could not be read", error);
      }
    } finally {
      this.#active.delete(name);
      this.#wake();
    }
  }

  #find(partition: PartitionKey, due: DueSplit | undefined): Promise<SplitRecord | undefined> {
    const { catalog, clock } = this.#context;
    return due === undefined ? readSplit(catalog, partition) : settleDue(catalog, clock, due);
  }

  #offered(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#idle.delete(wake);
        signal.removeEventListener("abort", wake);
        resolve();
      };
      this.#idle.add(wake);
      signal.addEventListener("abort", wake, { once: true });
    });
  }

  #wake(): void {
    for (const wake of this.#idle) wake();
  }

  #trouble(namespace: string, what: string, error: unknown): void {
    this.#context.observe({ kind: "trouble", namespace, what, error });
  }
}
