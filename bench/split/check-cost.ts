/**
 * What every read pays per partition to learn whether it is split: the opener called directly,
 * against opening the original.
 */
import { MemoryCatalog } from "../../tests/support/memory-catalog.ts";
import { MemoryStore } from "../../tests/support/memory-store.ts";
import { joinedSlices, staticView, viewSource } from "../../tests/support/static-view.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { systemRandom } from "../../src/lib/random.ts";
import { publishRoute } from "../../src/records/route-records.ts";
import type { PartitionKey } from "../../src/model/partition.ts";
import { NO_LATENCY } from "../../src/model/split.ts";
import type { SplitRecord } from "../../src/model/split.ts";
import { PartitionReader } from "../../src/partition/partition-reader.ts";
import type { ScanRange } from "../../src/ports/event-store.ts";
import type { ServeObserver } from "../../src/splits/serve/observer.ts";
import { RouteCache } from "../../src/splits/serve/route-cache.ts";
import { SplitServing } from "../../src/server/split-serving.ts";
import type { Report } from "../support/report.ts";
import { median, percentile } from "../support/stats.ts";
import { tell } from "./findings.ts";
import { timeMargins } from "../../src/model/time-margins.ts";

/** Split partitions of one slice, so that its filter is of a real size. */
const SPLITS = 20_000;
const ROUNDS = 9;
const CHECKS = 200_000;
const START = 1_790_000_000_000_000;
const DAY_MICROS = 86_400_000_000;
const RANGE: ScanRange = {
  from: START,
  to: START + DAY_MICROS,
  order: "NEWEST_FIRST",
  after: undefined,
  runEventsMax: 100,
  runBytesMax: 1 << 20,
};

export async function benchCheck(report: Report): Promise<void> {
  const day = { secondsPerTimeSlice: 86_400, secondsPerTimeBucket: 86_400, eventBuckets: 1 };
  const view = staticView({ slices: joinedSlices(START, [day]), readMode: "SERVE" });
  const catalog = new MemoryCatalog();
  const store = new MemoryStore();
  for (let n = 0; n < SPLITS; n++) await publishRoute(catalog, splitOf(partitionOf(`split:${n}`)));
  const { opener } = new SplitServing({
    catalog,
    store,
    views: viewSource(() => view),
    clock: systemClock,
    random: systemRandom,
    killSwitch: { on: () => false, stale: () => false },
    margins: timeMargins({ viewMaxAgeMs: 3_600e3, writeMaxMs: 10_000, clockSkewMs: 1_000 }),
    observe: SILENT,
    fallBack: () => undefined,
    by: "bench",
  });
  const never = new AbortController().signal;
  const narrow = Array.from({ length: 1_000 }, (_, n) => partitionOf(`narrow:${n}`));
  const split = Array.from({ length: 1_000 }, (_, n) => partitionOf(`split:${n}`));
  await untilLoaded(async () => (await opener.explain(view, partitionOf("split:0"))).route);

  const opened = await nanoseconds(
    narrow,
    (partition) => void new PartitionReader(store, systemClock, partition, RANGE, never),
  );
  const missed = await nanoseconds(
    narrow,
    (partition) => void opener.open(view, partition, RANGE, never),
  );
  addCheck(report, "filter miss", missed, opened);

  const routes = cachedRoutes(catalog);
  for (const partition of split) await routes.get(partition);
  const nothing = await nanoseconds(split, () => undefined);
  const cached = await nanoseconds(split, (partition) => void routes.current(partition));
  addCheck(report, "cached route", cached, nothing);

  const awaited = await nanoseconds(split, () => Promise.resolve());
  const planned = await nanoseconds(split, (partition) => opener.explain(view, partition));
  tell(
    report,
    "from filter hit to a plan of what is read from where, µs a partition",
    (median(planned) - median(awaited)) / 1000,
    "only where a partition is split",
  );
}

function addCheck(
  report: Report,
  name: string,
  paid: readonly number[],
  without: readonly number[],
): void {
  const over = (median(paid) - median(without)) / 1000;
  const [least, most] = [percentile(paid, 1) / 1000, percentile(paid, 100) / 1000];
  report.add({
    name: `the check on every read, ${name}, µs a partition`,
    figure: `${SPLITS} partitions of the slice are split; rounds from ${least.toFixed(2)} to ${most.toFixed(2)} µs, of which ${(median(without) / 1000).toFixed(2)} µs without it`,
    value: over,
    goal: "< 1 µs",
    met: over < 1,
  });
}

function cachedRoutes(catalog: MemoryCatalog): RouteCache {
  return new RouteCache({
    catalog,
    clock: systemClock,
    viewMaxAgeMs: 3_600e3,
    bytesMax: 64 << 20,
    observe: () => undefined,
    fetchTook: () => undefined,
    trouble: () => undefined,
  });
}

/** Per call, one figure a round. */
async function nanoseconds(
  partitions: readonly PartitionKey[],
  work: (partition: PartitionKey) => Promise<unknown> | void,
): Promise<number[]> {
  const figures: number[] = [];
  for (let round = -2; round < ROUNDS; round++) {
    const started = performance.now();
    for (let n = 0; n < CHECKS; n++) {
      const working = work(partitions[n % partitions.length] as PartitionKey);
      if (working !== undefined) await working;
    }
    if (round >= 0) figures.push((1e6 * (performance.now() - started)) / CHECKS);
  }
  return figures;
}

/** The first read that needs a filter starts to load it. */
async function untilLoaded(routeOf: () => Promise<string>): Promise<void> {
  for (let tries = 0; tries < 1_000; tries++) {
    if ((await routeOf()) !== "ORIGINAL_FILTER_MISS") return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error("the filter of the slice was not loaded");
}

function partitionOf(seriesId: string): PartitionKey {
  return { namespaceId: "plays-1", slice: "data_0", seriesId, timeBucket: 0, eventBucket: 0 };
}

function splitOf(partition: PartitionKey): SplitRecord {
  const range = { from: START, to: START + DAY_MICROS };
  const size = { bytes: 64 << 20, events: 300_000 };
  return {
    partition,
    namespace: "plays",
    state: "COMPLETED",
    epoch: 1,
    ...size,
    immutable: true,
    detectedAt: START,
    segments: [
      {
        ...range,
        epoch: 0,
        ...size,
        state: "COMPLETED",
        generation: 1,
        layout: "PACKED",
        strategy: "EVENT_BUCKETS",
        why: "",
        partBytes: 8 << 20,
        partsPlanned: 0,
        partRanges: [{ start: 0, count: 8 }],
        copiedTo: START,
        checksum: "0",
        confirmedAt: START,
      },
    ],
    fence: 1,
    owner: null,
    nextPart: 8,
    nextGeneration: 2,
    failures: 0,
    dueAt: null,
    heldBy: null,
    askedBy: null,
    latency: { before: NO_LATENCY, after: NO_LATENCY },
    history: [],
    version: 1,
  };
}

const SILENT: ServeObserver = {
  filterChecked: () => undefined,
  filterCheckTook: () => undefined,
  filterFalsePositive: () => undefined,
  routeCache: () => undefined,
  routeFetchTook: () => undefined,
  fellBack: () => undefined,
  compared: () => undefined,
  differenceChecked: () => undefined,
  trouble: () => undefined,
};
