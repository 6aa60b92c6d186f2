/**
 * The copies that have proven themselves to this server, 16 bytes for each slot: a server holds
 * millions of splits, and a map of their names would need gigabytes.
 *
 * A partition is known by 64 bits of hash. Two partitions that share them (one pair in 2^64) would
 * share their proof, so the hash has a seed that differs from process to process.
 *
 * An open-addressed table with linear probing: the copies of a partition lie behind its home slot
 * without a gap. It doubles as it fills. At its bound one new copy in eight takes the place of
 * another, the next in the order of the hashes: reads that visit more copies than there is room for
 * find a share of them in proportion, and copies that nobody reads any more leave in time.
 */
import { hash32 } from "../../lib/hash.ts";

/** A recopy has another generation. */
export interface Copy {
  readonly generation: number;
  readonly from: number;
}

const SLOTS_MIN = 1_024;
/** Slots for each copy: probes stay short while at least a quarter of the slots is free. */
const SLOTS_PER_COPY = 4 / 3;
/** At the bound, one new copy in this many is admitted. */
const ADMITTED = 8;

const encoder = new TextEncoder();
/** Longer than any partition's text: a namespace, a slice, two numbers and an id of 512 bytes. */
const scratch = new Uint8Array(2_048);

export class ProvenCopies {
  readonly #max: number;
  readonly #seed: number;
  /** Both halves of the partition's hash; a `low` of 0 marks a free slot. */
  #low = new Uint32Array(SLOTS_MIN);
  #high = new Uint32Array(SLOTS_MIN);
  #from = new Uint32Array(SLOTS_MIN);
  #generation = new Uint32Array(SLOTS_MIN);
  #count = 0;
  /** Where the search for the next copy to evict begins. */
  #hand = 0;
  #refused = 0;
  /** The hash that `#hash` made last. */
  #hashLow = 0;
  #hashHigh = 0;

  constructor(max: number, seed = 0) {
    this.#max = max;
    this.#seed = seed;
  }

  get count(): number {
    return this.#count;
  }

  get bytes(): number {
    return 4 * this.#low.byteLength;
  }

  has(partition: string, { generation, from }: Copy): boolean {
    this.#hash(partition);
    const slot = this.#find(fromMark(from));
    return slot >= 0 && this.#generation[slot] === generation >>> 0;
  }

  /**
   * Replaces another copy of the same time: no server reads that any more. At the bound the copy may
   * not be admitted: then it is compared again.
   */
  add(partition: string, { generation, from }: Copy): void {
    this.#hash(partition);
    const mark = fromMark(from);
    const known = this.#find(mark);
    if (known >= 0) {
      this.#generation[known] = generation;
      return;
    }
    if (this.#count >= this.#max) {
      if (++this.#refused % ADMITTED !== 0) return;
      this.#evict();
    }
    if ((this.#count + 1) * SLOTS_PER_COPY > this.#low.length) this.#grow();
    this.#put(this.#hashLow, this.#hashHigh, mark, generation);
    this.#count++;
  }

  /** Forgets all copies of a partition. */
  remove(partition: string): void {
    this.#hash(partition);
    const { length } = this.#low;
    for (let slot = this.#hashLow & (length - 1); this.#low[slot] !== 0;) {
      // After a removal the slot holds another copy, or none.
      if (this.#isHashed(slot)) this.#free(slot);
      else slot = (slot + 1) & (length - 1);
    }
  }

  #hash(partition: string): void {
    const { written } = encoder.encodeInto(partition, scratch);
    const bytes = scratch.subarray(0, written);
    this.#hashLow = hash32(bytes, this.#seed) || 1;
    this.#hashHigh = hash32(bytes, ~this.#seed >>> 0);
  }

  #isHashed(slot: number): boolean {
    return this.#low[slot] === this.#hashLow && this.#high[slot] === this.#hashHigh;
  }

  /** -1 if there is none. */
  #find(mark: number): number {
    const mask = this.#low.length - 1;
    for (let slot = this.#hashLow & mask; this.#low[slot] !== 0; slot = (slot + 1) & mask) {
      if (this.#isHashed(slot) && this.#from[slot] === mark) return slot;
    }
    return -1;
  }

  #put(low: number, high: number, mark: number, generation: number): void {
    const mask = this.#low.length - 1;
    let slot = low & mask;
    while (this.#low[slot] !== 0) slot = (slot + 1) & mask;
    this.#low[slot] = low;
    this.#high[slot] = high;
    this.#from[slot] = mark;
    this.#generation[slot] = generation;
  }

  #grow(): void {
    const [low, high, from, generation] = [this.#low, this.#high, this.#from, this.#generation];
    const slots = 2 * low.length;
    this.#low = new Uint32Array(slots);
    this.#high = new Uint32Array(slots);
    this.#from = new Uint32Array(slots);
    this.#generation = new Uint32Array(slots);
    for (const [slot, half] of low.entries()) {
      if (half === 0) continue;
      this.#put(half, at(high, slot), at(from, slot), at(generation, slot));
    }
  }

  #evict(): void {
    const mask = this.#low.length - 1;
    while (this.#low[this.#hand & mask] === 0) this.#hand++;
    this.#free(this.#hand & mask);
  }

  /** Closes the gap: moves back each copy that its probe would no longer reach. */
  #free(slot: number): void {
    const mask = this.#low.length - 1;
    let gap = slot;
    for (let next = (gap + 1) & mask; this.#low[next] !== 0; next = (next + 1) & mask) {
      const home = at(this.#low, next) & mask;
      if (((next - home) & mask) < ((next - gap) & mask)) continue;
      this.#low[gap] = at(this.#low, next);
      this.#high[gap] = at(this.#high, next);
      this.#from[gap] = at(this.#from, next);
      this.#generation[gap] = at(this.#generation, next);
      gap = next;
    }
    this.#low[gap] = 0;
    this.#count--;
  }
}

/** 32 bits of a time: the copies of one partition differ in them, or in their generation. */
function fromMark(from: number): number {
  return (Math.floor(from / 2 ** 32) ^ from) >>> 0;
}

/** The slot exists: every index is masked. */
function at(slots: Uint32Array, slot: number): number {
  return slots[slot] as number;
}
