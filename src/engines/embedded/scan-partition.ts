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
import type { EventBytes } from "../../wire/event-record.ts";
import { comparePositions, positionOf } from "../../wire/frames.ts";
import type { Run } from "../../wire/frames.ts";
import type { CheckedLevel } from "./checked-level.ts";
import { VALUES_ONLY } from "./level.ts";
import type { LevelIteratorOptions } from "./level.ts";
import { CHECKSUM_BYTES, partitionSeed, placeKey, readValue } from "./key-codec.ts";
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
    let run = new RunBuilder();
    const fetches = new FetchAhead(fetcher);
    do {
      const values = await fetches.next();
      let cut = false;
      for (const value of values) {
        const frame = value.subarray(CHECKSUM_BYTES);
        const event = check.vouch(value, frame);
        if (run.count >= range.runEventsMax || !run.fits(frame.length, range.runBytesMax)) {
          yield run.build();
          run = new RunBuilder();
          cut = true;
        }
        run.add(value, event);
      }
      // Events that did not fit join the next fetch, so that large and tiny runs do not alternate.
      if (run.count > 0 && (!cut || fetches.ended)) {
        yield run.build();
        run = new RunBuilder();
      }
    } while (!fetches.ended);
  } finally {
    await fetcher.close();
  }
}

class RunBuilder {
  readonly #values: Buffer[] = [];
  #bytes = 0;
  #first: EventBytes | undefined;
  #last: EventBytes | undefined;

  get count(): number {
    return this.#values.length;
  }

  fits(bytes: number, bytesMax: number): boolean {
    return this.#bytes === 0 || this.#bytes + bytes <= bytesMax;
  }

  add(value: Buffer, event: EventBytes): void {
    this.#values.push(value);
    this.#bytes += value.length - CHECKSUM_BYTES;
    this.#first ??= event;
    this.#last = event;
  }

  build(): Run {
    // One chunk instead of one per event: copying costs less than the garbage collection of so many
    // small buffers.
    const frames = Buffer.allocUnsafeSlow(this.#bytes);
    let at = 0;
    for (const value of this.#values) at += value.copy(frames, at, CHECKSUM_BYTES);
    // Only called when the run has events.
    const first = positionOf(this.#first as EventBytes);
    const last = positionOf(this.#last as EventBytes);
    return { chunks: [frames], count: this.count, bytes: this.#bytes, first, last };
  }
}

class EventCheck {
  readonly #partition: PartitionKey;
  readonly #range: ScanRange;
  readonly #series: Uint8Array;
  readonly #seed: number;
  readonly #direction: number;
  #before: EventBytes | undefined;

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

  vouch(value: Uint8Array, frame: Uint8Array): EventBytes {
    const event = readValue(value, frame, this.#seed);
    if (event === undefined) throw this.#loss("an event does not match its checksum");
    if (!this.#isOfSeries(event)) throw this.#loss("an event of another series lies in it");
    const { from, to, after } = this.#range;
    if (event.time < from || event.time >= to) throw this.#loss("an event lies out of its place");
    const before = this.#before;
    if (before === undefined) {
      if (
        after !== undefined &&
        this.#direction * comparePositions(positionOf(event), after) <= 0
      ) {
        throw this.#loss("an event lies out of its place");
      }
    } else if (
      this.#direction * (event.time - before.time) < 0 ||
      (event.time === before.time &&
        this.#direction * comparePositions(positionOf(event), positionOf(before)) <= 0)
    ) {
      throw this.#loss("its events are out of order");
    }
    this.#before = event;
    return event;
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

  async fetch(): Promise<Buffer[]> {
    if (this.#ended) return [];
    const wanted = this.#wanted ?? 0;
    const count = wanted > 0 ? Math.min(wanted, FETCH_EVENTS_MAX) : this.#events;
    const entries = await this.#iterator.next(count);
    const values: Buffer[] = [];
    let bytes = 0;
    for (const [, value] of entries) {
      values.push(value);
      bytes += value.length;
    }
    if (entries.length < count && bytes <= this.#bytesMax) this.#ended = true;
    this.#last = values.at(-1) ?? this.#last;
    if (wanted > 0) this.#wanted = Math.max(0, wanted - entries.length);
    else {
      const { runEventsMax } = this.#range;
      this.#events = Math.max(1, Math.min(this.#events * 2, runEventsMax, FETCH_EVENTS_MAX));
    }
    return values;
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
