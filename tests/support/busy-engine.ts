/**
 * An engine under a virtual clock: code that advances the clock first waits until no call of the
 * engine is under way, so that real storage takes no virtual time.
 */
import type { Catalog } from "../../src/ports/catalog.ts";
import type { EventStore } from "../../src/ports/event-store.ts";
import { settle } from "./virtual-clock.ts";

export interface Engine {
  readonly catalog: Catalog;
  readonly store: EventStore;
  close(): Promise<void>;
}

/** Checks in a row without a call under way: code that a call has resumed may make another. */
const QUIET_LOOKS = 3;

/** Around every call, and around every run or fetch of a scan. */
export type Around = <T>(call: () => Promise<T>) => Promise<T>;

export class BusyEngine implements Engine {
  readonly catalog: Catalog;
  readonly store: EventStore;
  readonly close: () => Promise<void>;
  #calls = 0;
  #ended = Promise.withResolvers<void>();

  constructor(engine: Engine) {
    const around: Around = (call) => this.#count(call);
    // Several processes share it here, whatever engine it is.
    this.catalog = { ...catalogAround(engine.catalog, around), shared: true };
    this.store = storeAround(engine.store, around);
    this.close = () => engine.close();
  }

  /** Resolves when everything waits for time, or for the test. */
  async quiet(): Promise<void> {
    for (let looks = 0; looks < QUIET_LOOKS; looks++) {
      await settle();
      if (this.#calls === 0) continue;
      looks = -1;
      await this.#ended.promise;
    }
  }

  async #count<T>(call: () => Promise<T>): Promise<T> {
    this.#calls++;
    try {
      return await call();
    } finally {
      this.#calls--;
      this.#ended.resolve();
      this.#ended = Promise.withResolvers();
    }
  }
}

export function catalogAround(catalog: Catalog, around: Around): Catalog {
  return {
    shared: catalog.shared,
    read: (...call) => around(() => catalog.read(...call)),
    list: (...call) => around(() => catalog.list(...call)),
    versions: (...call) => around(() => catalog.versions(...call)),
    write: (...call) => around(() => catalog.write(...call)),
    remove: (...call) => around(() => catalog.remove(...call)),
  };
}

export function storeAround(store: EventStore, around: Around): EventStore {
  return {
    createSlice: (...call) => around(() => store.createSlice(...call)),
    dropSlice: (...call) => around(() => store.dropSlice(...call)),
    dropNamespace: (...call) => around(() => store.dropNamespace(...call)),
    append: (...call) => around(() => store.append(...call)),
    scan: (...call) => scanAround(() => store.scan(...call), around),
    appendBlocks: (...call) => around(() => store.appendBlocks(...call)),
    scanBlocks: (...call) => scanAround(() => store.scanBlocks(...call), around),
    walkPartitions: (...call) => around(() => store.walkPartitions(...call)),
    sliceStats: (...call) => around(() => store.sliceStats(...call)),
    isEmpty: (...call) => around(() => store.isEmpty(...call)),
    close: () => store.close(),
  };
}

async function* scanAround<T>(
  scan: () => AsyncIterable<T>,
  around: Around,
): AsyncGenerator<T, void, undefined> {
  const items = scan()[Symbol.asyncIterator]();
  try {
    for (;;) {
      const item = await around(() => items.next());
      if (item.done === true) return;
      yield item.value;
    }
  } finally {
    await items.return?.();
  }
}
