/**
 * A process's connection to the catalog and the store, with its faults: answers that come late or
 * never, calls that fail before or after they take effect, and the end of the process.
 */
import { ServiceError } from "../../src/lib/errors.ts";
import type { Catalog } from "../../src/ports/catalog.ts";
import type { EventStore } from "../../src/ports/event-store.ts";
import type { PausableMachine } from "../support/pausable-machine.ts";
import type { SeededRandom } from "./seeded-random.ts";

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
}

export const CALM: Chaos = {
  delayed: 0,
  delayMsMax: 0,
  asleep: 0,
  asleepMsMax: 0,
  failed: 0,
  lost: 0,
};

export class FaultyWay {
  readonly #machine: PausableMachine;
  readonly #random: SeededRandom;
  #chaos: Chaos;
  #dead = false;

  constructor(machine: PausableMachine, random: SeededRandom, chaos: Chaos) {
    this.#machine = machine;
    this.#random = random;
    this.#chaos = chaos;
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
    await this.#pass();
    if (this.#random.chance(this.#chaos.failed)) throw unavailable("before");
    const answer = await work();
    await this.#pass();
    if (this.#random.chance(this.#chaos.lost)) throw unavailable("after");
    return answer;
  }

  async *scan<T>(work: () => AsyncIterable<T>): AsyncGenerator<T, void, undefined> {
    await this.#pass();
    for await (const item of work()) {
      await this.#pass();
      if (this.#random.chance(this.#chaos.failed)) throw unavailable("in the middle");
      yield item;
    }
  }

  async #pass(): Promise<void> {
    if (this.#dead) await new Promise(() => undefined);
    const { delayed, delayMsMax, asleep, asleepMsMax } = this.#chaos;
    const random = this.#random;
    if (random.chance(asleep)) await this.#machine.sleep(random.below(asleepMsMax));
    else if (random.chance(delayed)) await this.#machine.sleep(random.below(delayMsMax));
    await this.#machine.gate();
    if (this.#dead) await new Promise(() => undefined);
  }
}

function unavailable(when: string): ServiceError {
  return new ServiceError("STORAGE_UNAVAILABLE", `the call failed ${when}`);
}

export function faultyCatalog(catalog: Catalog, way: FaultyWay): Catalog {
  return {
    shared: catalog.shared,
    read: (...args) => way.call(() => catalog.read(...args)),
    list: (...args) => way.call(() => catalog.list(...args)),
    versions: (...args) => way.call(() => catalog.versions(...args)),
    write: (...args) => way.call(() => catalog.write(...args)),
    remove: (...args) => way.call(() => catalog.remove(...args)),
  };
}

export function faultyStore(store: EventStore, way: FaultyWay): EventStore {
  return {
    createSlice: (...args) => way.call(() => store.createSlice(...args)),
    dropSlice: (...args) => way.call(() => store.dropSlice(...args)),
    dropNamespace: (...args) => way.call(() => store.dropNamespace(...args)),
    append: (...args) => unknownIfLost(way.call(() => store.append(...args))),
    appendBlocks: (...args) => unknownIfLost(way.call(() => store.appendBlocks(...args))),
    scan: (...args) => way.scan(() => store.scan(...args)),
    scanBlocks: (...args) => way.scan(() => store.scanBlocks(...args)),
    walkPartitions: (...args) => way.call(() => store.walkPartitions(...args)),
    sliceStats: (...args) => way.call(() => store.sliceStats(...args)),
    isEmpty: (...args) => way.call(() => store.isEmpty(...args)),
    close: () => store.close(),
  };
}

/** The port requires OUTCOME_UNKNOWN when something may have been stored. */
async function unknownIfLost(append: Promise<void>): Promise<void> {
  try {
    await append;
  } catch (error) {
    const lost = error instanceof ServiceError && error.message.endsWith("after");
    if (!lost) throw error;
    throw new ServiceError("OUTCOME_UNKNOWN", error.message, { cause: error });
  }
}
