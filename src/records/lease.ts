/**
 * Who does a piece of work where several processes share a catalog: one at a time, and another when
 * that one dies (rule C16).
 *
 * A lease is a record in the catalog with a fence, raised by each who takes it, and a counter, raised
 * by its holder every third of the lease's time. A contender takes it over when neither has changed
 * for one lease time on its own monotonic clock; clocks of two machines are never compared. The holder
 * regards the lease as its own only until two thirds of the time after the last renewal it *asked* for, so
 * that two never believe that they hold it at once, however long one of them or a message sleeps.
 *
 * What must not happen twice may still not rest on it: a process can stop between looking at `held`
 * and acting. It saves work and quarrels; compare-and-set keeps things right.
 */
import { z } from "zod";
import type { Clock } from "../lib/clock.ts";
import { OwnerLiveness } from "../lib/owner-liveness.ts";
import type { Catalog } from "../ports/catalog.ts";
import { decodeStored, encodeStored, storedObject } from "./stored-json.ts";

export interface LeasesOptions {
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly leaseMs?: number;
}

const SPACE = "leases";
const LEASE_MS = 10_000;

/** The leases one process wants. */
export class Leases {
  readonly #options: Required<LeasesOptions>;
  /** Of those that others hold. */
  readonly #holders: OwnerLiveness;

  constructor(options: LeasesOptions) {
    this.#options = { ...options, leaseMs: options.leaseMs ?? LEASE_MS };
    this.#holders = new OwnerLiveness(options.clock, this.#options.leaseMs);
  }

  /** One try. Undefined if someone else has it; who tries again later takes it over if he is dead. */
  async tryTake(name: string): Promise<Lease | undefined> {
    const { catalog, clock } = this.#options;
    const stored = await catalog.read(SPACE, name);
    const found = stored === undefined ? FREE : decodeStored(leaseSchema, SPACE, stored);
    // That the holder does not renew it before we write is for compare-and-set to say.
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

/** A lease that was taken. It is renewed until it is released or lost. */
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
   * Whether nobody else can have it now. May come back as long as it is not lost: the catalog was
   * away, and nobody has taken the lease over.
   */
  get held(): boolean {
    const { clock, leaseMs } = this.#options;
    return !this.#lost && clock.monotonicMs() < this.#askedAtMs + (leaseMs * 2) / 3;
  }

  /** Someone else has it, or had it: this one is over. */
  get lost(): boolean {
    return this.#lost;
  }

  /** Lets the next one have it at once. Never rejects: if the catalog fails it runs out by itself. */
  async release(): Promise<void> {
    this.#stop.abort();
    await this.#renewing;
    if (this.#lost) return;
    this.#lost = true;
    try {
      await this.#write({ fence: this.fence, counter: this.#counter + 1, held: false });
    } catch {
      // Nobody renews it any more, so whoever wants it gets it a lease's time later.
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
        // The catalog is away. `held` ends by itself; until someone takes it over we go on asking.
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
    // Only we write this fence: an earlier renewal was done although it seemed to have failed.
    this.#counter = found.counter;
    this.#version = stored.version;
  }

  #write(lease: StoredLease): Promise<number | undefined> {
    return this.#options.catalog.write(SPACE, this.#name, encodeStored(lease), this.#version);
  }
}

/** For one that will never be wanted again. Whoever still has it finds it lost. */
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
