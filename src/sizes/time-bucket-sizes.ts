/**
 * Adds up the partitions of each (id, time bucket), whatever their number of event buckets, and of
 * each wider time bucket that the slice could have had. Pure.
 *
 * An engine that lists the partitions of an id together needs memory for one id at a time. Another
 * one needs memory for all ids: above a bound, half of the ids are dropped, by hash, and the others
 * stand for them.
 */
import type { TimePartition } from "../model/namespace-config.ts";
import { SizeHistogram } from "../model/size-histogram.ts";
import type { UnitSizes, WidenedSizes } from "../model/slice-histogram.ts";
import type { TimeBucketsState } from "../records/walk-positions.ts";
import { fractionOf } from "./id-sample.ts";
import { widerBuckets } from "./wider-buckets.ts";

/** About 100 bytes each. */
const BUCKETS_MAX = 100_000;
/** That are saved: a walk that is continued knows the time buckets of fewer ids. */
const SAVED_BUCKETS_MAX = 10_000;

interface Sum {
  bytes: number;
  events: number;
}

/** Of one id: by time bucket. */
type BucketsOfId = Map<number, Sum>;

export class TimeBucketSizes {
  readonly #bucketsMax: number;
  readonly #width: number;
  #bytes = new SizeHistogram();
  #events = new SizeHistogram();
  #widened: readonly WidenedHistogram[];
  #ids = new Map<string, BucketsOfId>();
  #held = 0;
  /** The share of the ids that are kept. */
  #kept = 1;

  constructor(timePartition: TimePartition, bucketsMax: number = BUCKETS_MAX) {
    this.#bucketsMax = bucketsMax;
    this.#width = timePartition.secondsPerTimeBucket;
    this.#widened = widerBuckets(timePartition).map((seconds) => {
      return { seconds, bytes: new SizeHistogram() };
    });
  }

  add(seriesId: string, timeBucket: number, bytes: number, events: number): void {
    if (this.#kept < 1 && fractionOf(seriesId) >= this.#kept) return;
    const buckets = this.#ids.get(seriesId) ?? new Map<number, Sum>();
    this.#ids.set(seriesId, buckets);
    const sum = buckets.get(timeBucket);
    if (sum === undefined) {
      buckets.set(timeBucket, { bytes, events });
      this.#held++;
      while (this.#held > this.#bucketsMax && this.#ids.size > 1) this.#halve();
    } else {
      sum.bytes += bytes;
      sum.events += events;
    }
  }

  /** No partition of this id comes any more. */
  finish(seriesId: string): void {
    const buckets = this.#ids.get(seriesId);
    if (buckets === undefined) return;
    this.#ids.delete(seriesId);
    this.#held -= buckets.size;
    this.#count(buckets);
  }

  /** What is added up so far, for `restore`. It changes nothing. */
  state(savedMax: number = SAVED_BUCKETS_MAX): TimeBucketsState {
    let [ids, kept, held] = [[...this.#ids], this.#kept, this.#held];
    while (held > savedMax && ids.length > 1) {
      kept /= 2;
      ids = ids.filter(([seriesId]) => fractionOf(seriesId) < kept);
      held = ids.reduce((sum, [, buckets]) => sum + buckets.size, 0);
    }
    return {
      bytes: storedDistribution(this.#bytes),
      events: storedDistribution(this.#events),
      widened: this.#widened.map(({ seconds, bytes }) => ({
        seconds,
        bytes: storedDistribution(bytes),
      })),
      kept,
      ids: ids.map(([seriesId, buckets]) => [
        seriesId,
        Array.from(buckets, ([bucket, { bytes, events }]) => [bucket, bytes, events]),
      ]),
    };
  }

  restore({ bytes, events, widened: wider, kept, ids }: TimeBucketsState): void {
    this.#bytes = SizeHistogram.of(bytes);
    this.#events = SizeHistogram.of(events);
    this.#widened = wider.map((each) => {
      return { seconds: each.seconds, bytes: SizeHistogram.of(each.bytes) };
    });
    this.#kept = kept;
    for (const [seriesId, buckets] of ids) {
      for (const [bucket, size, number] of buckets) this.add(seriesId, bucket, size, number);
    }
  }

  /** Ends the walk. */
  result(): { readonly sizes: UnitHistograms; readonly widened: readonly WidenedHistogram[] } {
    for (const buckets of this.#ids.values()) this.#count(buckets);
    this.#ids.clear();
    this.#held = 0;
    const scale = 1 / this.#kept;
    const whole = (histogram: SizeHistogram): SizeHistogram =>
      scale === 1 ? histogram : histogram.scaled(scale);
    return {
      sizes: { bytes: whole(this.#bytes), events: whole(this.#events) },
      widened: this.#widened.map(({ seconds, bytes }) => ({ seconds, bytes: whole(bytes) })),
    };
  }

  #count(buckets: BucketsOfId): void {
    for (const { bytes, events } of buckets.values()) {
      this.#bytes.add(bytes);
      this.#events.add(events);
    }
    for (const { seconds, bytes } of this.#widened) {
      for (const sum of widened(buckets, seconds / this.#width)) bytes.add(sum);
    }
  }

  #halve(): void {
    this.#kept /= 2;
    for (const [seriesId, buckets] of this.#ids) {
      if (fractionOf(seriesId) < this.#kept) continue;
      this.#ids.delete(seriesId);
      this.#held -= buckets.size;
    }
  }
}

export interface UnitHistograms {
  readonly bytes: SizeHistogram;
  readonly events: SizeHistogram;
}

export interface WidenedHistogram {
  readonly seconds: number;
  readonly bytes: SizeHistogram;
}

export function unitSizesOf({ bytes, events }: UnitHistograms): UnitSizes {
  return { bytes: bytes.distribution(), events: events.distribution() };
}

export function widenedSizesOf({ seconds, bytes }: WidenedHistogram): WidenedSizes {
  return { secondsPerTimeBucket: seconds, bytes: bytes.distribution() };
}

/** As the records have it, whose arrays can be changed. */
export function storedDistribution(histogram: SizeHistogram): TimeBucketsState["bytes"] {
  const { buckets, ...numbers } = histogram.distribution();
  return { ...numbers, buckets: buckets.map(([upTo, held]) => [upTo, held]) };
}

function widened(buckets: BucketsOfId, factor: number): Iterable<number> {
  const sums = new Map<number, number>();
  for (const [timeBucket, { bytes }] of buckets) {
    const wide = Math.floor(timeBucket / factor);
    sums.set(wide, (sums.get(wide) ?? 0) + bytes);
  }
  return sums.values();
}
