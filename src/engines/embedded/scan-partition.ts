/**
 * Reads one partition in order, as bounded runs, and verifies every event it returns.
 *
 * It reads only values: an event's frame has its place. Each event must match its checksum, belong
 * to the partition, lie in the range and come strictly after the previous one. Anything else is
 * DATA_LOSS.
 */
import { utf8 } from "../../lib/bytes.ts";
import { ServiceError } from "../../lib/errors.ts";
import { FetchAhead } from "../../lib/fetch-ahead.ts";
import type { PartitionKey } from "../../model/partition.ts";
import type { ScanRange } from "../../ports/event-store.ts";
import { newLocatedEvent } from "../../wire/event-record.ts";
import type { EventBytes } from "../../wire/event-record.ts";
import { comparePositions, eventOfFrame, positionOf } from "../../wire/frames.ts";
import type { Position, Run } from "../../wire/frames.ts";
import type { CheckedLevel } from "./checked-level.ts";
import { VALUES_ONLY } from "./level.ts";
import type { LevelIteratorOptions } from "./level.ts";
import { CHECKSUM_BYTES, partitionSeed, placeKey, readValue, readValueAgain } from "./key-codec.ts";
import { SteadyIterator } from "./steady-iterator.ts";

/**
 * A scan whose caller does not say how many events it wants may need few: the first fetch is small,
 * and each following one doubles.
 */
const FETCH_EVENTS_FIRST = 256;
const FETCH_EVENTS_MAX = 1024;
const FETCH_BYTES_MAX = 256 << 10;
/** Of events that are wanted: a page of a thousand usual events is one fetch. */
const WANTED_BYTES_MAX = 512 << 10;
/** Event times are below this. */
const TIME_END = Number.MAX_SAFE_INTEGER;

export async function* scanPartition(
  level: CheckedLevel,
  partition: PartitionKey,
  range: ScanRange,
  signal: AbortSignal,
): AsyncGenerator<Run, void, undefined> {
  signal.throwIfAborted();
  const check = new EventCheck(partition, range);
  const fetcher = new Fetcher(level, partition, range, signal, check);
  try {
    let run = new RunBuilder(range, check);
    const fetches = new FetchAhead(fetcher);
    do {
      const rows = await fetches.next();
      let cut = false;
      for (let taken = run.add(rows, 0); taken < rows.length; taken = run.add(rows, taken)) {
        yield run.build();
        run = new RunBuilder(range, check);
        cut = true;
      }
      // Events that did not fit join the next fetch, so that large and tiny runs do not alternate.
      if (run.count > 0 && (!cut || fetches.ended)) {
        yield run.build();
        run = new RunBuilder(range, check);
      }
    } while (!fetches.ended);
  } finally {
    await fetcher.close();
  }
}

/** As LevelDB returns it: without its key, and its value. */
type Row = readonly [unknown, Buffer];

/** Its loops make no object for an event: they run for each event of each read. */
class RunBuilder {
  readonly #range: ScanRange;
  readonly #check: EventCheck;
  readonly #values: Buffer[] = [];
  #bytes = 0;

  constructor(range: ScanRange, check: EventCheck) {
    this.#range = range;
    this.#check = check;
  }

  get count(): number {
    return this.#values.length;
  }

  /** Takes the rows from this one on, as far as they fit, and returns the number of the next one. */
  add(rows: readonly Row[], from: number): number {
    const { runEventsMax, runBytesMax } = this.#range;
    const values = this.#values;
    for (let nth = from; nth < rows.length; nth++) {
      const value = (rows[nth] as Row)[1];
      const bytes = this.#bytes + value.length - CHECKSUM_BYTES;
      // The first one always fits.
      if (values.length > 0 && (values.length >= runEventsMax || bytes > runBytesMax)) return nth;
      this.#check.vouch(value);
      values.push(value);
      this.#bytes = bytes;
    }
    return rows.length;
  }

  /** Only called when the run has events. */
  build(): Run {
    // One chunk instead of one per event: copying costs less than the garbage collection of so many
    // small buffers.
    const frames = Buffer.allocUnsafeSlow(this.#bytes);
    const values = this.#values;
    let at = 0;
    let lastAt = 0;
    for (let nth = 0; nth < values.length; nth++) {
      lastAt = at;
      at += (values[nth] as Buffer).copy(frames, at, CHECKSUM_BYTES);
    }
    const [first, last] = [positionAt(frames, 0), positionAt(frames, lastAt)];
    return { chunks: [frames], count: this.count, bytes: this.#bytes, first, last };
  }
}

/** Its id is a copy: a position may be kept for longer than its run. */
function positionAt(frames: Buffer, at: number): Position {
  // The event was vouched for.
  const { time, id } = positionOf(eventOfFrame(frames, at) as EventBytes);
  return { time, id: Buffer.from(id) };
}

class EventCheck {
  readonly #partition: PartitionKey;
  readonly #range: ScanRange;
  readonly #series: Uint8Array;
  readonly #seed: number;
  readonly #direction: number;
  /** The event before, if there is one, and the one that is being checked: they take turns. */
  #before = newLocatedEvent();
  #event = newLocatedEvent();
  #isFirst = true;

  constructor(partition: PartitionKey, range: ScanRange) {
    this.#partition = partition;
    this.#range = range;
    this.#series = utf8(partition.seriesId);
    this.#seed = partitionSeed(partition.timeBucket, partition.eventBucket);
    this.#direction = range.order === "OLDEST_FIRST" ? 1 : -1;
  }

  get series(): Uint8Array {
    return this.#series;
  }

  get seed(): number {
    return this.#seed;
  }

  vouch(value: Buffer): void {
    const event = this.#event;
    if (!readValueAgain(event, value, value.subarray(CHECKSUM_BYTES), this.#seed)) {
      throw this.#loss("an event does not match its checksum");
    }
    if (!this.#isOfSeries(event)) throw this.#loss("an event of another series lies in it");
    const { from, to } = this.#range;
    if (event.time < from || event.time >= to) throw this.#loss("an event lies out of its place");
    if (this.#isFirst) this.#vouchFirst(event);
    else if (!this.#isBehind(event, this.#before)) throw this.#loss("its events are out of order");
    this.#isFirst = false;
    this.#event = this.#before;
    this.#before = event;
  }

  #vouchFirst(event: EventBytes): void {
    const { after } = this.#range;
    if (after === undefined) return;
    if (this.#direction * comparePositions(positionOf(event), after) > 0) return;
    throw this.#loss("an event lies out of its place");
  }

  #isBehind(event: EventBytes, before: EventBytes): boolean {
    if (event.time !== before.time) return this.#direction * (event.time - before.time) > 0;
    return this.#direction * comparePositions(positionOf(event), positionOf(before)) > 0;
  }

  #isOfSeries(event: EventBytes): boolean {
    const series = this.#series;
    if (event.seriesEnd - event.seriesStart !== series.length) return false;
    for (let i = 0; i < series.length; i++) {
      if (event.bytes[event.seriesStart + i] !== series[i]) return false;
    }
    return true;
  }

  #loss(what: string): ServiceError {
    const { namespaceId, slice, timeBucket, eventBucket } = this.#partition;
    return new ServiceError(
      "DATA_LOSS",
      `a partition of slice ${slice} (time bucket ${timeBucket}, event bucket ${eventBucket}) ` +
        `is damaged: ${what}`,
      { details: { namespaceId, slice, timeBucket, eventBucket } },
    );
  }
}

class Fetcher {
  readonly #iterator: SteadyIterator;
  readonly #partition: PartitionKey;
  readonly #range: ScanRange;
  readonly #check: EventCheck;
  readonly #bytesMax: number;
  /** Events that the caller still wants; undefined if it did not say how many. */
  #wanted: number | undefined;
  #events: number;
  #last: Buffer | undefined;
  #ended: boolean;

  constructor(
    level: CheckedLevel,
    partition: PartitionKey,
    range: ScanRange,
    signal: AbortSignal,
    check: EventCheck,
  ) {
    this.#iterator = new SteadyIterator(level, () => this.#bounds(), signal);
    this.#partition = partition;
    this.#range = range;
    this.#check = check;
    this.#wanted = range.eventsWanted;
    const bytesMax = this.#wanted === undefined ? FETCH_BYTES_MAX : WANTED_BYTES_MAX;
    this.#bytesMax = Math.max(1, Math.min(range.runBytesMax, bytesMax));
    this.#events = Math.max(1, Math.min(range.runEventsMax, FETCH_EVENTS_FIRST));
    this.#ended = range.from >= range.to;
  }

  get ended(): boolean {
    return this.#ended;
  }

  get readsAhead(): boolean {
    return this.#wanted === undefined || this.#wanted > 0;
  }

  async fetch(): Promise<readonly Row[]> {
    if (this.#ended) return [];
    const wanted = this.#wanted ?? 0;
    const count = wanted > 0 ? Math.min(wanted, FETCH_EVENTS_MAX) : this.#events;
    const rows = await this.#iterator.next(count);
    if (rows.length < count && bytesOf(rows) <= this.#bytesMax) this.#ended = true;
    this.#last = rows.at(-1)?.[1] ?? this.#last;
    if (wanted > 0) this.#wanted = Math.max(0, wanted - rows.length);
    else {
      const { runEventsMax } = this.#range;
      this.#events = Math.max(1, Math.min(this.#events * 2, runEventsMax, FETCH_EVENTS_MAX));
    }
    return rows;
  }

  async close(): Promise<void> {
    await this.#iterator.close();
  }

  #bounds(): LevelIteratorOptions {
    const { from, to, order, after } = this.#range;
    const { series } = this.#check;
    const at = (time: number, id?: Uint8Array): Buffer =>
      placeKey(series, this.#partition, Math.min(Math.max(time, 0), TIME_END), id);
    const read =
      this.#last && readValue(this.#last, this.#last.subarray(CHECKSUM_BYTES), this.#check.seed);
    const behind = read === undefined ? after : positionOf(read);
    const forward = order === "OLDEST_FIRST";
    const low = at(from);
    const high = at(to);
    const edge = behind === undefined ? undefined : at(behind.time, behind.id);
    return {
      ...VALUES_ONLY,
      reverse: !forward,
      highWaterMarkBytes: this.#bytesMax,
      // A position outside the range must not widen it.
      ...(forward && edge !== undefined && edge.compare(low) >= 0 ? { gt: edge } : { gte: low }),
      lt: !forward && edge !== undefined && edge.compare(high) < 0 ? edge : high,
    };
  }
}

function bytesOf(rows: readonly Row[]): number {
  let bytes = 0;
  for (let nth = 0; nth < rows.length; nth++) bytes += (rows[nth] as Row)[1].length;
  return bytes;
}
