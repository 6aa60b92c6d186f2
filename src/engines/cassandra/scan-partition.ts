/**
 * Reads one partition in order, as bounded runs, continuing by position.
 *
 * Pages of Cassandra are counted in rows: their number follows from the largest event the slice may
 * hold (rule C20), and when the node runs out of time, the next fetch asks for fewer. Events come
 * out as frames: the bytes of the answer are assembled here, once, and the items are copied as they
 * are stored.
 */
import { utf8 } from "../../lib/bytes.ts";
import { FetchAhead } from "../../lib/fetch-ahead.ts";
import type { PartitionKey } from "../../model/partition.ts";
import type { ScanRange } from "../../ports/event-store.ts";
import { EventFrames } from "../../wire/event-frames.ts";
import type { Position, Run } from "../../wire/frames.ts";
import { RowSelect, positionOfRow, timeOfRow } from "./select-rows.ts";
import type { SelectBounds, SelectSource } from "./select-rows.ts";
import type { Row } from "./session.ts";

/** More rows in one answer would block the event loop for too long. */
const FETCH_EVENTS_MAX = 2_000;
/**
 * Reading ahead has a share of the same size in the caller's budget, which a first fetch may use.
 */
const FIRST_SHARE = 2;
/** If the slice is no longer known: the largest event that the API accepts. */
const EVENT_BYTES_MAX = 1 << 20;
const TIME_END = Number.MAX_SAFE_INTEGER;
const NONE = Buffer.alloc(0);

export interface ScanSource extends SelectSource {
  /**
   * No event of the slice has more bytes, as far as is known now; called before each fetch, at no
   * cost.
   */
  readonly eventBytesMax: () => Promise<number | undefined>;
}

export async function* scanPartition(
  source: ScanSource,
  partition: PartitionKey,
  range: ScanRange,
  signal: AbortSignal,
): AsyncGenerator<Run, void, undefined> {
  if (range.from >= range.to) return;
  const fetcher = new Fetcher(source, partition, range, signal);
  const frames = new EventFrames(utf8(partition.seriesId));
  const fetches = new FetchAhead(fetcher);
  do {
    for (const row of await fetches.next()) {
      const id = row["event_id"] as string;
      const items = (row["items"] as Buffer | null) ?? NONE;
      const time = timeOfRow(row);
      // A fetch has at most as many rows as a run may have.
      if (!frames.fits(time, id, items, range.runBytesMax)) yield frames.take();
      frames.add(time, id, items);
    }
    if (frames.count > 0) yield frames.take();
  } while (!fetches.ended);
}

class Fetcher {
  readonly #source: ScanSource;
  readonly #select: RowSelect;
  readonly #range: ScanRange;
  #after: Position | undefined;
  /** Lowered when the node runs out of time, and raised again when it does not. */
  #limit: number;
  #asked = 0;
  ended = false;
  #fetched = false;

  constructor(source: ScanSource, partition: PartitionKey, range: ScanRange, signal: AbortSignal) {
    this.#source = source;
    this.#select = new RowSelect(source, partition, signal);
    this.#range = range;
    this.#after = range.after;
    this.#limit = Math.max(1, Math.min(range.runEventsMax, FETCH_EVENTS_MAX));
  }

  /** The next rows; none, and `ended`, at the end. */
  fetch(): Promise<readonly Row[]> {
    return this.#select.patiently(
      () => this.#fetchOnce(),
      () => {
        this.#limit = Math.max(1, this.#asked >> 2);
      },
    );
  }

  async #fetchOnce(): Promise<readonly Row[]> {
    const limit = Math.min(this.#limit, await this.#rowsMax());
    this.#asked = limit;
    const { rows, more } = await this.#select.ask(this.#range.order, this.#bounds(), limit);
    const last = rows.at(-1);
    if (rows.length < limit && !more) this.ended = true;
    if (last !== undefined) this.#after = positionOfRow(last);
    this.#fetched = true;
    this.#limit = Math.min(2 * this.#limit, this.#range.runEventsMax, FETCH_EVENTS_MAX);
    return rows;
  }

  #bounds(): SelectBounds {
    const { from, to, order } = this.#range;
    const lower = { time: Math.max(0, from), id: NONE };
    const upper = { time: Math.max(0, Math.min(TIME_END, to)), id: NONE };
    const after = this.#after;
    // A position outside the range must not widen it.
    if (order === "OLDEST_FIRST") {
      return after !== undefined && after.time >= lower.time
        ? { lower: after, upper }
        : { lower, upper };
    }
    if (after === undefined || after.time >= upper.time) return { lower, upper };
    return { lower, upper: after.time < 0 ? { time: 0, id: NONE } : after };
  }

  /** As many of the largest events as fit: a first fetch also uses the share for reading ahead. */
  async #rowsMax(): Promise<number> {
    const largest = (await this.#source.eventBytesMax()) ?? EVENT_BYTES_MAX;
    const bytes = this.#range.runBytesMax * (this.#fetched ? 1 : FIRST_SHARE);
    return Math.max(1, Math.floor(bytes / largest));
  }
}
