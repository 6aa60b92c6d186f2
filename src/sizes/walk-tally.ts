/**
 * Adds up what a walk of a slice finds: the histograms, and the largest partitions by name. Bounded
 * in memory, however many partitions there are. Pure.
 *
 * Where only a sample of the ids is counted, the sample stands for the ids outside it, and ids that
 * are known to be large stand for themselves.
 */
import { SizeHistogram } from "../model/size-histogram.ts";
import type { SliceHistogram, WalkOmissions } from "../model/slice-histogram.ts";
import type { TopPartition } from "../model/top-partition.ts";
import type { TimePartition } from "../model/namespace-config.ts";
import { WidthGridTally } from "../model/width-grid.ts";
import type { WidthMap } from "../model/width-map.ts";
import type { WalkPage, WalkedPartition } from "../ports/partition-walk.ts";
import type { TallyState } from "../records/walk-positions.ts";
import { IdSample } from "./id-sample.ts";
import {
  storedDistribution,
  TimeBucketSizes,
  unitSizesOf,
  widenedSizesOf,
} from "./time-bucket-sizes.ts";
import type { UnitHistograms } from "./time-bucket-sizes.ts";
import { TopList } from "./top-list.ts";

/** Of each order. */
export const TOP_PARTITIONS_MAX = 1_000;

export type TalliedSizes = Pick<
  SliceHistogram,
  "sampleShare" | "omissions" | "partitions" | "timeBuckets" | "widened"
>;

/** What one group of ids adds up to: the sample, or the known ones. */
class Group {
  bytes = new SizeHistogram();
  events = new SizeHistogram();
  readonly timeBuckets: TimeBucketSizes;
  /** Undefined if the walk was begun by a process that knows no width map. */
  grids: WidthGridTally | undefined;

  constructor(timePartition: TimePartition) {
    this.timeBuckets = new TimeBucketSizes(timePartition);
    this.grids = new WidthGridTally(timePartition);
  }

  state(): TallyState["sampled"] {
    return {
      bytes: storedDistribution(this.bytes),
      events: storedDistribution(this.events),
      timeBuckets: this.timeBuckets.state(),
      ...(this.grids && { grids: this.grids.grids() }),
    };
  }

  restore({ bytes, events, timeBuckets, grids }: TallyState["sampled"]): void {
    this.bytes = SizeHistogram.of(bytes);
    this.events = SizeHistogram.of(events);
    this.timeBuckets.restore(timeBuckets);
    if (grids === undefined) this.grids = undefined;
    else this.grids?.merge(grids);
  }
}

/** The grid of a walk, and what its cells add up to. */
export type TalliedMap = Pick<WidthMap, "shape" | "sizes" | "totalEvents" | "grids">;

export class WalkTally {
  readonly #timePartition: TimePartition;
  readonly #sample: IdSample;
  readonly #sampled: Group;
  readonly #known: Group;
  readonly #byBytes = new TopList<TopPartition>(TOP_PARTITIONS_MAX, byBytes);
  readonly #byEvents = new TopList<TopPartition>(TOP_PARTITIONS_MAX, byEvents);
  /** The id of the last partition, where the partitions of an id come together. */
  #lastId: string | undefined;
  #walked = 0;
  #notCounted = 0;
  #estimated = 0;
  #failed = 0;

  constructor(timePartition: TimePartition, sample: IdSample) {
    this.#timePartition = timePartition;
    this.#sample = sample;
    this.#sampled = new Group(timePartition);
    this.#known = new Group(timePartition);
  }

  /** The tally that `state` described. */
  static of(timePartition: TimePartition, state: TallyState): WalkTally {
    const sample = new IdSample(state.share, new Set(state.knownIds));
    const tally = new WalkTally(timePartition, sample);
    tally.#sampled.restore(state.sampled);
    tally.#known.restore(state.known);
    for (const partition of state.top) {
      tally.#byBytes.add(partition);
      tally.#byEvents.add(partition);
    }
    tally.#lastId = state.lastId ?? undefined;
    tally.#walked = state.walked;
    tally.#notCounted = state.notCounted;
    tally.#estimated = state.estimated;
    tally.#failed = state.failed;
    return tally;
  }

  /** To continue the walk in another process. */
  state(): TallyState {
    return {
      share: this.#sample.share,
      knownIds: this.#sample.known(),
      sampled: this.#sampled.state(),
      known: this.#known.state(),
      top: this.top(),
      lastId: this.#lastId ?? null,
      walked: this.#walked,
      notCounted: this.#notCounted,
      estimated: this.#estimated,
      failed: this.#failed,
    };
  }

  get sample(): IdSample {
    return this.#sample;
  }

  /** How many partitions were walked. */
  get walked(): number {
    return this.#walked;
  }

  add({ partitions, idsTogether }: Pick<WalkPage, "partitions" | "idsTogether">): void {
    for (const partition of partitions) {
      if (idsTogether) this.#finishBefore(partition.seriesId);
      this.#add(partition);
    }
  }

  sizes(): TalliedSizes {
    const { share } = this.#sample;
    const scale = this.#scale();
    const sampled = this.#sampled.timeBuckets.result();
    const known = this.#known.timeBuckets.result();
    const omissions: WalkOmissions = {
      notCounted: this.#notCounted,
      estimated: this.#estimated,
      failed: this.#failed,
    };
    return {
      sampleShare: share,
      omissions,
      partitions: unitSizesOf(together(this.#sampled, this.#known, scale)),
      timeBuckets: unitSizesOf(together(sampled.sizes, known.sizes, scale)),
      widened: sampled.widened.map(({ seconds, bytes }, nth) => {
        const others = known.widened[nth]?.bytes ?? new SizeHistogram();
        return widenedSizesOf({ seconds, bytes: added(bytes, others, scale) });
      }),
    };
  }

  /** Undefined if the walk was begun by a process that knows no width map. */
  map(): TalliedMap | undefined {
    const { grids: sampled } = this.#sampled;
    const { grids: known } = this.#known;
    if (sampled === undefined || known === undefined) return undefined;
    const all = new WidthGridTally(this.#timePartition);
    const scale = this.#scale();
    all.merge(sampled.grids(), scale);
    all.merge(known.grids());
    const { bytes, events } = together(this.#sampled, this.#known, scale);
    return {
      shape: all.shape,
      sizes: bytes.distribution(),
      totalEvents: events.distribution().total,
      grids: all.grids(),
    };
  }

  /** The largest by bytes and the largest by events, each partition once, by bytes. */
  top(): TopPartition[] {
    const all = new Set([...this.#byBytes.items(), ...this.#byEvents.items()]);
    return [...all].toSorted(byBytes);
  }

  /** All partitions are listed, so their number is exact also where sizes are a sample's. */
  #scale(): number {
    const counted = this.#sampled.bytes.count;
    return counted === 0 ? 1 : (counted + this.#notCounted) / counted;
  }

  #add({ seriesId, timeBucket, eventBucket, size }: WalkedPartition): void {
    this.#walked++;
    if (size.kind === "not counted") {
      this.#notCounted++;
      return;
    }
    if (size.kind === "damaged") {
      this.#failed++;
      return;
    }
    const { bytes, events, exact } = size;
    if (!exact) this.#estimated++;
    const group = this.#sample.isKnown(seriesId) ? this.#known : this.#sampled;
    group.bytes.add(bytes);
    group.events.add(events);
    group.timeBuckets.add(seriesId, timeBucket, bytes, events);
    group.grids?.add(seriesId, timeBucket, bytes, events);
    const top = { seriesId, timeBucket, eventBucket, bytes, events, exact };
    this.#byBytes.add(top);
    this.#byEvents.add(top);
  }

  #finishBefore(seriesId: string): void {
    const last = this.#lastId;
    this.#lastId = seriesId;
    if (last === undefined || last === seriesId) return;
    this.#sampled.timeBuckets.finish(last);
    this.#known.timeBuckets.finish(last);
  }
}

function together(sampled: UnitHistograms, known: UnitHistograms, scale: number): UnitHistograms {
  return {
    bytes: added(sampled.bytes, known.bytes, scale),
    events: added(sampled.events, known.events, scale),
  };
}

/** The sample for all that it stands for, and the known ones as they are. */
function added(sampled: SizeHistogram, known: SizeHistogram, scale: number): SizeHistogram {
  const all = new SizeHistogram();
  all.merge(scale === 1 ? sampled : sampled.scaled(scale));
  all.merge(known);
  return all;
}

function byBytes(a: TopPartition, b: TopPartition): number {
  return b.bytes - a.bytes;
}

function byEvents(a: TopPartition, b: TopPartition): number {
  return b.events - a.events;
}
