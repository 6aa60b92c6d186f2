/**
 * How large the partitions of a recorded slice would be under another partitioning. Pure.
 *
 * Exact for wider buckets inside the slice: the walk counted them. Narrower ones are taken to shrink
 * as sizes do from the next wider bucket to the present one: those of ids that write in bursts hardly
 * do. Beyond the slice, sizes grow as they grew over the last doublings inside it.
 */
import type { TimePartition } from "../model/namespace-config.ts";
import { SizeHistogram } from "../model/size-histogram.ts";
import type { Distribution } from "../model/size-histogram.ts";
import type { SliceHistogram } from "../model/slice-histogram.ts";
import type { TunedSizes } from "../model/tuning.ts";

const DAY_SECONDS = 86_400;
const TEBIBYTE = 2 ** 40;

/** The sizes at each width that the walk counted, narrowest first. */
interface Counted {
  readonly seconds: number;
  readonly sizes: SizeHistogram;
}

export class SizePrediction {
  readonly #counted: readonly Counted[];
  readonly #histogram: SliceHistogram;

  constructor(histogram: SliceHistogram) {
    this.#histogram = histogram;
    const own = counted(histogram.timePartition.secondsPerTimeBucket, histogram.timeBuckets.bytes);
    const wider = histogram.widened.map(({ secondsPerTimeBucket, bytes }) =>
      counted(secondsPerTimeBucket, bytes),
    );
    this.#counted = [own, ...wider.toSorted((a, b) => a.seconds - b.seconds)];
  }

  /** The sizes of the partitions as they are, before id factors. */
  present(): TunedSizes {
    return this.under(this.#histogram.timePartition);
  }

  under(partitioning: TimePartition): TunedSizes {
    const at = (share: number): number =>
      Math.round(
        this.#timeBucketBytes(partitioning.secondsPerTimeBucket, share) / partitioning.eventBuckets,
      );
    return { p50: at(0.5), p95: at(0.95), p99: at(0.99) };
  }

  /** Of one (id, time bucket) of this width: this share of them is no larger. */
  #timeBucketBytes(seconds: number, share: number): number {
    const exact = this.#counted.find((each) => each.seconds === seconds);
    if (exact !== undefined) return exact.sizes.percentile(share);
    const above = this.#counted.findIndex((each) => each.seconds > seconds);
    if (above === 0) return this.#narrower(seconds, share);
    if (above > 0) return this.#between(above, seconds, share);
    return this.#beyond(seconds, share);
  }

  /** Without a wider width to compare with, an id is taken to write all the time. */
  #narrower(seconds: number, share: number): number {
    const own = this.#at(0);
    const wider = this.#counted[1];
    const growth = wider === undefined ? 1 : growthBetween(own, wider, share);
    return own.sizes.percentile(share) * (seconds / own.seconds) ** growth;
  }

  #between(above: number, seconds: number, share: number): number {
    const narrow = this.#at(above - 1);
    const growth = growthBetween(narrow, this.#at(above), share);
    return narrow.sizes.percentile(share) * (seconds / narrow.seconds) ** growth;
  }

  /** Without two widths to compare, an id is taken to write all the time: sizes come out large. */
  #beyond(seconds: number, share: number): number {
    const last = this.#at(this.#counted.length - 1);
    const before = this.#counted.at(-2);
    const growth = before === undefined ? 1 : growthBetween(before, last, share);
    return last.sizes.percentile(share) * (seconds / last.seconds) ** growth;
  }

  #at(nth: number): Counted {
    return this.#counted[nth] as Counted;
  }
}

/** Partitions of one id that a read of 24 h touches, if it has events all the time. */
export function partitionsPerDay(partitioning: TimePartition): number {
  const buckets = Math.max(1, Math.ceil(DAY_SECONDS / partitioning.secondsPerTimeBucket));
  return buckets * partitioning.eventBuckets;
}

/** 1: twice the width holds twice the bytes. 0: an id writes once, and width does not matter. */
function growthBetween(narrow: Counted, wide: Counted, share: number): number {
  const wideBytes = wide.sizes.percentile(share);
  // The histogram's last bucket holds all that is larger: sizes there do not show how they grow.
  if (wideBytes >= TEBIBYTE) return 1;
  const ratio = wideBytes / Math.max(1, narrow.sizes.percentile(share));
  const growth = Math.log(Math.max(1, ratio)) / Math.log(wide.seconds / narrow.seconds);
  return Math.min(1, growth);
}

function counted(seconds: number, bytes: Distribution): Counted {
  return { seconds, sizes: SizeHistogram.of(bytes) };
}
