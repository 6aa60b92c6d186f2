/** The fan-out of each namespace, as its reads have taught this process. */
import { LRUCache } from "lru-cache";
import { FAN_OUT_FIRST, nextFanOut } from "./fan-out.ts";
import type { ReadAheadResult } from "./fan-out.ts";

/** Beyond it, the namespace read longest ago starts again with the first value. */
const NAMESPACES_MAX = 4_096;

export class FanOuts {
  readonly #max: number;
  /** By internal id. */
  readonly #fanOuts = new LRUCache<string, number>({ max: NAMESPACES_MAX });

  constructor(max: number) {
    this.#max = max;
  }

  of(namespaceId: string): number {
    return this.#fanOuts.get(namespaceId) ?? Math.min(this.#max, FAN_OUT_FIRST);
  }

  /** Returns the fan-out from now on. */
  learn(namespaceId: string, result: ReadAheadResult): number {
    const fanOut = nextFanOut(this.of(namespaceId), result, this.#max);
    this.#fanOuts.set(namespaceId, fanOut);
    return fanOut;
  }
}
