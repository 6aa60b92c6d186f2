/**
 * Walks one slice, page by page, at a bounded rate, and returns what it found. No request waits for
 * it: it rests after each page as long as the rate demands.
 *
 * A slice with more bytes than the budget is counted for a sample of its ids. A walk that reaches
 * its time limit ends there, and its result says so. It saves how far it has come, and another walk
 * can continue there.
 */
import type { Clock } from "../lib/clock.ts";
import { ServiceError } from "../lib/errors.ts";
import type { SliceRef } from "../model/partition.ts";
import type { TimeSlice } from "../model/time-slice.ts";
import type { EventStore } from "../ports/event-store.ts";
import type { WalkPage, WalkRequest } from "../ports/partition-walk.ts";
import type { WalkPosition } from "../records/walk-positions.ts";
import type { IdSample } from "./id-sample.ts";
import { WalkTally } from "./walk-tally.ts";

export interface WalkRate {
  readonly bytesPerSecond: number;
  readonly partitionsPerSecond: number;
}

export interface WalkSliceOptions {
  readonly store: EventStore;
  readonly clock: Clock;
  readonly rate: WalkRate;
  readonly msMax: number;
  readonly sample: IdSample;
  /** Where an earlier walk of the slice stopped; undefined for the beginning. */
  readonly resumed: Omit<WalkPosition, "epoch" | "sealed"> | undefined;
  /** Called after each page; false ends the walk without a result. */
  readonly paged: (page: WalkPage) => boolean;
  /** Stores how far the walk has come, now and then; false ends the walk without a result. */
  readonly save: (position: Omit<WalkPosition, "epoch" | "sealed">) => Promise<boolean>;
}

export interface SliceWalk {
  readonly asOf: number;
  readonly endedAt: number;
  readonly complete: boolean;
  readonly tally: WalkTally;
  /** Where to continue; undefined if it is complete. */
  readonly rest: Pick<WalkPosition, "after" | "tally"> | undefined;
}

/** Of one page: small enough that a stop, or a lost lease, ends the walk soon. */
const PAGE_PARTITIONS = 512;
const PAGE_BYTES = 4 << 20;
const PAGE_MS = 1_000;
/** Above this, the rest of a partition is estimated. Six times as large as one should be. */
const COUNT_BYTES_MAX = 64 << 20;
/** What a process that dies loses at most. */
const SAVE_MS = 30_000;
const FAILURES_MAX = 5;
const RETRY_MS = 1_000;

/** Undefined if `paged` or `save` ended it. Rejects if the storage fails again and again, or on damage. */
export async function walkSlice(
  options: WalkSliceOptions,
  ref: SliceRef,
  slice: TimeSlice,
  signal: AbortSignal,
): Promise<SliceWalk | undefined> {
  const { clock, msMax, paged, resumed, save } = options;
  const asOf = resumed?.asOf ?? clock.nowMicros();
  const beganMs = clock.monotonicMs() - (resumed?.spentMs ?? 0);
  const tally =
    resumed === undefined
      ? new WalkTally(slice.timePartition, options.sample)
      : WalkTally.of(slice.timePartition, resumed.tally);
  const { sample } = tally;
  const counts: WalkRequest["counts"] = ({ seriesId }) => sample.counts(seriesId);
  let savedMs = clock.monotonicMs();
  for (let after = resumed?.after; ;) {
    const startedMs = clock.monotonicMs();
    const page = await nextPage(options, ref, { after, counts }, signal);
    tally.add(page);
    if (!paged(page)) return undefined;
    const spentMs = clock.monotonicMs() - beganMs;
    const { next } = page;
    if (next === undefined || spentMs >= msMax) {
      const rest = next === undefined ? undefined : { after: next, tally: tally.state() };
      return { asOf, endedAt: clock.nowMicros(), complete: rest === undefined, tally, rest };
    }
    after = next;
    if (clock.monotonicMs() - savedMs >= SAVE_MS) {
      if (!(await save({ asOf, after, spentMs, tally: tally.state() }))) return undefined;
      savedMs = clock.monotonicMs();
    }
    const restMs = restAfter(page, options.rate) - (clock.monotonicMs() - startedMs);
    if (restMs > 0) await clock.sleep(restMs, signal);
    signal.throwIfAborted();
  }
}

/** How long a page should take at least. */
function restAfter({ bytesRead, partitions }: WalkPage, rate: WalkRate): number {
  const seconds = Math.max(
    bytesRead / rate.bytesPerSecond,
    partitions.length / rate.partitionsPerSecond,
  );
  return seconds * 1_000;
}

/** The position stays good, so a page that failed is asked for again. */
async function nextPage(
  { store, clock }: WalkSliceOptions,
  ref: SliceRef,
  { after, counts }: Pick<WalkRequest, "after" | "counts">,
  signal: AbortSignal,
): Promise<WalkPage> {
  const request: WalkRequest = {
    after,
    counts,
    partitionsMax: PAGE_PARTITIONS,
    bytesMax: PAGE_BYTES,
    msMax: PAGE_MS,
    countBytesMax: COUNT_BYTES_MAX,
  };
  for (let failures = 1; ; failures++) {
    try {
      return await store.walkPartitions(ref, request, signal);
    } catch (error) {
      signal.throwIfAborted();
      const damaged = error instanceof ServiceError && error.code === "DATA_LOSS";
      if (damaged || failures === FAILURES_MAX) throw error;
      await clock.sleep(RETRY_MS * 2 ** failures, signal);
      signal.throwIfAborted();
    }
  }
}
