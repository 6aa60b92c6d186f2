/**
 * Which ids a walk counts: a share of them, chosen by hash, so that each has the same chance and all
 * partitions of an id are counted or none. Ids that are known to be large are counted besides. Pure.
 */
import { utf8 } from "../lib/bytes.ts";
import { hash32 } from "../lib/hash.ts";

const HASHES = 2 ** 32;
const SEED = 0x77;

export class IdSample {
  readonly share: number;
  readonly #known: ReadonlySet<string>;

  /** `known`: ids outside the sample that are counted anyway, and stand for themselves only. */
  constructor(share: number, known: ReadonlySet<string> = new Set()) {
    this.share = Math.min(1, share);
    // In a whole count no id needs to be known.
    this.#known = this.share === 1 ? new Set() : known;
  }

  counts(seriesId: string): boolean {
    return this.share === 1 || this.isKnown(seriesId) || fractionOf(seriesId) < this.share;
  }

  /** For `IdSample` of a walk that continues. */
  known(): string[] {
    return [...this.#known];
  }

  isKnown(seriesId: string): boolean {
    return this.#known.has(seriesId);
  }
}

/** A number from 0 up to 1 that follows from the id. */
export function fractionOf(seriesId: string): number {
  return hash32(utf8(seriesId), SEED) / HASHES;
}
