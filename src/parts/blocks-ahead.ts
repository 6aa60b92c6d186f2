/**
 * Fetches the blocks of consecutive parts ahead of their reader, several fetches at a time.
 *
 * Each block belongs to one subrange, that of its key, so none is fetched twice. The blocks of a
 * part's subranges one behind the other are the blocks of the part, and the reader checks them as
 * one chain. It holds one fetch of each subrange ahead.
 */
import type { PartRecord } from "../model/split.ts";
import type { StoredBlock } from "../ports/event-store.ts";
import type { PartSubranges, Subrange } from "./part-subranges.ts";

type Blocks = readonly StoredBlock[];

/** Scans the blocks whose keys lie in a subrange. */
export type OpenSubrange = (subrange: Subrange) => AsyncIterable<Blocks>;

export class BlocksAhead {
  readonly #subranges: PartSubranges;
  readonly #aheadMax: number;
  readonly #open: OpenSubrange;
  /** Their first fetches are under way or done. In the order of the read. */
  readonly #ahead: SubrangeScan[] = [];

  constructor(subranges: PartSubranges, aheadMax: number, open: OpenSubrange) {
    this.#subranges = subranges;
    this.#aheadMax = aheadMax;
    this.#open = open;
  }

  /** Begins as many subranges as there is room for. */
  begin(): void {
    while (this.#ahead.length < this.#aheadMax) {
      const subrange = this.#subranges.next();
      if (subrange === undefined) return;
      this.#ahead.push(new SubrangeScan(subrange, this.#open(subrange)));
    }
  }

  /** The blocks of a part, fetch by fetch. Parts are read in order, each once. */
  async *blocksOf(part: PartRecord): AsyncGenerator<Blocks, void, undefined> {
    this.begin();
    // The reader of an earlier part may have found its end before the last subrange.
    while (this.#ahead.length > 0 && this.#ahead[0]?.subrange.part !== part) {
      await this.#ahead.shift()?.close();
      this.begin();
    }
    for (;;) {
      const [scan] = this.#ahead;
      if (scan === undefined || scan.subrange.part !== part) return;
      this.#ahead.shift();
      this.begin();
      let bytes = 0;
      try {
        for (let blocks = await scan.next(); blocks !== undefined; blocks = await scan.next()) {
          for (const block of blocks) bytes += block.bytes.length;
          yield blocks;
        }
      } finally {
        await scan.close();
      }
      this.#subranges.ended(scan.subrange, bytes);
    }
  }

  /** Resolves when nothing is under way any more. */
  async close(): Promise<void> {
    await Promise.all(this.#ahead.splice(0).map((scan) => scan.close()));
  }
}

/** The blocks of one subrange. The first fetch begins at once. */
class SubrangeScan {
  readonly subrange: Subrange;
  readonly #blocks: AsyncIterator<Blocks>;
  #first: Promise<IteratorResult<Blocks>> | undefined;

  constructor(subrange: Subrange, blocks: AsyncIterable<Blocks>) {
    this.subrange = subrange;
    this.#blocks = blocks[Symbol.asyncIterator]();
    this.#first = this.#blocks.next();
    // The reader awaits it later; until then a failure must not count as unhandled.
    this.#first.catch(() => undefined);
  }

  async next(): Promise<Blocks | undefined> {
    const first = this.#first;
    this.#first = undefined;
    const fetched = await (first ?? this.#blocks.next());
    return fetched.done === true ? undefined : fetched.value;
  }

  async close(): Promise<void> {
    await this.#first?.catch(() => undefined);
    await this.#blocks.return?.();
  }
}
