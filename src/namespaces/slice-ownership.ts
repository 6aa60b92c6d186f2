/**
 * Serializes changes to the slices of a namespace: one at a time in this process and, where the
 * catalog is shared, one process at a time.
 *
 * A caller that decides on slices reads the namespace and its slices, and then makes, moves or
 * drops some. `take` runs the callers of one process one after another, so that they do not compete
 * over compare-and-set. `own` is for the part that makes and drops tables: only the owner of a
 * lease does so (rule C18). Correctness depends on neither; it depends on the decision in the
 * namespace's record.
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

/** A use case waits this long: longer than it takes to detect that the other process is dead. */
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

  /** Runs `work` when all earlier work of this process on the namespace's slices has ended. */
  take<T>(namespace: string, work: () => Promise<T>): Promise<T> {
    return this.#mutex.run(namespace, work);
  }

  /**
   * Runs `work` as the owner of a namespace's tables, holding the namespace's mutex. Returns
   * "busy", and does nothing, if another process owns them and does not release them in time.
   * Before each table `work` checks whether it is still the owner; once the signal is aborted it is
   * not.
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

/** For a namespace that is removed: no process will own it again. */
export function removeOwnership(catalog: Catalog, namespaceId: string): Promise<void> {
  return removeLease(catalog, leaseOf(namespaceId));
}

function leaseOf(namespaceId: string): string {
  return `slices/${namespaceId}`;
}
