/**
 * Elects the process that does some work where several share a catalog: one at a time, and another
 * when it dies (rule C16).
 *
 * A lease is a record in the catalog with a fence, which each new holder raises, and a counter,
 * which the holder raises every third of the lease time. A contender takes it over when neither has
 * changed for one lease time on its own monotonic clock; clocks of two machines are never compared.
 * The holder considers the lease its own only until two thirds of the lease time after it
 * *requested* the last renewal, so that no two processes believe at the same time that they hold
 * it, however long one of them or a message is delayed.
 *
 * Correctness must not depend on a lease: a process can pause between checking `held` and acting. A
 * lease saves work and conflicts; compare-and-set keeps the data right.
 */
import { z } from "zod";
import type { Clock } from "../lib/clock.ts";
import { LEASE_MS, OwnerLiveness } from "../lib/owner-liveness.ts";
import type { Catalog } from "../ports/catalog.ts";
import { decodeStored, encodeStored, storedObject } from "./stored-json.ts";

export interface LeasesOptions {
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly leaseMs?: number;
}

const SPACE = "leases";
/** Leases that one process waits for; it wants a handful. */
const WATCHED_MAX = 100;

/** The leases that one process wants. */
export class Leases {
  readonly #options: Required<LeasesOptions>;
  /** Liveness of the other processes that hold them. */
  readonly #holders: OwnerLiveness;

  constructor(options: LeasesOptions) {
    this.#options = { ...options, leaseMs: options.leaseMs ?? LEASE_MS };
    this.#holders = new OwnerLiveness(options.clock, this.#options.leaseMs, WATCHED_MAX);
  }

  /**
   * One attempt. Undefined if another process has it; a later attempt takes it over if that process
   * is dead.
   */
  async tryTake(name: string): Promise<Lease | undefined> {
    const { catalog, clock } = this.#options;
    const stored = await catalog.read(SPACE, name);
    const found = stored === undefined ? FREE : decodeStored(leaseSchema, SPACE, stored);
    // If the holder renews it before our write, compare-and-set fails.
    if (found.held && !this.#holders.isDead(name, found)) return undefined;
    const askedAtMs = clock.monotonicMs();
    const taken = { ...found, fence: found.fence + 1, counter: 0, held: true };
    const version = await catalog.write(SPACE, name, encodeStored(taken), stored?.version ?? 0);
    if (version === undefined) return undefined;
    return new Lease(this.#options, name, { ...taken, version, askedAtMs });
  }

  /** Tries for at most `waitMs`, or until the signal aborts; at least once. */
  async take(name: string, waitMs: number, signal?: AbortSignal): Promise<Lease | undefined> {
    const { clock, leaseMs } = this.#options;
    const untilMs = clock.monotonicMs() + waitMs;
    for (;;) {
      const lease = await this.tryTake(name);
      const leftMs = untilMs - clock.monotonicMs();
      if (lease !== undefined || leftMs <= 0 || signal?.aborted === true) return lease;
      await clock.sleep(Math.min(leftMs, leaseMs / 10), signal);
    }
  }
}

/** A lease that this process took. It is renewed until it is released or lost. */
export class Lease {
  readonly fence: number;
  readonly #options: Required<LeasesOptions>;
  readonly #name: string;
  readonly #stop = new AbortController();
  readonly #renewing: Promise<void>;
  #counter: number;
  #version: number;
  #askedAtMs: number;
  #lost = false;

  constructor(
    options: Required<LeasesOptions>,
    name: string,
    taken: {
      readonly fence: number;
      readonly counter: number;
      readonly version: number;
      readonly askedAtMs: number;
    },
  ) {
    this.#options = options;
    this.#name = name;
    this.fence = taken.fence;
    this.#counter = taken.counter;
    this.#version = taken.version;
    this.#askedAtMs = taken.askedAtMs;
    this.#renewing = this.#renewAgainAndAgain();
  }

  /**
   * Whether no other process can have it now. May become true again while the lease is not lost:
   * after an outage of the catalog in which no process took it over.
   */
  get held(): boolean {
    const { clock, leaseMs } = this.#options;
    return !this.#lost && clock.monotonicMs() < this.#askedAtMs + (leaseMs * 2) / 3;
  }

  /** Another process has it, or had it: this one has ended. */
  get lost(): boolean {
    return this.#lost;
  }

  /**
   * Lets the next process have it at once. Never rejects: if the catalog fails, the lease expires.
   */
  async release(): Promise<void> {
    this.#stop.abort();
    await this.#renewing;
    if (this.#lost) return;
    this.#lost = true;
    try {
      await this.#write({ fence: this.fence, counter: this.#counter + 1, held: false });
    } catch {
      // It is no longer renewed, so a contender gets it one lease time later.
    }
  }

  async #renewAgainAndAgain(): Promise<void> {
    const { clock, leaseMs } = this.#options;
    for (;;) {
      await clock.sleep(leaseMs / 3, this.#stop.signal);
      if (this.#stop.signal.aborted || this.#lost) return;
      try {
        await this.#renew();
      } catch {
        // The catalog is unavailable. `held` ends by itself; until a takeover we keep asking.
      }
    }
  }

  async #renew(): Promise<void> {
    const { catalog, clock } = this.#options;
    const askedAtMs = clock.monotonicMs();
    const counter = this.#counter + 1;
    const version = await this.#write({ fence: this.fence, counter, held: true });
    if (version !== undefined) {
      this.#counter = counter;
      this.#version = version;
      this.#askedAtMs = askedAtMs;
      return;
    }
    const stored = await catalog.read(SPACE, this.#name);
    const found = stored === undefined ? FREE : decodeStored(leaseSchema, SPACE, stored);
    if (stored === undefined || !found.held || found.fence !== this.fence) {
      this.#lost = true;
      return;
    }
    // Only this process writes this fence: an earlier renewal took effect although it seemed to
    // fail.
    this.#counter = found.counter;
    this.#version = stored.version;
  }

  #write(lease: StoredLease): Promise<number | undefined> {
    return this.#options.catalog.write(SPACE, this.#name, encodeStored(lease), this.#version);
  }
}

/** For a lease that will never be wanted again. A process that still has it finds it lost. */
export async function removeLease(catalog: Catalog, name: string): Promise<void> {
  const stored = await catalog.read(SPACE, name);
  if (stored !== undefined) await catalog.remove(SPACE, name, stored.version);
}

interface StoredLease {
  readonly fence: number;
  readonly counter: number;
  readonly held: boolean;
}

const FREE: StoredLease = { fence: 0, counter: 0, held: false };

const leaseSchema: z.ZodType<StoredLease> = storedObject({
  fence: z.number().int().nonnegative(),
  counter: z.number().int().nonnegative(),
  held: z.boolean(),
});
