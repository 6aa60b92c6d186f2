/**
 * The control side: namespaces are created, changed and deleted, their slices listed, their ids
 * blocked.
 *
 * Every change is compare-and-set and a row of steps that can stop anywhere: what a crash leaves
 * half done, the keeper of slices finishes. When a method resolves, its change is in force in this
 * process, and everywhere within L.
 */
import { forEachBounded } from "../lib/map-bounded.ts";
import { isDeepStrictEqual } from "node:util";
import type { Clock } from "../lib/clock.ts";
import { ServiceError } from "../lib/errors.ts";
import { mapBounded } from "../lib/map-bounded.ts";
import type { Random } from "../lib/random.ts";
import { changeSlices, finishChange, makeFirstSlices } from "./change-slices.ts";
import type { Changing } from "./change-slices.ts";
import { finishDeletion } from "./finish-deletion.ts";
import { rescheduleSplits, lineSettledAt } from "../splits/record/reschedule-splits.ts";
import { invalidateSplits } from "../splits/record/invalidate-splits.ts";
import {
  configured,
  listNamespaces,
  namespaceConflict,
  readNamespace,
  readReadyNamespace,
  requireReady,
  slicesBusy,
  updateNamespace,
  widestAcceptMicros,
  writeNamespace,
} from "../records/namespace-records.ts";
import type { NamespaceRecord } from "../records/namespace-records.ts";
import { beginReopening, finishReopening } from "./reopen.ts";
import type { SliceChange } from "../records/slice-change.ts";
import { readSlices } from "../records/slice-records.ts";
import type { SliceRecord } from "../records/slice-records.ts";
import { dropTables } from "./slice-tables.ts";
import { floorFor, plausibleNow, sliceWindow } from "./slice-window.ts";
import { configProblems, namespaceNameProblem } from "../model/check-config.ts";
import type { TimeMargins } from "../model/time-margins.ts";
import { mergeConfig } from "../model/merge-config.ts";
import type { NamespaceConfigPatch } from "../model/merge-config.ts";
import type { BlockedId, Namespace } from "../model/namespace.ts";
import { DEFAULT_NAMESPACE_CONFIG } from "../model/namespace-config.ts";
import type { NamespaceConfig } from "../model/namespace-config.ts";
import type { SliceRef } from "../model/partition.ts";
import { commonWidthSeconds, planSlices, statusOf, writableFrom } from "../model/plan-slices.ts";
import type { SliceStatus } from "../model/plan-slices.ts";
import { FIRST_READ_MODE } from "../model/read-mode.ts";
import type { TimeSlice } from "../model/time-slice.ts";
import type { SliceStats } from "../ports/event-store.ts";
import { BlockedIds } from "./blocked-ids.ts";
import type { BlockRequest } from "./blocked-ids.ts";
import { pageAfter, pageSizeOf, pageTokenAfter } from "./control-pages.ts";
import type { ControlPage } from "./control-pages.ts";

/** `ownership` are shared with the keeper of slices. */
export interface NamespacesOptions extends Changing {
  readonly clock: Clock;
  readonly random: Random;
  readonly margins: TimeMargins;
  readonly configuredBlocks?: ReadonlyMap<string, readonly BlockedId[]>;
  /** Brings this process's view up to date (`NamespaceViews.refresh`). */
  readonly changed: (name: string) => Promise<void>;
  /** Default BLOCKED_IDS_MAX. */
  readonly blockedIdsMax?: number;
}

/** A slice with what the API tells of it. */
export interface SliceListing extends Omit<TimeSlice, "state">, SliceStats {
  readonly status: SliceStatus;
}

/** Losing this often in a row is told; each change of slices, of which there may be many, is progress. */
const UPDATE_ATTEMPTS_MAX = 10;
/** More than it takes to make SLICES_MAX slices. */
const UPDATE_ROUNDS_MAX = 200;
/** For another process that makes or drops slices: longer than it takes to find out that it is dead. */
const OWNER_WAIT_MS = 15_000;
const STATS_AT_ONCE = 8;
const YEAR_SECONDS = 31_536_000;

export class Namespaces {
  readonly #options: NamespacesOptions;
  readonly #blocked: BlockedIds;
  /** Names this process is creating. */
  readonly #creating = new Set<string>();

  constructor(options: NamespacesOptions) {
    this.#options = options;
    this.#blocked = new BlockedIds({
      catalog: options.catalog,
      clock: options.clock,
      configuredBlocks: options.configuredBlocks ?? new Map(),
      changed: options.changed,
      ...(options.blockedIdsMax === undefined ? {} : { idsMax: options.blockedIdsMax }),
    });
  }

  /** Makes its slices first: whoever sees the namespace can write to it. */
  async create(name: string, patch: NamespaceConfigPatch): Promise<Namespace> {
    const { config } = mergeConfig(DEFAULT_NAMESPACE_CONFIG, patch, []);
    const nameProblem = namespaceNameProblem(name);
    const problems = configProblems(config, this.#options.margins);
    if (nameProblem !== undefined) throw invalid("REQUEST_INVALID", [nameProblem, ...problems]);
    if (problems.length > 0) throw invalid("CONFIG_INVALID", problems);
    if (this.#creating.has(name)) throw namespaceExists(name);
    this.#creating.add(name);
    try {
      return await this.#options.ownership.take(name, async () => {
        await this.#makeWay(name);
        return this.#createNew(name, config);
      });
    } finally {
      this.#creating.delete(name);
    }
  }

  get(name: string): Promise<Namespace> {
    return readReadyNamespace(this.#options.catalog, name);
  }

  /** In the order of their names. */
  async list(
    page: ControlPage,
  ): Promise<{ namespaces: readonly Namespace[]; nextPageToken: string }> {
    const size = pageSizeOf(page);
    const namespaces: Namespace[] = [];
    for (let after = pageAfter(page); ;) {
      const found = await listNamespaces(this.#options.catalog, after, size + 1);
      for (const { name, record } of found) {
        if (record instanceof ServiceError) throw record;
        if (record.phase !== "READY") continue;
        if (namespaces.length === size) return { namespaces, nextPageToken: tokenOf(namespaces) };
        namespaces.push(record);
        after = name;
      }
      const last = found.at(-1);
      if (last === undefined || found.length <= size) return { namespaces, nextPageToken: "" };
      after = last.name;
    }
  }

  /**
   * Changes what is given. A higher acceptLimit is in force only after all of rule C3's steps,
   * which take L where the catalog is shared. If the signal aborts meanwhile, the rest is done by
   * the keeper.
   */
  async update(
    name: string,
    patch: NamespaceConfigPatch,
    reset: readonly string[],
    signal?: AbortSignal,
  ): Promise<Namespace> {
    const { catalog, clock, ownership, changed } = this.#options;
    const before = await readReadyNamespace(catalog, name);
    const written = await this.#untilDone(name, () =>
      ownership.take(name, () => this.#changeConfig(name, patch, reset, signal)),
    );
    await changed(name);
    if (written.config.retention.closeAfterMicros > before.config.retention.closeAfterMicros) {
      await this.#openClosed(name, signal);
    }
    if (written.reopening === null) {
      if (written.config.acceptLimitMicros < widestAcceptMicros(before)) {
        await this.#rescheduleSplits(written, signal);
      }
      return readReadyNamespace(catalog, name);
    }
    // What relies on the old line: between the new epoch and the acceptance.
    await invalidateSplits(catalog, clock, written, signal);
    await this.#waitForViews(signal);
    const finished = requireReady(await finishReopening(catalog, written), name);
    await changed(name);
    // Another change has begun an epoch of its own meanwhile, and its limit is not in force yet.
    if (finished.reopening !== null) throw namespaceConflict(name);
    return finished;
  }

  /** What waits for time to be sealed waits no longer than it must. */
  async #rescheduleSplits({ id }: NamespaceRecord, signal: AbortSignal | undefined): Promise<void> {
    const { catalog, clock, margins } = this.#options;
    const at = lineSettledAt(clock.nowMicros(), margins);
    try {
      await rescheduleSplits(catalog, clock, id, at, signal);
    } catch (error) {
      signal?.throwIfAborted();
      // The limit is in force all the same, and each split has a time of its own.
      if (!(error instanceof ServiceError)) throw error;
    }
  }

  /** Deletes it with all its events. Repeating it after a failure goes on where that stopped. */
  async delete(name: string, signal?: AbortSignal): Promise<void> {
    const { catalog, ownership, changed } = this.#options;
    // In a turn, so that nobody here is making slices when it is marked. Who is elsewhere finds out,
    // and takes back what it has made.
    const marked = await ownership.take(name, () =>
      updateNamespace(catalog, name, (current) => {
        if (current.phase === "DELETING") return undefined;
        return { ...requireReady(current, name), phase: "DELETING" };
      }),
    );
    await changed(name);
    await this.#waitForViews(signal);
    const finished = await ownership.take(name, () =>
      ownership.own(marked.id, { waitMs: OWNER_WAIT_MS, signal }, async (isOwner) => {
        await finishDeletion(this.#options, marked, isOwner);
        return "finished";
      }),
    );
    if (finished === "busy") throw slicesBusy(name);
  }

  /** By start, also the dropped ones that are still remembered, and damaged ones, as if empty. */
  async listTimeSlices(name: string): Promise<readonly SliceListing[]> {
    const { catalog, clock } = this.#options;
    const record = await readReadyNamespace(catalog, name);
    const slices = await readSlices(catalog, record.id);
    const now = clock.nowMicros();
    const describe = async (slice: SliceRecord): Promise<SliceListing> => {
      const ref = { namespaceId: record.id, slice: slice.name };
      const dropped = slice.state === "DROPPED";
      const { bytes, events } = dropped ? NO_EVENTS : await this.#statsOf(ref);
      const { name: sliceName, start, end, timePartition } = slice;
      const status = statusOf(slice, record, now);
      return { name: sliceName, start, end, timePartition, status, bytes, events };
    };
    const listings: SliceListing[] = [];
    const never = new AbortController().signal;
    const described = mapBounded(slices, () => STATS_AT_ONCE, never, describe);
    for await (const listing of described) listings.push(listing);
    return listings;
  }

  blockIds(name: string, ids: readonly BlockRequest[]): Promise<readonly BlockedId[]> {
    return this.#blocked.block(name, ids);
  }

  unblockIds(name: string, seriesIds: readonly string[]): Promise<number> {
    return this.#blocked.unblock(name, seriesIds);
  }

  listBlockedIds(
    name: string,
    page: ControlPage,
  ): Promise<{ ids: readonly BlockedId[]; nextPageToken: string }> {
    return this.#blocked.list(name, page);
  }

  /** A damaged slice must not hide the others: whoever reads it is told. */
  async #statsOf(slice: SliceRef): Promise<SliceStats> {
    try {
      return await this.#options.store.sliceStats(slice);
    } catch (error) {
      if (error instanceof ServiceError && error.code === "DATA_LOSS") return NO_EVENTS;
      throw error;
    }
  }

  /** Sees to it that the name is free, also of what a crash has left under it. */
  async #makeWay(name: string): Promise<void> {
    const { catalog } = this.#options;
    const there = await readNamespace(catalog, name);
    if (there === undefined) return;
    if (there.phase === "READY") throw namespaceExists(name);
    // Where the catalog is shared another process may be at it; the keeper ends what nobody is at.
    if (catalog.shared) {
      const doing = there.phase === "CREATING" ? "created" : "deleted";
      throw new ServiceError("CONFLICT", `namespace "${name}" is being ${doing}; try again soon`, {
        details: { namespace: name },
        retryAfterMs: 1_000,
      });
    }
    const marked = await updateNamespace(catalog, name, (current) =>
      current.id === there.id ? { ...current, phase: "DELETING" } : undefined,
    );
    if (marked.id === there.id) await finishDeletion(this.#options, marked, () => true);
  }

  async #createNew(name: string, config: NamespaceConfig): Promise<Namespace> {
    const { catalog, ownership, clock, random, margins, changed } = this.#options;
    const now = clock.nowMicros();
    const floor = floorFor(config.acceptLimitMicros, now, margins.clockSkew.micros);
    const creating = await writeNamespace(catalog, {
      name,
      id: `${name}-${Buffer.from(random.bytes(8)).toString("hex")}`,
      config,
      epoch: 0,
      floor,
      createdAt: now,
      version: 0,
      phase: "CREATING",
      reopening: null,
      slicesChange: 1,
      changing: null,
      blockedChange: 0,
      blockedChanging: [],
      blockedCount: 0,
      readMode: { ...FIRST_READ_MODE, since: now },
      splitsPaused: null,
      everEventual: config.consistency === "EVENTUAL",
      idStrategyChange: 0,
      idStrategyChanging: [],
      idStrategyCount: 0,
    });
    if (creating === undefined) throw namespaceExists(name);
    const window = sliceWindow(config, floor, now, margins.clockSkew.micros);
    let planned: readonly TimeSlice[] = [];
    let ready: NamespaceRecord | "busy" | undefined;
    try {
      planned = planSlices([], window, config.timePartition);
      // Nobody else wants to own it, but for the keeper, which thereby tells a slow creation from a
      // dead one.
      ready = await ownership.own(creating.id, { waitMs: OWNER_WAIT_MS }, async (isOwner) => {
        await makeFirstSlices(this.#options, creating, planned, isOwner);
        return writeNamespace(catalog, { ...creating, phase: "READY" });
      });
    } catch (error) {
      await this.#abandon(creating, planned);
      throw error;
    }
    if (ready === undefined || ready === "busy") {
      await this.#abandon(creating, planned);
      throw namespaceConflict(name);
    }
    await changed(name);
    return ready;
  }

  /** Takes back a creation that failed. If that fails too, the keeper does it. */
  async #abandon(creating: NamespaceRecord, planned: readonly TimeSlice[]): Promise<void> {
    const { catalog, store } = this.#options;
    const namespaceId = creating.id;
    try {
      await writeNamespace(catalog, { ...creating, phase: "DELETING" });
      const there = await readNamespace(catalog, creating.name);
      // The last write may have been done although it failed: then the namespace is there, and
      // stays. Else the keeper may have taken us for dead and removed all that is listed, and we have
      // made some since.
      if (there?.id === namespaceId && there.phase === "READY") return;
      await forEachBounded(planned, ({ name }) => dropTables(store, { namespaceId, slice: name }));
      await finishDeletion(this.#options, creating, () => true);
    } catch {
      // The caller is told of the first failure, which is the one that matters.
    }
  }

  /**
   * One round: slices that are changing or have to be made come first, then all is decided anew. What
   * is written is always decided on what was read, at its version.
   */
  async #changeConfig(
    name: string,
    patch: NamespaceConfigPatch,
    reset: readonly string[],
    signal: AbortSignal | undefined,
  ): Promise<Attempt<NamespaceRecord>> {
    const { catalog, clock, margins } = this.#options;
    const before = await readReadyNamespace(catalog, name);
    // A limit that is on its way counts as the present one: what is not given is to stay.
    const present = { ...before.config, acceptLimitMicros: widestAcceptMicros(before) };
    const merged = mergeConfig(present, patch, reset);
    const { config } = merged;
    const problems = [...merged.problems, ...configProblems(config, margins)];
    const slices = await readSlices(catalog, before.id);
    problems.push(...widthProblems(slices, config));
    if (problems.length > 0) throw invalid("CONFIG_INVALID", problems);
    if (before.reopening === null && sameSlices(before.config, config)) {
      return written(await writeNamespace(catalog, configured(before, config)));
    }
    if (before.changing !== null) return this.#changeSlices(before, {}, signal);

    const acceptLimitMicros = config.acceptLimitMicros;
    const skew = margins.clockSkew.micros;
    const clockNow = clock.nowMicros();
    const now = plausibleNow(before.floor, widestAcceptMicros(before), clockNow, skew);
    const opens = acceptLimitMicros > before.config.acceptLimitMicros;
    const lowerBy = (time: number): number => floorFor(acceptLimitMicros, time, skew);
    const lower = lowerBy(now);
    // Dropped time never comes back, whatever the limit says.
    const floor = opens ? Math.max(lower, writableFrom(slices)) : before.floor;
    const window = sliceWindow(config, Math.min(floor, before.floor), now, skew);
    const make = planSlices(slices, window, config.timePartition);
    if (make.length > 0) return this.#changeSlices(keepingLonger(before, config), { make }, signal);
    if (!opens) {
      // A re-opening that is given up has begun an epoch all the same, and the splits belong to it.
      if (before.reopening !== null) await invalidateSplits(catalog, clock, before, signal);
      // As far as the lower limit seals by the time the line was last raised at: nobody has to wait for
      // the keeper to believe a leap. A clock that is behind is believed.
      const sealed = before.floor + widestAcceptMicros(before) - acceptLimitMicros;
      const raised = Math.max(before.floor, Math.min(sealed, lowerBy(clockNow)));
      const settled = { ...configured(before, config), floor: raised, reopening: null };
      return written(await writeNamespace(catalog, settled));
    }
    const inForce = { ...config, acceptLimitMicros: before.config.acceptLimitMicros };
    const reopening = beginReopening(configured(before, inForce), acceptLimitMicros, floor);
    return written(await writeNamespace(catalog, reopening));
  }

  /**
   * Opens what a longer retention brings back, so that it can be read, and written if the limit
   * allows it, at once.
   */
  async #openClosed(name: string, signal: AbortSignal | undefined): Promise<void> {
    const { ownership, changed } = this.#options;
    await this.#untilDone(name, () =>
      ownership.take(name, () => this.#openSomeClosed(name, signal)),
    );
    await changed(name);
  }

  async #openSomeClosed(name: string, signal: AbortSignal | undefined): Promise<Attempt<true>> {
    const { catalog, clock } = this.#options;
    const record = await readReadyNamespace(catalog, name);
    const closedBefore = clock.nowMicros() - record.config.retention.closeAfterMicros;
    const slices = await readSlices(catalog, record.id);
    const due = slices.filter(({ state, end }) => state === "CLOSED" && end > closedBefore);
    if (due.length === 0) return { done: true };
    return this.#changeSlices(record, { open: due.map((slice) => slice.name) }, signal);
  }

  /** What was decided before, or else this, is carried out. */
  async #changeSlices(
    record: NamespaceRecord,
    due: Partial<SliceChange>,
    signal: AbortSignal | undefined,
  ): Promise<"progress" | "overtaken"> {
    const wait = { waitMs: OWNER_WAIT_MS, signal };
    const moved =
      record.changing === null
        ? await changeSlices(this.#options, record, due, wait)
        : await finishChange(this.#options, record, wait);
    if (moved === "busy") throw slicesBusy(record.name);
    return moved === "overtaken" ? moved : "progress";
  }

  /** One round after another, until it is done or has lost too often. */
  async #untilDone<T>(name: string, next: () => Promise<Attempt<T>>): Promise<T> {
    let lost = 0;
    for (let round = 0; round < UPDATE_ROUNDS_MAX && lost < UPDATE_ATTEMPTS_MAX; round++) {
      const outcome = await next();
      if (typeof outcome === "object") return outcome.done;
      lost = outcome === "overtaken" ? lost + 1 : 0;
    }
    throw namespaceConflict(name);
  }

  /** Until no other process can hold a view from before. */
  async #waitForViews(signal: AbortSignal | undefined): Promise<void> {
    const { catalog, clock, margins } = this.#options;
    if (!catalog.shared) return;
    await clock.sleep(margins.viewMaxAge.ms, signal);
    signal?.throwIfAborted();
  }
}

const NO_EVENTS: SliceStats = { bytes: 0, events: 0 };

/** "overtaken": someone else changed the namespace meanwhile, and nothing was done. */
type Attempt<T> = { readonly done: T } | "progress" | "overtaken";

function written(record: NamespaceRecord | undefined): Attempt<NamespaceRecord> {
  return record === undefined ? "overtaken" : { done: record };
}

/** Whether a change of configuration has nothing to do with slices, and need not wait for them. */
function sameSlices(before: NamespaceConfig, after: NamespaceConfig): boolean {
  return isDeepStrictEqual(slicesConfig(before), slicesConfig(after));
}

function slicesConfig({
  timePartition,
  acceptLimitMicros,
  futureLimitMicros,
  retention,
}: NamespaceConfig): unknown {
  return { timePartition, acceptLimitMicros, futureLimitMicros, retention };
}

/**
 * A longer retention comes before the slices: the keeper of another process would close and drop
 * those that the present one does not know.
 */
function keepingLonger(before: NamespaceRecord, config: NamespaceConfig): NamespaceRecord {
  const { closeAfterMicros, deleteAfterMicros } = before.config.retention;
  const retention = {
    closeAfterMicros: Math.max(closeAfterMicros, config.retention.closeAfterMicros),
    deleteAfterMicros: Math.max(deleteAfterMicros, config.retention.deleteAfterMicros),
  };
  return { ...before, config: { ...before.config, retention } };
}

/**
 * A new width begins where slices of both widths do; if that is years away, the change would do
 * nothing.
 */
function widthProblems(slices: readonly TimeSlice[], config: NamespaceConfig): string[] {
  const last = slices.at(-1);
  if (last === undefined) return [];
  if (commonWidthSeconds(last.timePartition, config.timePartition) <= YEAR_SECONDS) return [];
  return [
    `timePartition.secondsPerTimeSlice (${config.timePartition.secondsPerTimeSlice}) has no boundary in common with the ` +
      `slices there are (${last.timePartition.secondsPerTimeSlice}) within a year; choose a multiple or a divisor of that`,
  ];
}

function invalid(
  code: "REQUEST_INVALID" | "CONFIG_INVALID",
  problems: readonly string[],
): ServiceError {
  return new ServiceError(code, problems.join("; "), { details: { problems } });
}

function namespaceExists(name: string): ServiceError {
  return new ServiceError(
    "NAMESPACE_EXISTS",
    `there is a namespace "${name}" already; choose another name, or update or delete that one`,
    { details: { namespace: name } },
  );
}

function tokenOf(namespaces: readonly Namespace[]): string {
  return pageTokenAfter(namespaces.at(-1)?.name ?? "");
}
