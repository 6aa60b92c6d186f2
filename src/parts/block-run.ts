/**
 * The blocks of one fetch as one run.
 *
 * Newest first, the run consists of views of the blocks; in the other direction each block is
 * reversed.
 */
import type { Order } from "../ports/event-store.ts";
import type { Position, Run } from "../wire/frames.ts";
import type { BlockHead } from "../wire/packed-block.ts";
import { cutBlock, turnRound } from "./block-cut.ts";
import type { Bounds } from "./block-cut.ts";

export class BlockRun {
  readonly #turn: boolean;
  readonly #chunks: Uint8Array[] = [];
  #count = 0;
  #bytes = 0;
  #first: Position | undefined;
  #last: Position | undefined;

  constructor(order: Order) {
    this.#turn = order === "OLDEST_FIRST";
  }

  /** False if the block's frames do not parse. */
  add(bytes: Uint8Array, head: BlockHead, bounds: Bounds): boolean {
    const cut = cutBlock(bytes, head, bounds);
    if (cut === null) return true;
    if (cut === undefined) return false;
    const { start, end } = cut;
    const chunk = this.#turn ? turnRound(bytes, start, end) : bytes.subarray(start, end);
    if (chunk === undefined) return false;
    this.#chunks.push(chunk);
    this.#count += cut.count;
    this.#bytes += end - start;
    this.#first ??= this.#turn ? cut.last : cut.first;
    this.#last = this.#turn ? cut.first : cut.last;
    return true;
  }

  build(): Run | undefined {
    const [first, last] = [this.#first, this.#last];
    if (first === undefined || last === undefined) return undefined;
    return { chunks: this.#chunks, count: this.#count, bytes: this.#bytes, first, last };
  }
}
