/**
 * Processes that stop in the middle of their work and continue later, as with SIGSTOP and SIGCONT:
 * every call to the catalog or the store waits at the process's gate until it is let through, and
 * so does its answer.
 */
import type { Catalog } from "../../src/ports/catalog.ts";
import type { EventStore } from "../../src/ports/event-store.ts";

/** Awaited before each call and again before its answer. */
export type Gate = () => void | Promise<void>;

/** Lets the first `passes` calls and answers through; all later ones wait until `resume`. */
export class StopAfter {
  readonly #passes: number;
  readonly #resumed = Promise.withResolvers<void>();
  #count = 0;

  constructor(passes: number) {
    this.#passes = passes;
  }

  get stopped(): boolean {
    return this.#count > this.#passes;
  }

  readonly gate: Gate = () => {
    this.#count++;
    return this.stopped ? this.#resumed.promise : undefined;
  };

  resume(): void {
    this.#resumed.resolve();
  }
}

/** Lets calls and answers through one by one, in an order that the test chooses. */
export class OneByOne {
  readonly #waiting: (() => void)[] = [];

  get waiting(): number {
    return this.#waiting.length;
  }

  readonly gate: Gate = () => new Promise((resolve) => this.#waiting.push(resolve));

  /** Lets one of the waiting ones through: any number chooses one. */
  letThrough(choice: number): void {
    const [chosen] = this.#waiting.splice(choice % this.#waiting.length, 1);
    chosen?.();
  }
}

export function gatedCatalog(catalog: Catalog, gate: Gate): Catalog {
  return {
    shared: catalog.shared,
    read: (...call) => through(gate, () => catalog.read(...call)),
    list: (...call) => through(gate, () => catalog.list(...call)),
    versions: (...call) => through(gate, () => catalog.versions(...call)),
    write: (...call) => through(gate, () => catalog.write(...call)),
    remove: (...call) => through(gate, () => catalog.remove(...call)),
  };
}

/** For the control side: scans are not gated. */
export function gatedStore(store: EventStore, gate: Gate): EventStore {
  return {
    createSlice: (...call) => through(gate, () => store.createSlice(...call)),
    dropSlice: (...call) => through(gate, () => store.dropSlice(...call)),
    dropNamespace: (...call) => through(gate, () => store.dropNamespace(...call)),
    append: (...call) => through(gate, () => store.append(...call)),
    scan: (...call) => store.scan(...call),
    appendBlocks: (...call) => through(gate, () => store.appendBlocks(...call)),
    scanBlocks: (...call) => store.scanBlocks(...call),
    walkPartitions: (...call) => through(gate, () => store.walkPartitions(...call)),
    sliceStats: (...call) => through(gate, () => store.sliceStats(...call)),
    isEmpty: (...call) => through(gate, () => store.isEmpty(...call)),
    close: () => store.close(),
  };
}

async function through<T>(gate: Gate, call: () => Promise<T>): Promise<T> {
  await gate();
  const answer = await call();
  await gate();
  return answer;
}
