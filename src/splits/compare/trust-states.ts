/**
 * What this server has seen of each split: whether a comparison has matched, and whether one has
 * differed.
 *
 * The number of proven copies is bounded: a forgotten copy is compared again. A quarantine never
 * ends because of its age or for lack of room, only when a recheck clears it. If there are more
 * quarantined copies than this server can remember, it trusts no split until there are fewer.
 *
 * Partitions are given as text (`partitionText`): every read asks, and makes the text once.
 */
import type { TrustState } from "../serve/may-serve.ts";
import { ProvenCopies } from "./proven-copies.ts";
import type { Copy } from "./proven-copies.ts";

/** In segments; 64 MiB when it is full. */
const PROVEN_MAX = 3_000_000;
/** In segments. */
const QUARANTINED_MAX = 10_000;

export interface TrustStatesOptions {
  readonly provenMax?: number;
  readonly quarantinedMax?: number;
  /** Of the hashes by which it knows partitions. */
  readonly seed?: number;
}

export class TrustStates {
  readonly #quarantinedMax: number;
  readonly #proven: ProvenCopies;
  /** By partition. Never evicted. */
  readonly #quarantined = new Map<string, readonly Copy[]>();
  #quarantinedCount = 0;

  constructor(options: TrustStatesOptions = {}) {
    const { provenMax = PROVEN_MAX, quarantinedMax = QUARANTINED_MAX, seed } = options;
    this.#proven = new ProvenCopies(provenMax, seed);
    this.#quarantinedMax = quarantinedMax;
  }

  of(partition: string, segment: Copy): TrustState {
    if (this.#quarantinedCount > 0) {
      if (this.#quarantinedCount >= this.#quarantinedMax) return "QUARANTINED";
      if (includes(this.#quarantined.get(partition), segment)) return "QUARANTINED";
    }
    return this.#proven.has(partition, segment) ? "PROVEN" : "UNSEEN";
  }

  /**
   * A comparison of every byte has matched. A quarantined copy stays quarantined: other bytes
   * differed.
   */
  prove(partition: string, segment: Copy): void {
    if (this.of(partition, segment) === "UNSEEN") this.#proven.add(partition, segment);
  }

  /**
   * Returns false if there is no room to remember the copy. It is compared again when this server
   * trusts splits again.
   */
  quarantine(partition: string, segment: Copy): boolean {
    this.#proven.remove(partition);
    const quarantined = this.#quarantined.get(partition);
    if (includes(quarantined, segment)) return true;
    if (this.#quarantinedCount >= this.#quarantinedMax) return false;
    const { generation, from } = segment;
    this.#quarantined.set(partition, [...(quarantined ?? []), { generation, from }]);
    this.#quarantinedCount++;
    return true;
  }

  /** The recheck is done. The copy becomes UNSEEN: it is compared before it is served. */
  clear(partition: string, segment: Copy): void {
    const quarantined = this.#quarantined.get(partition);
    if (quarantined === undefined || !includes(quarantined, segment)) return;
    const others = quarantined.filter((copy) => !isSame(copy, segment));
    if (others.length === 0) this.#quarantined.delete(partition);
    else this.#quarantined.set(partition, others);
    this.#quarantinedCount--;
  }
}

function includes(copies: readonly Copy[] | undefined, segment: Copy): boolean {
  if (copies === undefined) return false;
  for (const copy of copies) if (isSame(copy, segment)) return true;
  return false;
}

function isSame(a: Copy, b: Copy): boolean {
  return a.generation === b.generation && a.from === b.from;
}
