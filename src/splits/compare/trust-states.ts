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
import { LRUCache } from "lru-cache";
import type { RouteSegment } from "../../model/split.ts";
import type { TrustState } from "../serve/may-serve.ts";

/** In partitions. */
const PROVEN_MAX = 50_000;
/** In segments. */
const QUARANTINED_MAX = 10_000;

/** A recopy has another generation. */
type Copy = Pick<RouteSegment, "generation" | "from">;

export class TrustStates {
  readonly #quarantinedMax: number;
  /** By partition. Evicts the one noted longest ago. */
  readonly #proven: LRUCache<string, readonly Copy[]>;
  /** By partition. Never evicted. */
  readonly #quarantined = new Map<string, readonly Copy[]>();
  #quarantinedCount = 0;

  constructor(provenMax: number = PROVEN_MAX, quarantinedMax: number = QUARANTINED_MAX) {
    this.#proven = new LRUCache({ max: provenMax });
    this.#quarantinedMax = quarantinedMax;
  }

  of(partition: string, segment: Copy): TrustState {
    if (this.#quarantinedCount > 0) {
      if (this.#quarantinedCount >= this.#quarantinedMax) return "QUARANTINED";
      if (includes(this.#quarantined.get(partition), segment)) return "QUARANTINED";
    }
    return includes(this.#proven.peek(partition), segment) ? "PROVEN" : "UNSEEN";
  }

  /**
   * A comparison of every byte has matched. A quarantined copy stays quarantined: other bytes
   * differed.
   */
  prove(partition: string, segment: Copy): void {
    if (this.of(partition, segment) !== "UNSEEN") return;
    const { generation, from } = segment;
    // An older copy of the same time is no longer read.
    const others = (this.#proven.peek(partition) ?? []).filter((copy) => copy.from !== from);
    this.#proven.set(partition, [...others, { generation, from }]);
  }

  /**
   * Returns false if there is no room to remember the copy. It is compared again when this server
   * trusts splits again.
   */
  quarantine(partition: string, segment: Copy): boolean {
    this.#proven.delete(partition);
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
