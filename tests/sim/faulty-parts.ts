/**
 * A process's connection to the catalog and the store, with its faults: answers that come late or
 * never, calls that fail before or after they take effect, calls that take effect long after they
 * have failed, and the end of the process.
 */
import { ServiceError } from "../../src/lib/errors.ts";
import type { Catalog } from "../../src/ports/catalog.ts";
import type { EventStore } from "../../src/ports/event-store.ts";
import type { SeededRandom } from "./seeded-random.ts";
import type { SimMachine } from "./sim-machine.ts";

export interface Chaos {
  /** Chances for each call. */
  readonly delayed: number;
  readonly delayMsMax: number;
  /** Much longer than any lease, view or write may last. */
  readonly asleep: number;
  readonly asleepMsMax: number;
  readonly failed: number;
  /** The call took effect, and its answer is lost. */
  readonly lost: number;
  /** The outcome is unknown, and the call takes effect later, if it still can. */
  readonly surfaces: number;
  readonly surfacesMsMax: number;
}

export const CALM: Chaos = {
  delayed: 0,
  delayMsMax: 0,
  asleep: 0,
  asleepMsMax: 0,
  failed: 0,
  lost: 0,
  surfaces: 0,
  surfacesMsMax: 0,
};

/** What all connections share. */
export interface Network {
  /** Of the catalog: calls of this space fail, and no others. */
  deadSpace: string | undefined;
  /** Whether too few replicas are there for any change or read of the catalog. */
  catalogIsDown(): boolean;
  /** Runs later, whatever becomes of the process. */
  later(ms: number, run: () => Promise<unknown>): void;
  readonly count: (what: string) => void;
}

export class FaultyWay {
  readonly #machine: SimMachine;
  readonly #random: SeededRandom;
  readonly network: Network;
  #chaos: Chaos;
  #dead = false;
  /** Every call of the store waits this long: that keeps a worker busy. */
  storeDelayMs = 0;

  constructor(machine: SimMachine, random: SeededRandom, chaos: Chaos, network: Network) {
    this.#machine = machine;
    this.#random = random;
    this.#chaos = chaos;
    this.network = network;
  }

  set chaos(chaos: Chaos) {
    this.#chaos = chaos;
  }

  /** Its calls under way are never answered, and its later calls have no effect. */
  kill(): void {
    this.#dead = true;
  }

  get dead(): boolean {
    return this.#dead;
  }

  async call<T>(work: () => Promise<T>): Promise<T> {
    await this.#before();
    const answer = await work();
    await this.#behind("STORAGE_UNAVAILABLE");
    return answer;
  }

  /** Of the store. */
  async storeCall<T>(work: () => Promise<T>): Promise<T> {
    if (this.storeDelayMs > 0) await this.#machine.sleep(this.storeDelayMs);
    return this.call(work);
  }

  /** A change of which the port says whether it may have been made. */
  async change<T>(work: () => Promise<T>): Promise<T> {
    await this.#before();
    if (this.#random.chance(this.#chaos.surfaces)) {
      this.#count("call surfaces later");
      const ms = this.#random.below(this.#chaos.surfacesMsMax);
      this.network.later(ms, work);
      throw new ServiceError("OUTCOME_UNKNOWN", "nobody knows");
    }
    const answer = await work();
    await this.#behind("OUTCOME_UNKNOWN");
    return answer;
  }

  async *scan<T>(work: () => AsyncIterable<T>): AsyncGenerator<T, void, undefined> {
    if (this.storeDelayMs > 0) await this.#machine.sleep(this.storeDelayMs);
    await this.#pass();
    for await (const item of work()) {
      await this.#pass();
      this.#fail(this.#chaos.failed, "call fails");
      yield item;
    }
  }

  /** Of the catalog. */
  reach(space: string): void {
    if (this.network.deadSpace !== undefined && space.startsWith(this.network.deadSpace)) {
      throw new ServiceError("STORAGE_UNAVAILABLE", `nothing of ${space} can be reached`);
    }
    if (!this.network.catalogIsDown()) return;
    throw new ServiceError("STORAGE_UNAVAILABLE", "the catalog has no majority");
  }

  async #before(): Promise<void> {
    await this.#pass();
    this.#fail(this.#chaos.failed, "call fails");
  }

  async #behind(code: "STORAGE_UNAVAILABLE" | "OUTCOME_UNKNOWN"): Promise<void> {
    await this.#pass();
    this.#fail(this.#chaos.lost, "answer is lost", code);
  }

  #fail(
    chance: number,
    what: string,
    code: "STORAGE_UNAVAILABLE" | "OUTCOME_UNKNOWN" = "STORAGE_UNAVAILABLE",
  ): void {
    if (!this.#random.chance(chance)) return;
    this.#count(what);
    throw new ServiceError(code, what);
  }

  async #pass(): Promise<void> {
    if (this.#dead) await FOR_EVER;
    const { delayed, delayMsMax, asleep, asleepMsMax } = this.#chaos;
    const random = this.#random;
    if (random.chance(asleep)) {
      this.#count("call sleeps");
      await this.#machine.sleep(random.below(asleepMsMax));
    } else if (random.chance(delayed)) await this.#machine.sleep(random.below(delayMsMax));
    if (this.#machine.standstill !== undefined) await this.#machine.gate();
    if (this.#dead) await FOR_EVER;
  }

  #count(what: string): void {
    this.network.count(what);
  }
}

/** Never resolves. */
const FOR_EVER = new Promise<never>(() => undefined);

export function faultyCatalog(catalog: Catalog, way: FaultyWay): Catalog {
  const reached = <T>(space: string, work: () => Promise<T>): (() => Promise<T>) => {
    return async () => {
      way.reach(space);
      return work();
    };
  };
  return {
    shared: catalog.shared,
    read: (...args) => way.call(reached(args[0], () => catalog.read(...args))),
    list: (...args) => way.call(reached(args[0], () => catalog.list(...args))),
    versions: (...args) => way.call(reached(args[0], () => catalog.versions(...args))),
    write: (...args) => way.change(reached(args[0], () => catalog.write(...args))),
    remove: (...args) => way.change(reached(args[0], () => catalog.remove(...args))),
  };
}

export function faultyStore(store: EventStore, way: FaultyWay): EventStore {
  return {
    createSlice: (...args) => way.storeCall(() => store.createSlice(...args)),
    dropSlice: (...args) => way.storeCall(() => store.dropSlice(...args)),
    dropNamespace: (...args) => way.storeCall(() => store.dropNamespace(...args)),
    append: (...args) => way.change(() => store.append(...args)),
    appendBlocks: (...args) => way.change(() => store.appendBlocks(...args)),
    scan: (...args) => way.scan(() => store.scan(...args)),
    scanBlocks: (...args) => way.scan(() => store.scanBlocks(...args)),
    walkPartitions: (...args) => way.storeCall(() => store.walkPartitions(...args)),
    sliceStats: (...args) => way.storeCall(() => store.sliceStats(...args)),
    isEmpty: (...args) => way.storeCall(() => store.isEmpty(...args)),
    close: () => store.close(),
  };
}
