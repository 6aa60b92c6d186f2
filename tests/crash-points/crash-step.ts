/**
 * The steps of one process: its calls to the catalog and the store, counted from the moment at which
 * it is armed. At one of them the process may end, or lose the answer.
 */
import { ServiceError } from "../../src/lib/errors.ts";
import type { Catalog } from "../../src/ports/catalog.ts";
import type { EventStore } from "../../src/ports/event-store.ts";

/**
 * Before: the process ends, and the call is not made. After: the call is made, then the process
 * ends. Lost: the call is made, and the process gets an error instead of its answer, and lives.
 */
export const SIDES = ["before", "after", "lost"] as const;
export type Side = (typeof SIDES)[number];

export interface CrashPoint {
  /** From 0. */
  readonly step: number;
  readonly side: Side;
}

export class ProcessSteps {
  readonly #point: CrashPoint | undefined;
  readonly #died = Promise.withResolvers<void>();
  readonly #stop = new AbortController();
  #armed = false;
  /** What each step was: "catalog.write splits/…". */
  readonly made: string[] = [];

  constructor(point?: CrashPoint) {
    this.#point = point;
  }

  /** From here on steps count. */
  arm(): void {
    this.#armed = true;
  }

  /** Ends the process: none of its calls has an effect or an answer any more. */
  kill(): void {
    this.#stop.abort();
    this.#died.resolve();
  }

  get dead(): boolean {
    return this.#stop.signal.aborted;
  }

  /** Whether the step came at which it was to end or to lose an answer. */
  get met(): boolean {
    return this.#point !== undefined && this.made.length > this.#point.step;
  }

  /** Aborts when the process ends. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  async take<T>(what: string, call: () => Promise<T>): Promise<T> {
    if (this.dead) return NEVER;
    const side = this.#count(what);
    if (side === "before") {
      this.kill();
      return NEVER;
    }
    const answer = await call();
    if (side === "after") this.kill();
    if (this.dead) return NEVER;
    if (side === "lost") throw lost(what);
    return answer;
  }

  #count(what: string): Side | undefined {
    if (!this.#armed) return undefined;
    this.made.push(what);
    return this.#point?.step === this.made.length - 1 ? this.#point.side : undefined;
  }
}

const NEVER = new Promise<never>(() => undefined);

function lost(what: string): ServiceError {
  // The port requires OUTCOME_UNKNOWN when something may have been stored.
  const code = what.startsWith("store.append") ? "OUTCOME_UNKNOWN" : "STORAGE_UNAVAILABLE";
  return new ServiceError(code, `the answer of ${what} was lost`);
}

export function catalogInSteps(catalog: Catalog, steps: ProcessSteps): Catalog {
  const at = (call: string, space: string, key: string): string =>
    `catalog.${call} ${space} ${key}`;
  return {
    shared: catalog.shared,
    read: (...args) => steps.take(at("read", args[0], args[1]), () => catalog.read(...args)),
    list: (...args) => steps.take(at("list", args[0], args[1]), () => catalog.list(...args)),
    versions: (...args) =>
      steps.take(at("versions", args[0], args[1]), () => catalog.versions(...args)),
    write: (...args) => steps.take(at("write", args[0], args[1]), () => catalog.write(...args)),
    remove: (...args) => steps.take(at("remove", args[0], args[1]), () => catalog.remove(...args)),
  };
}

export function storeInSteps(store: EventStore, steps: ProcessSteps): EventStore {
  const at = (call: string, { slice }: { slice: string }): string => `store.${call} ${slice}`;
  return {
    createSlice: (...args) =>
      steps.take(at("createSlice", args[0]), () => store.createSlice(...args)),
    dropSlice: (...args) => steps.take(at("dropSlice", args[0]), () => store.dropSlice(...args)),
    dropNamespace: (...args) =>
      steps.take(`store.dropNamespace ${args[0]}`, () => store.dropNamespace(...args)),
    append: (...args) => steps.take(at("append", args[0]), () => store.append(...args)),
    appendBlocks: (...args) =>
      steps.take(at("appendBlocks", args[0]), () => store.appendBlocks(...args)),
    scan: (...args) => scanInSteps(at("scan", args[0]), () => store.scan(...args), steps),
    scanBlocks: (...args) =>
      scanInSteps(at("scanBlocks", args[0]), () => store.scanBlocks(...args), steps),
    walkPartitions: (...args) =>
      steps.take(at("walkPartitions", args[0]), () => store.walkPartitions(...args)),
    sliceStats: (...args) => steps.take(at("sliceStats", args[0]), () => store.sliceStats(...args)),
    isEmpty: (...args) => steps.take(at("isEmpty", args[0]), () => store.isEmpty(...args)),
    close: () => store.close(),
  };
}

/** Each run or fetch of a scan is a step. */
async function* scanInSteps<T>(
  what: string,
  scan: () => AsyncIterable<T>,
  steps: ProcessSteps,
): AsyncGenerator<T, void, undefined> {
  const items = scan()[Symbol.asyncIterator]();
  for (;;) {
    const item = await steps.take(what, () => items.next());
    if (item.done === true) return;
    yield item.value;
  }
}
