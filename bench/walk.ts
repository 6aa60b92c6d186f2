/**
 * How fast a walk over the partitions of a slice is, and what it costs the reads beside it, on both
 * engines, with the engine and its reader in this process.
 *
 * Reads are measured by turns: alone, beside a walk at the rate that a server has by default, and
 * beside one without a limit. The median of the rounds counts.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openCassandraEngine } from "../src/engines/cassandra/index.ts";
import { openEmbeddedEngine } from "../src/engines/embedded/index.ts";
import { systemClock } from "../src/lib/clock.ts";
import { systemRandom } from "../src/lib/random.ts";
import type { SliceRef } from "../src/model/partition.ts";
import type { EventStore } from "../src/ports/event-store.ts";
import { IdSample } from "../src/sizes/id-sample.ts";
import { walkSlice } from "../src/sizes/walk-slice.ts";
import type { WalkRate } from "../src/sizes/walk-slice.ts";
import { placed } from "../tests/conformance/event-store.ts";
import { startOneNode } from "./support/one-node.ts";
import { note, Report } from "./support/report.ts";
import { byTurns, inFlight, median, percentile, seconds } from "./support/stats.ts";

export const WALK_FLAGS = "[--embedded] [--cassandra] [--quick]";

/** A gigabyte of a million partitions is what a walk counts; this is enough for its speed. */
const IDS = { whole: 20_000, quick: 4_000 };
const EVENTS_PER_ID = 10;
const EVENT_BYTES = 400;
const ROUNDS = { whole: 5, quick: 3 };
const READ_MS = 3_000;
const READERS = 2;
const START = 1_774_656_000_000_000;
const SLICE = {
  name: "data_20260328",
  start: START,
  end: START + 86_400_000_000,
  timePartition: { secondsPerTimeSlice: 86_400, secondsPerTimeBucket: 3_600, eventBuckets: 1 },
  state: "OPEN",
} as const;
/** The settings `walk.bytes_per_second` and `walk.partitions_per_second` by default. */
const USUAL: WalkRate = { bytesPerSecond: 8 << 20, partitionsPerSecond: 5_000 };
const UNLIMITED: WalkRate = { bytesPerSecond: Infinity, partitionsPerSecond: Infinity };

export async function benchWalk(flags: readonly string[]): Promise<Report> {
  const report = new Report("walk");
  const quick = flags.includes("--quick");
  const both = !flags.includes("--embedded") && !flags.includes("--cassandra");
  if (both || flags.includes("--embedded")) await benchOnEmbedded(report, quick);
  if (both || flags.includes("--cassandra")) await benchOnCassandra(report, quick);
  return report;
}

async function benchOnEmbedded(report: Report, quick: boolean): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), "braid-bench-walk-"));
  try {
    const engine = await openEmbeddedEngine({ directory, clock: systemClock });
    await benchEngine(report, "embedded", engine.store, quick);
    await engine.close();
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function benchOnCassandra(report: Report, quick: boolean): Promise<void> {
  const node = await startOneNode("walk");
  try {
    const engine = await openCassandraEngine({
      contactPoints: [node.contactPoint],
      datacenter: "datacenter1",
      replication: { datacenter1: 1 },
      keyspace: "bench_walk",
      clock: systemClock,
      random: systemRandom,
      viewMaxAgeMs: 10_000,
      writeMaxMs: 10_000,
      jolokiaPort: 0,
    });
    await benchEngine(report, "cassandra", engine.store, quick);
    await engine.close();
  } finally {
    await node.stop();
  }
}

async function benchEngine(
  report: Report,
  engine: string,
  store: EventStore,
  quick: boolean,
): Promise<void> {
  const ids = quick ? IDS.quick : IDS.whole;
  const ref = { namespaceId: "bench-1", slice: SLICE.name };
  await store.createSlice(ref);
  await load(store, ref, ids);
  const walks: { readonly partitions: number; readonly bytes: number }[] = [];
  const reads = { alone: [], usual: [], unlimited: [] } as Record<Beside, number[][]>;
  // The first round warms up.
  for (let round = -1; round < (quick ? ROUNDS.quick : ROUNDS.whole); round++) {
    const walk = await walkOnce(store, ref);
    if (round >= 0) walks.push(walk);
    for (const beside of byTurns<Beside>(["alone", "usual", "unlimited"], round + 1)) {
      const taken = await readBeside(store, ref, ids, beside);
      if (round >= 0) reads[beside].push(taken);
    }
  }
  const rate = (of: "partitions" | "bytes"): number => median(walks.map((walk) => walk[of]));
  const figure = `${ids} partitions of ${EVENTS_PER_ID} events, no limit, nothing beside it`;
  report.add({ ...SHOWN, name: `${engine}: partitions/s`, value: rate("partitions"), figure });
  report.add({ ...SHOWN, name: `${engine}: MB/s`, value: rate("bytes") / 1e6, figure });
  for (const percent of [50, 99]) {
    const ms = (beside: Beside): number =>
      median(reads[beside].map((taken) => percentile(taken, percent)));
    for (const beside of ["usual", "unlimited"] as const) {
      report.add({
        ...SHOWN,
        name: `${engine}: read p${percent} beside a walk (${beside} rate) / alone`,
        value: ms(beside) / ms("alone"),
        figure: `${ms(beside).toFixed(2)} / ${ms("alone").toFixed(2)} ms`,
      });
    }
  }
}

type Beside = "alone" | "usual" | "unlimited";

const SHOWN = { goal: "", met: true };

async function load(store: EventStore, ref: SliceRef, ids: number): Promise<void> {
  note(`writing ${ids} partitions`);
  const text = "a".repeat(EVENT_BYTES);
  const batches = Array.from({ length: ids / 20 }, (_, nth) => nth * 20);
  // Few at a time: a node that has just started refuses more.
  await inFlight(batches, 2, async (first) => {
    const events = Array.from({ length: 20 * EVENTS_PER_ID }, (_, nth) => {
      const id = first + Math.floor(nth / EVENTS_PER_ID);
      return placed(`profile:${id}`, START + (nth % EVENTS_PER_ID), `e${nth}`, text);
    });
    await store.append(ref, events);
  });
}

/** Partitions and bytes per second, without a limit. */
async function walkOnce(
  store: EventStore,
  ref: SliceRef,
): Promise<{ partitions: number; bytes: number }> {
  let [partitions, bytes] = [0, 0];
  const took = await seconds(() =>
    walk(store, ref, UNLIMITED, (page) => {
      partitions += page.partitions;
      bytes += page.bytes;
      return true;
    }),
  );
  return { partitions: partitions / took, bytes: bytes / took };
}

/** Milliseconds of each read, for a while, beside walks that follow one another. */
async function readBeside(
  store: EventStore,
  ref: SliceRef,
  ids: number,
  beside: Beside,
): Promise<number[]> {
  const untilMs = performance.now() + READ_MS;
  const isOver = (): boolean => performance.now() >= untilMs;
  const walking = beside === "alone" ? undefined : walkUntil(store, ref, beside, isOver);
  const taken: number[] = [];
  await Promise.all(
    Array.from({ length: READERS }, async (_, reader) => {
      for (let nth = 0; !isOver(); nth++) {
        const id = (nth * 7_919 + reader * 104_729) % ids;
        const began = performance.now();
        await read(store, ref, `profile:${id}`);
        taken.push(performance.now() - began);
      }
    }),
  );
  await walking;
  return taken;
}

async function walkUntil(
  store: EventStore,
  ref: SliceRef,
  beside: Beside,
  isOver: () => boolean,
): Promise<void> {
  const rate = beside === "usual" ? USUAL : UNLIMITED;
  while (!isOver()) await walk(store, ref, rate, () => !isOver());
}

async function walk(
  store: EventStore,
  ref: SliceRef,
  rate: WalkRate,
  paged: (page: { readonly partitions: number; readonly bytes: number }) => boolean,
): Promise<void> {
  await walkSlice(
    {
      store,
      clock: systemClock,
      rate,
      msMax: 3_600_000,
      sample: new IdSample(1),
      resumed: undefined,
      save: () => Promise.resolve(true),
      paged: ({ partitions, bytesRead }) =>
        paged({ partitions: partitions.length, bytes: bytesRead }),
    },
    ref,
    SLICE,
    NEVER,
  );
}

const NEVER = new AbortController().signal;
const ALL = {
  from: 0,
  to: Number.MAX_SAFE_INTEGER,
  after: undefined,
  order: "NEWEST_FIRST",
  runEventsMax: 1_000,
  runBytesMax: 256 << 10,
} as const;

async function read(store: EventStore, ref: SliceRef, seriesId: string): Promise<void> {
  const partition = { ...ref, seriesId, timeBucket: 0, eventBucket: 0 };
  let events = 0;
  for await (const run of store.scan(partition, ALL, NEVER)) events += run.count;
  if (events !== EVENTS_PER_ID) throw new Error(`${seriesId} has ${events} events`);
}
