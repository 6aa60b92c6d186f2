/**
 * Checks that the received blocks are all blocks between two positions (rule C9).
 *
 * A replica that lacks a block answers with the next one, which is sound in itself. So each block
 * must follow the previous one, the first must lie where the read begins, and the last where it
 * ends.
 */
import type { PartRecord } from "../model/split.ts";
import type { Order } from "../ports/event-store.ts";
import { comparePositions } from "../wire/frames.ts";
import type { BlockHead } from "../wire/packed-block.ts";
import type { Bounds } from "./block-cut.ts";

export type ChainBreak = "missing block" | "broken chain" | "outside the part" | "wrong count";

export class BlockChain {
  readonly #part: PartRecord;
  readonly #order: Order;
  readonly #bounds: Bounds;
  #last: BlockHead | undefined;
  #blocks = 0;
  #events = 0;
  #bytes = 0;

  constructor(part: PartRecord, order: Order, bounds: Bounds) {
    this.#part = part;
    this.#order = order;
    this.#bounds = bounds;
  }

  /** The next block in order: its fault, or undefined. */
  add(head: BlockHead): ChainBreak | undefined {
    const part = this.#part;
    const newest = head.before ?? head.first;
    if (newest.time >= part.to || head.last.time < part.from || head.sequence >= part.blocks) {
      return "outside the part";
    }
    const broken = this.#last === undefined ? this.#begins(head) : this.#follows(this.#last, head);
    this.#last = head;
    this.#blocks++;
    this.#events += head.count;
    this.#bytes += head.framesEnd - head.framesStart;
    return broken;
  }

  /** Whether no wanted event lies behind the last block. */
  get over(): boolean {
    const head = this.#last;
    if (head === undefined) return false;
    return this.#order === "NEWEST_FIRST" ? this.#nothingOlder(head) : this.#nothingNewer(head);
  }

  get begun(): boolean {
    return this.#last !== undefined;
  }

  /** After the last block: the fault of the blocks as a whole, or undefined. */
  end(): ChainBreak | undefined {
    if (!this.over) return "missing block";
    const part = this.#part;
    if (this.#blocks < part.blocks) return undefined;
    return this.#events === part.events && this.#bytes === part.bytes ? undefined : "wrong count";
  }

  /**
   * No block came, and this is the oldest one in storage (undefined: there is none). That is
   * correct only if the whole part lies behind the high bound.
   */
  provesNothing(oldest: BlockHead | undefined): boolean {
    return (
      oldest !== undefined &&
      oldest.sequence === this.#part.blocks - 1 &&
      comparePositions(oldest.last, this.#bounds.high) >= 0
    );
  }
  #begins(head: BlockHead): ChainBreak | undefined {
    const right =
      this.#order === "NEWEST_FIRST" ? this.#nothingNewer(head) : this.#nothingOlder(head);
    return right ? undefined : "missing block";
  }

  #follows(before: BlockHead, head: BlockHead): ChainBreak | undefined {
    const [newer, older] = this.#order === "NEWEST_FIRST" ? [before, head] : [head, before];
    if (older.sequence !== newer.sequence + 1) return "missing block";
    const bound = older.before !== undefined && comparePositions(older.before, newer.last) === 0;
    return bound ? undefined : "broken chain";
  }

  #nothingNewer({ before }: BlockHead): boolean {
    return before === undefined || comparePositions(before, this.#bounds.high) >= 0;
  }

  #nothingOlder({ sequence, last }: BlockHead): boolean {
    return sequence === this.#part.blocks - 1 || comparePositions(last, this.#bounds.low) <= 0;
  }
}
