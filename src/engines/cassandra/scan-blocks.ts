/**
 * Reads the blocks of one part in order, fetch by fetch, continuing by position.
 *
 * The number of rows in a fetch follows from the part's largest block (rule C20); when the node
 * runs out of time, the next fetch asks for fewer. The bytes of blocks are views of the answer they
 * came in: they are not copied, because together they are nearly all of it.
 */
import { FetchAhead } from "../../lib/fetch-ahead.ts";
import type { PartitionKey } from "../../model/partition.ts";
import type { BlockRange, StoredBlock } from "../../ports/event-store.ts";
import { comparePositions } from "../../wire/frames.ts";
import type { Position } from "../../wire/frames.ts";
import { RowSelect, positionOfRow } from "./select-rows.ts";
import type { SelectSource } from "./select-rows.ts";
import type { Result, Row } from "./session.ts";

/**
 * Of one fetch; otherwise it could hold very many blocks that are smaller than any writer makes.
 */
const FETCH_BLOCKS_MAX = 1_024;
const NONE = Buffer.alloc(0);
const START: Position = { time: 0, id: NONE };
const END: Position = { time: Number.MAX_SAFE_INTEGER, id: NONE };

export async function* scanBlocks(
  source: SelectSource,
  partition: PartitionKey,
  range: BlockRange,
  signal: AbortSignal,
): AsyncGenerator<readonly StoredBlock[], void, undefined> {
  const fetcher = new Fetcher(new RowSelect(source, partition, signal), range);
  const fetches = new FetchAhead(fetcher);
  do {
    const blocks = await fetches.next();
    if (blocks.length > 0) yield blocks;
  } while (!fetches.ended);
}

class Fetcher {
  readonly #select: RowSelect;
  readonly #range: BlockRange;
  readonly #blocksMax: number;
  /** The number of blocks for the next fetch if the node keeps up. */
  #wanted: number;
  /** Lowered when the node runs out of time, and raised again when it does not. */
  #limit = FETCH_BLOCKS_MAX;
  #asked = 0;
  #last: Position | undefined;
  ended = false;

  constructor(select: RowSelect, range: BlockRange) {
    this.#select = select;
    this.#range = range;
    const fitting = Math.floor(range.fetchBytesMax / Math.max(1, range.blockBytesMax));
    this.#blocksMax = Math.max(1, Math.min(fitting, FETCH_BLOCKS_MAX));
    this.#wanted = Math.max(1, Math.min(range.firstBlocks, this.#blocksMax));
  }

  /** The next blocks; none, and `ended`, at the end. */
  fetch(): Promise<readonly StoredBlock[]> {
    return this.#select.patiently(
      () => this.#fetchOnce(),
      () => {
        this.#limit = Math.max(1, this.#asked >> 2);
      },
    );
  }

  async #fetchOnce(): Promise<readonly StoredBlock[]> {
    this.#asked = Math.min(this.#wanted, this.#limit);
    const { rows, more } = await this.#ask(this.#asked);
    this.#wanted = this.#blocksMax;
    this.#limit = Math.min(2 * this.#limit, FETCH_BLOCKS_MAX);
    const blocks: StoredBlock[] = [];
    for (const row of rows) {
      const block = blockOf(row);
      blocks.push(block);
      this.#last = block.key;
      if (this.#isLast(block.key)) {
        this.ended = true;
        return blocks;
      }
    }
    if (!more) this.ended = true;
    return blocks;
  }

  async #ask(limit: number): Promise<Result> {
    const { order, at, until } = this.#range;
    const last = this.#last;
    if (order === "NEWEST_FIRST") {
      const upper = last ?? (at === undefined ? END : justBehind(at));
      return this.#rows(order, this.#lowest, upper, limit);
    }
    const upper = until === undefined ? END : within(until);
    if (last !== undefined) return this.#rows(order, last, upper, limit);
    if (at === undefined) return this.#rows(order, this.#lowest, upper, limit);
    return this.#from(at, upper, limit);
  }

  /** Before every block that may be returned. */
  get #lowest(): Position {
    const { keyTimeMin } = this.#range;
    return keyTimeMin === undefined ? START : within({ time: keyTimeMin, id: NONE });
  }

  /** The block that can hold the position, and those behind it, requested at the same time. */
  async #from(at: Position, upper: Position, limit: number): Promise<Result> {
    const floor = async (): Promise<readonly Row[]> => {
      const { rows } = await this.#rows("NEWEST_FIRST", this.#lowest, justBehind(at), 1);
      return rows.filter((row) => comparePositions(positionOfRow(row), upper) < 0);
    };
    const following = (count: number): Promise<Result> =>
      this.#rows("OLDEST_FIRST", laterOf(within(at), this.#lowest), upper, count);
    if (limit === 1) {
      const rows = await floor();
      return rows.length > 0 ? { rows, more: true } : following(1);
    }
    const [first, { rows, more }] = await Promise.all([floor(), following(limit - 1)]);
    return { rows: [...first, ...rows], more };
  }

  /** `more` unless these are certainly the last. */
  async #rows(
    order: BlockRange["order"],
    lower: Position,
    upper: Position,
    limit: number,
  ): Promise<Result> {
    const { rows, more } = await this.#select.ask(order, { lower, upper }, limit);
    return { rows, more: more || rows.length >= limit };
  }

  #isLast(key: Position): boolean {
    const { order, until } = this.#range;
    return order === "NEWEST_FIRST" && until !== undefined && comparePositions(key, until) <= 0;
  }
}

function blockOf(row: Row): StoredBlock {
  return { key: positionOfRow(row), bytes: (row["items"] as Buffer | null) ?? NONE };
}

/** The range of times that Cassandra can hold: nothing lies outside it, whatever the id. */
function within(position: Position): Position {
  if (position.time < START.time) return START;
  return position.time < END.time ? position : END;
}

function laterOf(a: Position, b: Position): Position {
  return comparePositions(a, b) < 0 ? b : a;
}

/**
 * The very next position: no text lies between another text and the same text with a zero byte
 * appended.
 */
function justBehind(position: Position): Position {
  const { time, id } = within(position);
  return position.time < START.time ? START : { time, id: Buffer.concat([id, Buffer.of(0)]) };
}
