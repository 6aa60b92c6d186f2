/** Looks at one namespace and names a remedy for each problem of its partitions. */
import type { NamespaceConfig } from "../model/namespace-config.ts";
import { partitionText } from "../model/partition.ts";
import type { PartitionKey, SliceRef } from "../model/partition.ts";
import type { SliceHistogram } from "../model/slice-histogram.ts";
import type { SplitRecord } from "../model/split.ts";
import type { Catalog } from "../ports/catalog.ts";
import type { Fragments } from "../ports/fragments.ts";
import type { DroppedSnapshots } from "../ports/snapshots.ts";
import { readHistograms } from "../records/histogram-records.ts";
import { readReadyNamespace } from "../records/namespace-records.ts";
import type { NamespaceRecord } from "../records/namespace-records.ts";
import { ID_STRATEGIES_MAX } from "../records/id-strategies.ts";
import { readSlices } from "../records/slice-records.ts";
import { splitIdOf } from "../records/split-ids.ts";
import { listSplits, slicesWithSplits } from "../records/split-records.ts";
import { readTopPartitions } from "../records/top-partition-records.ts";
import { readKillSwitch } from "../splits/record/kill-switch.ts";
import { holdsEnough, recentSlices } from "../tune/decide-tuning.ts";
import { judgeSizes } from "../tune/judge-sizes.ts";
import type { SizeVerdict } from "../tune/judge-sizes.ts";
import { SizePrediction } from "../tune/predict-sizes.ts";
import type { TuningList } from "../tune/tunings.ts";
import { remediesOf } from "./remedies.ts";
import type { NamespaceCondition, RecentReads, Remedy, WidePartition } from "./remedies.ts";

export interface DoctorOptions {
  readonly catalog: Catalog;
  /** The tunings, and what the tuner would propose now or why nothing. */
  readonly tunings: (namespace: string) => Promise<TuningList>;
  /** How long reads took at this server in the last minutes; undefined if there were none. */
  readonly recentReads: (namespace: string) => RecentReads | undefined;
  /** How scattered a slice lies in the storage; undefined where the engine cannot tell. */
  readonly fragments: (slice: SliceRef) => Promise<Fragments | undefined>;
  readonly droppedSnapshots: (namespaceId: string) => Promise<DroppedSnapshots | undefined>;
}

/** The widest partitions that get an entry of their own. */
const WIDE_MAX = 20;
/** Split records read: more say nothing new. */
const RECORDS_MAX = 5_000;
/** Slices asked for their widest partitions, newest first. */
const SLICES_MAX = 5;

export class Doctor {
  readonly #options: DoctorOptions;

  constructor(options: DoctorOptions) {
    this.#options = options;
  }

  async remediesFor(namespace: string): Promise<readonly Remedy[]> {
    const { catalog } = this.#options;
    const record = await readReadyNamespace(catalog, namespace);
    const histograms = await readHistograms(catalog, record.id);
    const { on } = await readKillSwitch(catalog);
    const { config } = record;
    // As the tuner sees it: others do not show what future slices will be like.
    const newest = recentSlices({ config, histograms }).findLast((each) =>
      holdsEnough(each, config),
    );
    return remediesOf({
      namespace: record,
      killSwitchOn: on,
      verdict: newest === undefined ? undefined : judged(newest, record),
      tuning: await this.#options.tunings(namespace),
      reads: this.#options.recentReads(namespace),
      snapshots: await this.#snapshots(record.id),
      grownIds: { count: record.idStrategyCount, max: ID_STRATEGIES_MAX },
      wide: await this.#widest(record, histograms),
    });
  }

  async #snapshots(namespaceId: string): Promise<NamespaceCondition["snapshots"]> {
    const { catalog, droppedSnapshots } = this.#options;
    const slices = await readSlices(catalog, namespaceId);
    const dropped = slices.filter(({ state }) => state === "DROPPED").length;
    if (dropped === 0) return undefined;
    const found = await droppedSnapshots(namespaceId);
    return found === undefined ? undefined : { ...found, dropped };
  }

  async #widest(
    { id, config }: NamespaceRecord,
    histograms: readonly SliceHistogram[],
  ): Promise<WidePartition[]> {
    const { catalog } = this.#options;
    const found = new Map<string, Seen>();
    for (const { timeSlice } of histograms.slice(-SLICES_MAX)) {
      const slice = { namespaceId: id, slice: timeSlice };
      const top = await readTopPartitions(catalog, slice);
      const hasOthers = new Set(top?.partitions.map(({ seriesId }) => seriesId)).size > 1;
      for (const { bytes, events, ...key } of top?.partitions ?? []) {
        if (!isWide({ bytes, events }, config)) continue;
        const { seriesId, timeBucket, eventBucket } = key;
        const partition = { ...slice, seriesId, timeBucket, eventBucket };
        const share = hasOthers ? bytes / Math.max(1, top?.totalBytes ?? bytes) : undefined;
        found.set(partitionText(partition), { partition, bytes, events, share, split: undefined });
      }
    }
    for await (const split of this.#splits(id)) {
      const { partition, bytes, events } = split;
      const name = partitionText(partition);
      const seen = found.get(name);
      // An operator may have had a narrow one split: that is no problem once it is done.
      if (seen === undefined && isDone(split) && !isWide(split, config)) continue;
      found.set(name, { ...(seen ?? { partition, bytes, events, share: undefined }), split });
    }
    const widest = [...found.values()].sort((a, b) => b.bytes - a.bytes).slice(0, WIDE_MAX);
    return Promise.all(widest.map((seen) => this.#describe(seen)));
  }

  async *#splits(namespaceId: string): AsyncGenerator<SplitRecord, void, undefined> {
    const { catalog } = this.#options;
    let left = RECORDS_MAX;
    for (const slice of [...(await slicesWithSplits(catalog, namespaceId))].sort().toReversed()) {
      // A record that cannot be decoded hides no other.
      const skip = (): void => undefined;
      for await (const split of listSplits(catalog, { namespaceId, slice }, skip)) {
        if (left-- <= 0) return;
        yield split;
      }
    }
  }

  async #describe({ partition, bytes, events, share, split }: Seen): Promise<WidePartition> {
    const fragmented = split?.history.at(-1)?.cause === "fragmented";
    const fragments = fragmented ? await this.#options.fragments(partition) : undefined;
    return {
      timeSlice: partition.slice,
      timeSeriesId: partition.seriesId,
      bytes,
      events,
      share,
      splitId: splitIdOf(partition),
      split,
      compactCommand: fragments?.compactCommand,
    };
  }
}

interface Seen extends Pick<WidePartition, "bytes" | "events" | "share" | "split"> {
  readonly partition: PartitionKey;
}

function isWide(
  { bytes, events }: { readonly bytes: number; readonly events: number },
  { widePartition: { bytesMax, eventsMax } }: NamespaceConfig,
): boolean {
  return bytes > bytesMax || events > eventsMax;
}

function isDone({ state }: SplitRecord): boolean {
  return state === "COMPLETED" || state === "REFUSED";
}

function judged(histogram: SliceHistogram, { config }: NamespaceRecord): SizeVerdict {
  return judgeSizes(new SizePrediction(histogram).present(), config.tuning);
}
