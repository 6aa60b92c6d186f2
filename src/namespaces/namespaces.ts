/**
 * The control side: namespaces are created, changed and deleted, their slices listed, their ids
 * blocked.
 *
 * Every change is compare-and-set and a row of steps that can stop anywhere: what a crash leaves
 * half done, the keeper of slices finishes. When a method resolves, its change is in force in this
 * process, and everywhere within L.
 */
import type { Clock } from "../lib/clock.ts";
import { ServiceError } from "../lib/errors.ts";
import { mapBounded } from "../lib/map-bounded.ts";
import type { Random } from "../lib/random.ts";
import {
  changingSlices,
  makeFirstSlices,
  makeSlices,
  openSlices,
} from "../metadata/change-slices.ts";
import type { Storage } from "../metadata/change-slices.ts";
import { finishDeletion } from "../metadata/finish-deletion.ts";
import {
  listNamespaces,
  namespaceConflict,
  readNamespace,
  readReadyNamespace,
  requireReady,
  updateNamespace,
  widestAcceptMicros,
  writeNamespace,
} from "../metadata/namespace-records.ts";
import type { NamespaceRecord } from "../metadata/namespace-records.ts";
import { beginReopening, finishReopening } from "../metadata/reopen.ts";
import { readSlices } from "../metadata/slice-records.ts";
import type { SliceRecord } from "../metadata/slice-records.ts";
import type { SliceTurns } from "../metadata/slice-turns.ts";
import { floorFor, sliceWindow } from "../metadata/slice-window.ts";
import { configProblems, namespaceNameProblem } from "../model/check-config.ts";
import type { ConfigMargins } from "../model/check-config.ts";
import { mergeConfig } from "../model/merge-config.ts";
import type { NamespaceConfigPatch } from "../model/merge-config.ts";
import type { BlockedId, Namespace } from "../model/namespace.ts";
import { DEFAULT_NAMESPACE_CONFIG } from "../model/namespace-config.ts";
import type { NamespaceConfig } from "../model/namespace-config.ts";
import type { SliceRef } from "../model/partition.ts";
import { commonWidthSeconds, planSlices, statusOf, writableFrom } from "../model/plan-slices.ts";
import type { SliceStatus } from "../model/plan-slices.ts";
import type { TimeSlice } from "../model/time-slice.ts";
import type { SliceStats } from "../ports/event-store.ts";
import { BlockedIds } from "./blocked-ids.ts";
import type { BlockRequest } from "./blocked-ids.ts";
import { pageAfter, pageSizeOf, pageTokenAfter } from "./control-pages.ts";
import type { ControlPage } from "./control-pages.ts";

export interface NamespacesOptions extends Storage {
  /** Shared with the keeper of slices. */
  readonly turns: SliceTurns;
  readonly clock: Clock;
  readonly random: Random;
  readonly margins: ConfigMargins;
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

const UPDATE_ATTEMPTS_MAX = 10;
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
      return await this.#options.turns.take(name, async () => {
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
    const { catalog, turns, changed } = this.#options;
    for (let attempt = 0; attempt < UPDATE_ATTEMPTS_MAX; attempt++) {
      const done = await turns.take(name, async () => {
        const before = await readReadyNamespace(catalog, name);
        const written = await this.#changeConfig(before, patch, reset);
        return written === undefined ? undefined : { before, written };
      });
      if (done === undefined) continue;
      const { before, written } = done;
      await changed(name);
      if (written.config.retention.closeAfterMicros > before.config.retention.closeAfterMicros) {
        await this.#openClosed(name);
      }
      if (written.reopening === null) return readReadyNamespace(catalog, name);
      // What relies on the old line is invalidated here, between the new epoch and the acceptance.
      await this.#waitForViews(signal);
      const finished = requireReady(await finishReopening(catalog, written), name);
      await changed(name);
      // Another change has begun an epoch of its own meanwhile, and its limit is not in force yet.
      if (finished.reopening !== null) throw namespaceConflict(name);
      return finished;
    }
    throw namespaceConflict(name);
  }

  /** Deletes it with all its events. Repeating it after a failure goes on where that stopped. */
  async delete(name: string, signal?: AbortSignal): Promise<void> {
    const { catalog, turns, changed } = this.#options;
    // In a turn, so that nobody is making slices when it is marked: nobody would remove them.
    const marked = await turns.take(name, () =>
      updateNamespace(catalog, name, (current) => {
        if (current.phase === "DELETING") return undefined;
        return { ...requireReady(current, name), phase: "DELETING" };
      }),
    );
    await changed(name);
    await this.#waitForViews(signal);
    await turns.take(name, () => finishDeletion(this.#options, marked));
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
    if (marked.id === there.id) await finishDeletion(this.#options, marked);
  }

  async #createNew(name: string, config: NamespaceConfig): Promise<Namespace> {
    const { catalog, clock, random, margins, changed } = this.#options;
    const now = clock.nowMicros();
    const floor = floorFor(config.acceptLimitMicros, now, margins.clockSkewMicros);
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
      slicesChanging: false,
      blockedChange: 0,
      blockedCount: 0,
    });
    if (creating === undefined) throw namespaceExists(name);
    const window = sliceWindow(config, floor, now, margins.clockSkewMicros);
    let ready: NamespaceRecord | undefined;
    try {
      const planned = planSlices([], window, config.timePartition);
      await makeFirstSlices(this.#options, creating.id, planned);
      ready = await writeNamespace(catalog, { ...creating, phase: "READY" });
    } catch (error) {
      await this.#abandon(creating);
      throw error;
    }
    if (ready === undefined) throw namespaceConflict(name);
    await changed(name);
    return ready;
  }

  /** Takes back a creation that failed. If that fails too, the keeper does it. */
  async #abandon(creating: NamespaceRecord): Promise<void> {
    const { catalog } = this.#options;
    try {
      // The last write may have been done although it failed: then the namespace is there, and
      // stays.
      const marked = await writeNamespace(catalog, { ...creating, phase: "DELETING" });
      if (marked !== undefined) await finishDeletion(this.#options, marked);
    } catch {
      // The caller is told of the first failure, which is the one that matters.
    }
  }

  /**
   * Undefined if it is to be decided anew: someone else changed the namespace meanwhile, or slices
   * had to be made first. What is written is always decided on `before`, at its version.
   */
  async #changeConfig(
    before: NamespaceRecord,
    patch: NamespaceConfigPatch,
    reset: readonly string[],
  ): Promise<NamespaceRecord | undefined> {
    const { catalog, clock, margins } = this.#options;
    // A limit that is on its way counts as the present one: what is not given is to stay.
    const present = { ...before.config, acceptLimitMicros: widestAcceptMicros(before) };
    const merged = mergeConfig(present, patch, reset);
    const { config } = merged;
    const problems = [...merged.problems, ...configProblems(config, margins)];
    const slices = await readSlices(catalog, before.id);
    problems.push(...widthProblems(slices, config));
    if (problems.length > 0) throw invalid("CONFIG_INVALID", problems);

    const now = clock.nowMicros();
    const acceptLimitMicros = config.acceptLimitMicros;
    const opens = acceptLimitMicros > before.config.acceptLimitMicros;
    const lower = floorFor(acceptLimitMicros, now, margins.clockSkewMicros);
    // Dropped time never comes back, whatever the limit says.
    const floor = opens ? Math.max(lower, writableFrom(slices)) : before.floor;
    const window = sliceWindow(config, Math.min(floor, before.floor), now, margins.clockSkewMicros);
    const planned = planSlices(slices, window, config.timePartition);
    if (planned.length > 0) {
      await changingSlices(catalog, before, () => makeSlices(this.#options, before.id, planned));
      return undefined;
    }
    if (!opens) return writeNamespace(catalog, { ...before, config, reopening: null });
    const inForce = { ...config, acceptLimitMicros: before.config.acceptLimitMicros };
    return writeNamespace(
      catalog,
      beginReopening({ ...before, config: inForce }, acceptLimitMicros, floor),
    );
  }

  /**
   * Opens what a longer retention brings back, so that it can be read, and written if the limit
   * allows it, at once.
   */
  async #openClosed(name: string): Promise<void> {
    const { turns, changed } = this.#options;
    for (let attempt = 0; attempt < UPDATE_ATTEMPTS_MAX; attempt++) {
      const outcome = await turns.take(name, () => this.#openClosedOnce(name));
      if (outcome === "opened") return changed(name);
      if (outcome === "none closed") return;
    }
    throw namespaceConflict(name);
  }

  async #openClosedOnce(name: string): Promise<"opened" | "none closed" | "overtaken"> {
    const { catalog, clock } = this.#options;
    const record = await readReadyNamespace(catalog, name);
    const closedBefore = clock.nowMicros() - record.config.retention.closeAfterMicros;
    const slices = await readSlices(catalog, record.id);
    const due = slices.filter(({ state, end }) => state === "CLOSED" && end > closedBefore);
    if (due.length === 0) return "none closed";
    const opened = await changingSlices(catalog, record, async () => {
      await openSlices(this.#options, record.id, due);
    });
    return opened === undefined ? "overtaken" : "opened";
  }

  /** Until no other process can hold a view from before. */
  async #waitForViews(signal: AbortSignal | undefined): Promise<void> {
    const { catalog, clock, margins } = this.#options;
    if (!catalog.shared) return;
    await clock.sleep(margins.viewMaxAgeMicros / 1000, signal);
    signal?.throwIfAborted();
  }
}

const NO_EVENTS: SliceStats = { bytes: 0, events: 0 };

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
