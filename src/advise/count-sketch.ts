/**
 * Counts rows per key in a fixed memory (a count-min sketch): never too few, and too many by about
 * one row in a million of all. The counts do not depend on the order of the rows.
 */
const WIDTH = 2 ** 20;
const DEPTH = 4;

export class CountSketch {
  /** 16 MiB. */
  readonly #counts = new Uint32Array(WIDTH * DEPTH);

  /** `hash` and `other` are two hashes of the key, each of 32 bits. */
  add(hash: number, other: number): void {
    for (let row = 0; row < DEPTH; row++) {
      const at = placeOf(row, hash, other);
      this.#counts[at] = (this.#counts[at] as number) + 1;
    }
  }

  atMost(hash: number, other: number): number {
    let least = Number.POSITIVE_INFINITY;
    for (let row = 0; row < DEPTH; row++) {
      least = Math.min(least, this.#counts[placeOf(row, hash, other)] as number);
    }
    return least;
  }
}

function placeOf(row: number, hash: number, other: number): number {
  return row * WIDTH + ((hash + row * other) % WIDTH);
}
