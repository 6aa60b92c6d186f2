/**
 * The planner's predictions hold: events are generated as a workload describes them, loaded into the
 * embedded engine, and the sizes of the partitions that a walk finds lie in the predicted bands.
 *
 * Scaled down: partitions are wide above 64 KiB, so that a few thousand events show what gigabytes
 * would.
 */
import { ok } from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { openEmbeddedEngine } from "../../src/engines/embedded/index.ts";
import { systemClock } from "../../src/lib/clock.ts";
import type { TimePartition } from "../../src/model/namespace-config.ts";
import { eventBucketOf, timeBucketOf } from "../../src/model/partition.ts";
import type { Band, PartitionPlan } from "../../src/model/partition-plan.ts";
import { sliceName } from "../../src/model/plan-slices.ts";
import type { TimeSlice } from "../../src/model/time-slice.ts";
import type { EventStore, PlacedEvent } from "../../src/ports/event-store.ts";
import type { WorkloadInput } from "../../src/provision/workload.ts";
import { planned } from "../support/planned.ts";
import { generateEvents, normal } from "./generate-events.ts";
import type { Truth } from "./generate-events.ts";

interface Case {
  readonly workload: WorkloadInput;
  readonly rate: Truth["rate"];
  /** What is true, where the workload only estimates it. */
  readonly truth?: Partial<Truth>;
  /** An alternative of the plan to load instead of the chosen one. */
  readonly alternative?: string;
}

const even: Truth["rate"] = () => 1;

const CASES: Readonly<Record<string, Case>> = {
  "sparse ids, all alike": {
    workload: {
      ids: { mid: 800 },
      eventsPerDayPerId: { mid: 2 },
      eventBytes: { mid: 200 },
      skew: { distribution: "EVEN" },
    },
    rate: even,
  },
  "log-normal ids": {
    workload: {
      ids: { mid: 400 },
      eventsPerDayPerId: { mid: 10 },
      eventBytes: { mid: 150 },
      skew: { distribution: "LOGNORMAL", parameter: { mid: 1.2 } },
    },
    rate: (random) => Math.exp(1.2 * normal(random)),
  },
  "ids by Zipf's law, with a busy hour": {
    workload: {
      ids: { mid: 300 },
      eventsPerDayPerId: { mid: 60 },
      eventBytes: { mid: 200 },
      burstiness: { mid: 4 },
      readIntervalSeconds: { mid: 3_600 },
      skew: { distribution: "ZIPF", parameter: { mid: 1 } },
    },
    rate: (_random, n) => 1 / (n + 1),
  },
  "Pareto ids": {
    workload: {
      ids: { mid: 400 },
      eventsPerDayPerId: { mid: 8 },
      eventBytes: { mid: 200 },
      skew: { distribution: "PARETO", parameter: { mid: 2 } },
    },
    rate: (random) => (1 - random.fraction()) ** (-1 / 2),
  },
  "a few dense ids, in bursts": {
    workload: {
      ids: { mid: 3 },
      eventsPerDayPerId: { mid: 8_000 },
      eventBytes: { mid: 100 },
      burstiness: { mid: 6 },
      skew: { distribution: "EVEN" },
    },
    rate: even,
  },
  "percentiles of ids": {
    workload: {
      ids: { mid: 500 },
      eventsPerDayPerId: { mid: 12 },
      eventBytes: { mid: 200 },
      skew: {
        percentiles: [
          { percentile: 50, eventsPerDay: 4 },
          { percentile: 90, eventsPerDay: 20 },
          { percentile: 100, eventsPerDay: 600 },
        ],
      },
    },
    rate: (_random, n) => powerBetween((n + 1) / 500),
  },
  "an estimate that is off by half": {
    workload: {
      ids: { low: 200, mid: 300, high: 450 },
      eventsPerDayPerId: { low: 5, mid: 10, high: 20 },
      eventBytes: { low: 100, mid: 150, high: 250 },
      skew: { distribution: "LOGNORMAL", parameter: { low: 0.5, mid: 1, high: 1.5 } },
    },
    truth: { ids: 350, eventsPerDay: 15, eventBytes: 180 },
    rate: (random) => Math.exp(0.8 * normal(random)),
  },
  "two event buckets": {
    workload: {
      ids: { mid: 100 },
      eventsPerDayPerId: { mid: 200 },
      eventBytes: { mid: 100 },
      burstiness: { mid: 3 },
      skew: { distribution: "EVEN" },
    },
    alternative: "more event buckets",
    rate: even,
  },
};

/** Skewed and tiny ones, of which one slice shows little: so many slices of each are generated. */
const SMALL_CASES: Readonly<Record<string, Case>> = {
  "one id with three events a day": {
    workload: {
      ids: { mid: 1 },
      eventsPerDayPerId: { mid: 3 },
      eventBytes: { mid: 200 },
      skew: { distribution: "EVEN" },
    },
    rate: even,
  },
  "two ids that differ": {
    workload: {
      ids: { mid: 2 },
      eventsPerDayPerId: { mid: 50 },
      eventBytes: { mid: 200 },
      skew: { distribution: "LOGNORMAL", parameter: { mid: 1 } },
    },
    rate: (random) => Math.exp(normal(random)),
  },
  "twenty ids, of which one has most": {
    workload: {
      ids: { mid: 20 },
      eventsPerDayPerId: { mid: 200 },
      eventBytes: { mid: 100 },
      skew: { distribution: "ZIPF", parameter: { mid: 2 } },
    },
    rate: (_random, n) => (n + 1) ** -2,
  },
  "sparse Pareto ids": {
    workload: {
      ids: { mid: 2_000 },
      eventsPerDayPerId: { mid: 0.05 },
      eventBytes: { mid: 200 },
      skew: { distribution: "PARETO", parameter: { mid: 1.16 } },
    },
    rate: (random) => (1 - random.fraction()) ** (-1 / 1.16),
  },
  "all events of a day in an hour": {
    workload: {
      ids: { mid: 10 },
      eventsPerDayPerId: { mid: 200 },
      eventBytes: { mid: 150 },
      burstiness: { mid: 24 },
      skew: { distribution: "EVEN" },
    },
    rate: even,
  },
  "very skewed ids": {
    workload: {
      ids: { mid: 500 },
      eventsPerDayPerId: { mid: 5 },
      eventBytes: { mid: 150 },
      skew: { distribution: "LOGNORMAL", parameter: { mid: 2.5 } },
    },
    rate: (random) => Math.exp(2.5 * normal(random)),
  },
};

/** The rate of the id in the busiest `top` of all: powers between the percentiles above. */
function powerBetween(top: number): number {
  const between = (upper: number, high: number, lower: number, low: number): number =>
    high * (upper / top) ** (Math.log(high / low) / Math.log(lower / upper));
  return top < 0.1 ? between(1 / 500, 600, 0.1, 20) : between(0.1, 20, 0.5, 4);
}

const LIMITS = { widePartition: { bytesMax: 65_536, targetBytes: 65_536 } };
/** Bands are from the 5th to the 95th percentile, so that some seeds fall outside somewhere. */
const SEED = 20_261_118;

for (const [name, { workload, truth, rate, alternative }] of Object.entries(CASES)) {
  test(`${name}: measured sizes lie in the predicted bands`, async () => {
    const answer = planned(workload, { patch: LIMITS, worlds: 64 });
    const plan =
      alternative === undefined
        ? answer.chosen
        : answer.alternatives.find((each) => each.name === alternative)?.plan;
    ok(plan !== undefined, alternative);
    const sizes = await measured(plan.timePartition, truthOf({ workload, truth, rate }));
    const found = compared(plan, sizes);
    const shown = found.map(({ what, band, size }) => `${what} ${size} of ${text(band)}`);
    const where = `${JSON.stringify(plan.timePartition)} seed ${SEED}`;
    for (const { what, isWithin } of found) ok(isWithin, `${what}: ${shown.join(", ")} ${where}`);
  });
}

const SLICES = 20;
/** Nine of ten are expected. */
const WITHIN_MIN = 16;

for (const [name, each] of Object.entries(SMALL_CASES)) {
  test(`${name}: most generated slices lie in the predicted bands`, () => {
    const { chosen } = planned(each.workload, { patch: LIMITS, worlds: 64 });
    const slice = sliceOf(chosen.timePartition);
    const found = Array.from({ length: SLICES }, (_, nth) =>
      compared(chosen, generatedSizes(slice, truthOf(each), SEED + nth)),
    ).flat();
    for (const what of ["p50", "p99", "max"]) {
      const those = found.filter((one) => one.what === what);
      const within = those.filter(({ isWithin }) => isWithin).length;
      const sizes = those.map(({ size }) => size).join(", ");
      const band = text(those[0]?.band ?? chosen.maxBytes);
      ok(within >= WITHIN_MIN, `${what}: ${within} of ${those.length} in ${band}: ${sizes}`);
    }
  });
}

function truthOf({
  workload,
  truth = {},
  rate,
}: Omit<Case, "truth"> & { truth?: Case["truth"] | undefined }): Truth {
  return {
    ids: workload.ids?.mid ?? 0,
    eventsPerDay: workload.eventsPerDayPerId?.mid ?? 0,
    eventBytes: workload.eventBytes?.mid ?? 0,
    burstiness: workload.burstiness?.mid ?? 2,
    rate,
    ...truth,
  };
}

function compared(plan: PartitionPlan, sizes: readonly number[]) {
  const sorted = sizes.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.ceil(share * sorted.length) - 1] ?? 0;
  const found = [
    { what: "p50", band: plan.p50Bytes, size: at(0.5) },
    { what: "p99", band: plan.p99Bytes, size: at(0.99) },
    { what: "max", band: plan.maxBytes, size: at(1) },
  ];
  return found.map((each) => ({
    ...each,
    isWithin: each.size >= each.band.low && each.size <= each.band.high,
  }));
}

/** The same sizes as a loaded slice has, without storage. */
function generatedSizes(slice: TimeSlice, truth: Truth, seed: number): readonly number[] {
  const sizes = new Map<string, number>();
  const seconds = slice.timePartition.secondsPerTimeSlice;
  for (const { seriesId, time, eventId, event } of generateEvents(
    truth,
    { ...slice, seconds },
    seed,
  )) {
    const eventBucket = eventBucketOf(slice.timePartition.eventBuckets, eventId);
    const key = JSON.stringify([seriesId, timeBucketOf(slice, time), eventBucket]);
    sizes.set(key, (sizes.get(key) ?? 0) + event.bytes.length);
  }
  return [...sizes.values()];
}

function text({ low, high }: Band): string {
  return `${Math.round(low)} to ${Math.round(high)}`;
}

/** The sizes of all partitions of a slice, after it was loaded. */
async function measured(timePartition: TimePartition, truth: Truth): Promise<readonly number[]> {
  const directory = await mkdtemp(join(tmpdir(), "braid-provision-"));
  const engine = await openEmbeddedEngine({ directory, clock: systemClock });
  try {
    return await load(engine.store, sliceOf(timePartition), truth);
  } finally {
    await engine.close();
    await rm(directory, { recursive: true });
  }
}

function sliceOf(timePartition: TimePartition): TimeSlice {
  const seconds = timePartition.secondsPerTimeSlice;
  const start = Math.ceil(Date.UTC(2026, 2, 1) / 1_000 / seconds) * seconds * 1e6;
  const name = sliceName(start, seconds);
  return { name, start, end: start + seconds * 1e6, timePartition, state: "OPEN" };
}

async function load(store: EventStore, slice: TimeSlice, truth: Truth): Promise<readonly number[]> {
  const ref = { namespaceId: "plays-1", slice: slice.name };
  await store.createSlice(ref);
  const seconds = slice.timePartition.secondsPerTimeSlice;
  let batch: PlacedEvent[] = [];
  for (const { time, eventId, event } of generateEvents(truth, { ...slice, seconds }, SEED)) {
    const eventBucket = eventBucketOf(slice.timePartition.eventBuckets, eventId);
    batch.push({ event, timeBucket: timeBucketOf(slice, time), eventBucket });
    if (batch.length < 5_000) continue;
    await store.append(ref, batch);
    batch = [];
  }
  await store.append(ref, batch);
  const sizes: number[] = [];
  let after: string | undefined;
  do {
    const page = await store.walkPartitions(ref, { ...WALK, after }, new AbortController().signal);
    for (const { size } of page.partitions) {
      ok(size.kind === "counted" && size.exact);
      sizes.push(size.bytes);
    }
    after = page.next;
  } while (after !== undefined);
  return sizes;
}

const WALK = {
  partitionsMax: 1_000,
  bytesMax: 1 << 26,
  msMax: 10_000,
  countBytesMax: 1 << 26,
  counts: () => true,
};
