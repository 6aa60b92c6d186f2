/**
 * Finds where the copy and the original of a part differ, for operators: digests show only that
 * they differ. It reads both once more, up to the first event that differs, in the order of the
 * second read: that read sees what the copying read may have missed.
 */
import { fromUtf8 } from "../../lib/bytes.ts";
import { routeSegmentOf } from "../../model/split.ts";
import type { PartRecord } from "../../model/split.ts";
import { strategyOf } from "../../model/strategies/strategies.ts";
import { findDifference } from "../../parts/find-difference.ts";
import type { DifferenceKind, FoundDifference } from "../../parts/find-difference.ts";
import { PartitionReader } from "../../partition/partition-reader.ts";
import { SegmentReader } from "../../parts/segment-reader.ts";
import { formatTime } from "../../wire/time-text.ts";
import { Interruption } from "./interruption.ts";
import { segmentOf } from "./split-job.ts";
import type { SplitJob } from "./split-job.ts";

const RUN_BYTES = 256 * 1024;
const RUN_EVENTS = 4_096;

const IN_WORDS: Readonly<Record<DifferenceKind, string>> = {
  ONLY_IN_ORIGINAL: "is only in the original",
  ONLY_IN_SPLIT: "is only in the copy",
  OTHER_BYTES: "has other bytes in the copy",
};

/**
 * The same mismatch, with the first difference if it finds one. Rejects only if the signal of the
 * work has aborted.
 */
export async function withFirstDifference(
  job: SplitJob,
  parts: readonly PartRecord[],
  found: Interruption,
): Promise<Interruption> {
  const { part } = found;
  if (part === undefined) return found;
  const where = await whereOf(job, parts, part);
  job.owned.signal.throwIfAborted();
  return new Interruption("mismatch", `${found.message}; ${where}`, part);
}

async function whereOf(
  job: SplitJob,
  parts: readonly PartRecord[],
  part: PartRecord,
): Promise<string> {
  try {
    const difference = await firstDifference(job, parts, part);
    if (difference === undefined) return "read once more, both are the same";
    const { kind, at } = difference;
    return `first, ${fromUtf8(at.id)} at ${formatTime(at.time)} ${IN_WORDS[kind]}`;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return `the place is not known: ${why}`;
  }
}

/** Unordered parts all cover the whole segment, so they are compared together. */
async function firstDifference(
  job: SplitJob,
  parts: readonly PartRecord[],
  part: PartRecord,
): Promise<FoundDifference | undefined> {
  const { context, owned, level } = job;
  const { store, clock } = context;
  const segment = segmentOf(job);
  const { partition } = owned.record;
  const { from, to } = strategyOf(segment).ordered ? part : segment;
  const range = { from, to, order: "OLDEST_FIRST", after: undefined, level } as const;
  const bytes = { runBytesMax: RUN_BYTES, firstBytes: RUN_BYTES };
  const original = new PartitionReader(
    store,
    clock,
    partition,
    { ...range, runEventsMax: RUN_EVENTS, runBytesMax: RUN_BYTES },
    owned.signal,
  );
  const copy = new SegmentReader(
    store,
    partition,
    routeSegmentOf(segment),
    parts,
    { ...range, ...bytes },
    owned.signal,
  );
  try {
    return await findDifference(original, copy, range.order, undefined);
  } finally {
    await Promise.all([original.close(), copy.close()]);
  }
}
