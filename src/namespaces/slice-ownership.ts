/**
 * Who changes the slices of a namespace: one at a time in this process and, where the catalog is
 * shared, one process at a time.
 *
 * A caller that decides on slices reads the namespace and its slices, and then makes, moves or
 * drops some. `take` runs those of one process one after another, so that they do not compete over
 * compare-and-set. `own` is for the part that makes and drops tables: one owner does so (rule C18),
 * by a lease. Neither is what keeps the slices right; that is the decision in the namespace's
 * record.
 */
import type { Clock } from "../lib/clock.ts";
import { KeyedMutex } from "../lib/keyed-mutex.ts";
import type { Catalog } from "../ports/catalog.ts";
import { Leases, removeLease } from "../records/lease.ts";

export interface SliceOwnershipOptions {
  readonly catalog: Catalog;
  readonly clock: Clock;
}

/** How long to wait for another process that is making or dropping slices of the namespace. */
export interface OwnerWait {
  readonly waitMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** A use case waits this long: longer than it takes to find out that the other process is dead. */
export const OWNER_WAIT_MS = 15_000;

export class SliceOwnership {
  readonly #shared: boolean;
  readonly #leases: Leases;
  readonly #mutex = new KeyedMutex();

  constructor(options: SliceOwnershipOptions) {
    this.#shared = options.catalog.shared;
    this.#leases = new Leases(options);
  }

  /** Whether work on this namespace's slices runs or waits in this process. */
  isTaken(namespace: string): boolean {
    return this.#mutex.isLocked(namespace);
  }

  /** Does `work` when all earlier work of this process on the namespace's slices has ended. */
  take<T>(namespace: string, work: () => Promise<T>): Promise<T> {
    return this.#mutex.run(namespace, work);
  }

  /**
   * Does `work` as the owner of a namespace's tables, within a turn. "busy", and nothing done, if
   * another process owns them and does not let go in time. `work` asks, before each table, whether
   * it still is the owner; once the signal is aborted it is not.
   */
  async own<T>(
    namespaceId: string,
    { waitMs, signal }: OwnerWait,
    work: (isOwner: () => boolean) => Promise<T>,
  ): Promise<T | "busy"> {
    const goesOn = (): boolean => signal?.aborted !== true;
    if (!this.#shared) return work(goesOn);
    const lease = await this.#leases.take(leaseOf(namespaceId), waitMs, signal);
    if (lease === undefined) return "busy";
    try {
      return await work(() => lease.held && goesOn());
    } finally {
      await lease.release();
    }
  }
}

/** Of a namespace that is gone: nobody will own it again. */
export function removeOwnership(catalog: Catalog, namespaceId: string): Promise<void> {
  return removeLease(catalog, leaseOf(namespaceId));
}

function leaseOf(namespaceId: string): string {
  return `slices/${namespaceId}`;
}
