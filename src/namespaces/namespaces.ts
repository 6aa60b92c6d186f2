/**
 * The use cases on namespaces, as the API calls them; each longer one has a file of its own.
 *
 * Every change uses compare-and-set and is a sequence of steps that can stop at any point: the
 * slice reconciler finishes what a crash leaves half done. When a method resolves, its change is in
 * force in this process, and everywhere within `view_max_age`.
 */
import { assert, ServiceError } from "../lib/errors.ts";
import type { Problems } from "../lib/problems.ts";
import type { NamespaceConfigPatch } from "../model/merge-config.ts";
import type { BlockedId, Namespace } from "../model/namespace.ts";
import type { ProvisionedPlan } from "../model/partition-plan.ts";
import { listNamespaces, readReadyNamespace } from "../records/namespace-records.ts";
import { BlockedIds, checkBlocks, checkUnblocks } from "./blocked-ids.ts";
import type { BlockRequest } from "./blocked-ids.ts";
import { pageAfter, pageSizeOf, pageTokenAfter } from "./control-pages.ts";
import type { ControlPage } from "./control-pages.ts";
import { checkCreation, createNamespace } from "./create-namespace.ts";
import { deleteNamespace, purgeNamespace } from "./delete-namespace.ts";
import type { DeletionRequest } from "./delete-namespace.ts";
import { listDeletedNamespaces, onlyDeleted } from "./deleted-namespaces.ts";
import type { DeletedNamespace, DeletedPage, DeletedRef } from "./deleted-namespaces.ts";
import { listTimeSlices } from "./list-time-slices.ts";
import type { SliceListing } from "./list-time-slices.ts";
import type { NamespaceContext } from "./namespace-context.ts";
import { undeleteNamespace } from "./undelete-namespace.ts";
import { purgeSlice, undropSlice } from "./undrop-slice.ts";
import { checkUpdate, updateConfig } from "./update-config.ts";

export interface NamespacesOptions extends NamespaceContext {
  readonly configuredBlocks?: ReadonlyMap<string, readonly BlockedId[]>;
  /** Default BLOCKED_IDS_MAX. */
  readonly blockedIdsMax?: number;
}

export class Namespaces {
  readonly #context: NamespaceContext;
  readonly #blocked: BlockedIds;
  /** Names this process is creating. */
  readonly #creating = new Set<string>();

  constructor(options: NamespacesOptions) {
    this.#context = options;
    this.#blocked = new BlockedIds({
      catalog: options.catalog,
      clock: options.clock,
      configuredBlocks: options.configuredBlocks ?? new Map(),
      changed: options.changed,
      ...(options.blockedIdsMax === undefined ? {} : { idsMax: options.blockedIdsMax }),
    });
  }

  /** `provisioned`: the plan that the patch comes from, to be kept with the namespace. */
  create(
    name: string,
    patch: NamespaceConfigPatch,
    provisioned?: ProvisionedPlan,
  ): Promise<Namespace> {
    const context = { ...this.#context, creating: this.#creating };
    return createNamespace(context, name, patch, provisioned);
  }

  /** Adds the problems for which `create` would refuse. */
  checkCreation(name: string, patch: NamespaceConfigPatch, problems: Problems): void {
    checkCreation(name, patch, this.#context.margins, problems);
  }

  get(name: string): Promise<Namespace> {
    return readReadyNamespace(this.#context.catalog, name);
  }

  /** In the order of their names. */
  async list(
    page: ControlPage,
  ): Promise<{ namespaces: readonly Namespace[]; nextPageToken: string }> {
    const size = pageSizeOf(page);
    const namespaces: Namespace[] = [];
    for (let after = pageAfter(page); ;) {
      const found = await listNamespaces(this.#context.catalog, after, size + 1);
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

  update(
    name: string,
    patch: NamespaceConfigPatch,
    reset: readonly string[],
    signal?: AbortSignal,
  ): Promise<Namespace> {
    return updateConfig(this.#context, name, { patch, reset }, signal);
  }

  /** Adds the problems for which `update` would refuse now. */
  checkUpdate(
    name: string,
    patch: NamespaceConfigPatch,
    reset: readonly string[],
    problems: Problems,
  ): Promise<void> {
    return checkUpdate(this.#context, name, { patch, reset }, problems);
  }

  /**
   * By name only one that is not deleted, also with `purge`. `id`: only a deleted one, to purge it.
   */
  async delete(
    ref: string | { readonly id: string },
    request: Partial<DeletionRequest> = {},
    signal?: AbortSignal,
  ): Promise<DeletedNamespace> {
    const { by = "", reason = "", purge = false } = request;
    if (typeof ref !== "string") return purgeNamespace(this.#context, ref.id, signal);
    try {
      return await deleteNamespace(this.#context, ref, { by, reason, purge }, signal);
    } catch (error) {
      if (!purge || !isNotFound(error)) throw error;
      throw (await onlyDeleted(this.#context.catalog, ref)) ?? error;
    }
  }

  /** Restores a deleted namespace, under another name if `asName` is not "". */
  undelete(ref: DeletedRef, asName: string, signal?: AbortSignal): Promise<Namespace> {
    return undeleteNamespace(this.#context, ref, asName, signal);
  }

  /** In the order of their ids. */
  listDeleted(page: ControlPage): Promise<DeletedPage> {
    return listDeletedNamespaces(this.#context, page);
  }

  listTimeSlices(name: string): Promise<readonly SliceListing[]> {
    return listTimeSlices(this.#context, name);
  }

  /** Restores a slice that is DROPPING, and returns its new listing. */
  async undropTimeSlice(
    name: string,
    timeSlice: string,
    signal?: AbortSignal,
  ): Promise<SliceListing> {
    await undropSlice(this.#context, name, timeSlice, signal);
    return this.#listed(name, timeSlice);
  }

  /** Drops a slice that is DROPPING now, and returns its new listing. */
  async purgeTimeSlice(
    name: string,
    timeSlice: string,
    signal?: AbortSignal,
  ): Promise<SliceListing> {
    await purgeSlice(this.#context, name, timeSlice, signal);
    return this.#listed(name, timeSlice);
  }

  async #listed(name: string, timeSlice: string): Promise<SliceListing> {
    const slices = await this.listTimeSlices(name);
    const found = slices.find((slice) => slice.name === timeSlice);
    assert(found !== undefined, "a slice that was moved is listed");
    return found;
  }

  blockIds(name: string, ids: readonly BlockRequest[]): Promise<readonly BlockedId[]> {
    return this.#blocked.block(name, ids);
  }

  /** Adds the problems for which `blockIds` would refuse. */
  checkBlocks(ids: readonly BlockRequest[], problems: Problems): void {
    checkBlocks(ids, this.#context.clock.nowMicros(), problems);
  }

  unblockIds(name: string, seriesIds: readonly string[]): Promise<number> {
    return this.#blocked.unblock(name, seriesIds);
  }

  /** Adds the problems for which `unblockIds` would refuse. */
  checkUnblocks(seriesIds: readonly string[], problems: Problems): void {
    checkUnblocks(seriesIds, problems);
  }

  listBlockedIds(
    name: string,
    page: ControlPage,
  ): Promise<{ ids: readonly BlockedId[]; nextPageToken: string }> {
    return this.#blocked.list(name, page);
  }
}

function tokenOf(namespaces: readonly Namespace[]): string {
  return pageTokenAfter(namespaces.at(-1)?.name ?? "");
}

function isNotFound(error: unknown): boolean {
  return error instanceof ServiceError && error.code === "NAMESPACE_NOT_FOUND";
}
