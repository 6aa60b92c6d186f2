/**
 * A set that answers "no" or "perhaps": small, fixed in size, never wrong about "no".
 *
 * Filled to its capacity, it says "perhaps" to at most 1 in 100 keys that it does not hold. Beyond
 * its capacity it stays correct but says "perhaps" more often: the owner then makes a larger one.
 *
 * Keys are 64-bit hashes in two halves of 32 bits, so that a key needs no object.
 */

/**
 * Bits for each key, and how many of them a key sets: with 10 and 7, fewer than 1 in 100 other keys
 * are taken for a member.
 */
const BITS_PER_KEY = 10;
const HASHES = 7;
const BITS_MIN = 512;
const BITS_MAX = 2 ** 32;

/** Filled to its capacity, it takes at most this share of other keys for members. */
export const FALSE_POSITIVE_RATE_MAX = 0.01;

export class BloomFilter {
  readonly #words: Uint32Array;
  readonly #mask: number;
  /** The number of keys it is sized for. */
  readonly capacity: number;
  #count = 0;

  constructor(capacity: number) {
    // A power of two, so that finding a position needs no division.
    let bits = BITS_MIN;
    while (bits < capacity * BITS_PER_KEY && bits < BITS_MAX) bits *= 2;
    this.#words = new Uint32Array(bits / 32);
    this.#mask = bits - 1;
    this.capacity = Math.floor(bits / BITS_PER_KEY);
  }

  /** About how many keys were added: a key that already seemed present is not counted. */
  get count(): number {
    return this.#count;
  }

  get bytes(): number {
    return this.#words.byteLength;
  }

  /** The share of other keys that it takes for members, by how full it is. */
  get falsePositiveRate(): number {
    const bits = this.#words.length * 32;
    return (1 - Math.exp((-HASHES * this.#count) / bits)) ** HASHES;
  }

  add(low: number, high: number): void {
    const step = high | 1;
    let fresh = false;
    for (let nth = 0, hash = low; nth < HASHES; nth++, hash += step) {
      const bit = (hash & this.#mask) >>> 0;
      const word = this.#words[bit >>> 5] as number;
      const set = word | (1 << (bit & 31));
      if (set >>> 0 !== word) {
        this.#words[bit >>> 5] = set;
        fresh = true;
      }
    }
    if (fresh) this.#count++;
  }

  has(low: number, high: number): boolean {
    const step = high | 1;
    for (let nth = 0, hash = low; nth < HASHES; nth++, hash += step) {
      const bit = (hash & this.#mask) >>> 0;
      if (((this.#words[bit >>> 5] as number) & (1 << (bit & 31))) === 0) return false;
    }
    return true;
  }
}
