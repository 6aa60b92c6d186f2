/**
 * What a partitioning costs in one world. Pure, and the inner loop of the simulation.
 *
 * All costs are in one unit, the doubling: reads that take twice as long, twice the disk, a
 * partition of twice the limit, twice the writes that one partition can take. So costs add up, and
 * each can be explained. A cost counts by the share of reads, events or bytes that pay it.
 */
import type { NamespaceConfig, TimePartition } from "../model/namespace-config.ts";
import type { PartitionCost } from "../model/partition-plan.ts";
import { partitionsPerRead } from "../model/read-amplification.ts";
import { rateLevels } from "./bursts.ts";
import type { World } from "./worlds.ts";

/** The node's processor time for asking one partition, measured (docs/performance.md). */
export const PARTITION_READ_MS = 0.5;
/** For each byte of events read, at 32 MB/s: rows of narrow partitions, measured there too. */
export const BYTE_READ_MS = 1_000 / 32e6;
/** A read that takes its whole target for reaching partitions costs one doubling, at most this. */
const SLOW_MAX = 4;
/** Each doubling beyond the limit counts this often: the splitter copies it, checks it, serves it. */
const WIDE_WEIGHT = 2;
/** Writes per second that one partition takes before its replicas are a hot spot. */
const PARTITION_WRITES_MAX = 1_000;
/** Key, index entry and filter of a partition, on disk. */
const PARTITION_BYTES = 128;
/** Cassandra suffers at some hundreds of tables: this many cost one doubling, by the square. */
const TABLES_DOUBLING = 400;
/** Schema changes: this many new slices a day cost one doubling. */
const SLICES_PER_DAY_DOUBLING = 100;
const DAY_SECONDS = 86_400;

/** Time bucket and event buckets: what decides the size of partitions. */
export type PartitionShape = Omit<TimePartition, "secondsPerTimeSlice">;

export interface ShapeCost {
  /** Reads that take longer than from one partition, and those slower than their target. */
  readonly reads: number;
  readonly wide: number;
  readonly hotSpots: number;
  /** Bytes of events in partitions beyond the limit, which splits copy, as a share of all. */
  readonly wideShare: number;
  /** Bytes of keys of partitions, in proportion to those of events. */
  readonly keysShare: number;
  /** The means over all reads. */
  readonly partitionsPerRead: number;
  readonly bytesPerRead: number;
}

export function shapeCost(
  world: World,
  shape: PartitionShape,
  { widePartition, slos }: Pick<NamespaceConfig, "widePartition" | "slos">,
): ShapeCost {
  const { eventBytes } = world;
  const { idShare, relativeRate } = world.groups;
  const { secondsPerTimeBucket: width, eventBuckets } = shape;
  const levels = rateLevels(world.burstiness, width);
  let [reads, wide, hotSpots, wideShare, partitionsPerDay] = [0, 0, 0, 0, 0];
  let [asked, bytesRead] = [0, 0];
  for (let group = 0; group < idShare.length; group++) {
    const share = idShare[group] as number;
    const relative = relativeRate[group] as number;
    const perDay = relative * world.eventsPerDay;
    const events = share * relative;
    const readShare = readShareOf(share, events);
    const seconds = readSecondsOf(world, perDay);
    const partitions = partitionsPerRead(seconds, shape);
    const bytes = ((perDay * seconds) / DAY_SECONDS) * eventBytes;
    asked += readShare * partitions;
    bytesRead += readShare * bytes;
    const askedMs = partitions * PARTITION_READ_MS;
    const bytesMs = bytes * BYTE_READ_MS;
    const slow = Math.min(SLOW_MAX, askedMs / slos.read.targetMs);
    reads += readShare * (Math.log2((askedMs + bytesMs) / (PARTITION_READ_MS + bytesMs)) + slow);
    const mean = (perDay * width) / DAY_SECONDS / eventBuckets;
    for (const { timeShare, factor } of levels) {
      const count = mean * factor;
      if (count <= 0) continue;
      const occupied = -Math.expm1(-count);
      partitionsPerDay += share * timeShare * occupied;
      const beyond = beyondLimit(count / occupied, eventBytes, widePartition);
      if (beyond <= 1) continue;
      wide += readShare * timeShare * factor * WIDE_WEIGHT * Math.log2(beyond);
      wideShare += events * timeShare * factor;
    }
    const peak = (perDay * world.burstiness) / DAY_SECONDS / eventBuckets;
    if (peak > PARTITION_WRITES_MAX) hotSpots += events * Math.log2(peak / PARTITION_WRITES_MAX);
  }
  const bytesPerId = world.eventsPerDay * eventBytes;
  const keys = ((partitionsPerDay * DAY_SECONDS) / width) * eventBuckets * PARTITION_BYTES;
  return {
    reads,
    wide,
    hotSpots,
    wideShare,
    keysShare: keys / bytesPerId,
    partitionsPerRead: asked,
    bytesPerRead: bytesRead,
  };
}

export function partitionCost(
  { reads, wide, hotSpots, wideShare, keysShare }: ShapeCost,
  sliceSeconds: number,
  { retention, acceptLimitMicros }: Pick<NamespaceConfig, "retention" | "acceptLimitMicros">,
): PartitionCost {
  const tables = tablesOf(sliceSeconds, { retention, acceptLimitMicros });
  return {
    reads,
    wide,
    hotSpots,
    disk: Math.log2(1 + wideShare + keysShare + lingeringShare(sliceSeconds, retention)),
    tables: (tables / TABLES_DOUBLING) ** 2 + DAY_SECONDS / sliceSeconds / SLICES_PER_DAY_DOUBLING,
  };
}

export function totalCost({ reads, wide, hotSpots, disk, tables }: PartitionCost): number {
  return reads + wide + hotSpots + disk + tables;
}

/** How far a read of such an id reaches back: to the end of its interval, or of its events. */
function readSecondsOf({ readSeconds, eventsPerRead }: World, eventsPerDay: number): number {
  return Math.min(readSeconds, (eventsPerRead / eventsPerDay) * DAY_SECONDS);
}

/** Half of the reads ask any id, half ask ids in proportion to their events. */
export function readShareOf(idShare: number, eventShare: number): number {
  return (idShare + eventShare) / 2;
}

/** How many times the limit a partition with this many events has; at most 1: it is not wide. */
export function beyondLimit(
  events: number,
  eventBytes: number,
  { bytesMax, eventsMax }: Pick<NamespaceConfig["widePartition"], "bytesMax" | "eventsMax">,
): number {
  return Math.max((events * eventBytes) / bytesMax, events / eventsMax);
}

/** Each slice has one for its events and one for its splits (rule C18). */
const TABLES_PER_SLICE = 2;

/** Tables that exist at a time, those of the current slice and of the one ahead included. */
export function tablesOf(
  sliceSeconds: number,
  { retention, acceptLimitMicros }: Pick<NamespaceConfig, "retention" | "acceptLimitMicros">,
): number {
  const seconds = Math.max(retention.deleteAfterMicros, acceptLimitMicros) / 1e6;
  return (Math.ceil(seconds / sliceSeconds) + 2) * TABLES_PER_SLICE;
}

/** A slice is dropped as a whole: its oldest events stay for up to a slice longer than they must. */
export function lingeringShare(
  sliceSeconds: number,
  { deleteAfterMicros }: NamespaceConfig["retention"],
): number {
  return (sliceSeconds * 1e6) / deleteAfterMicros;
}
