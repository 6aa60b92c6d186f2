/**
 * Reads a segment's parts back, as callers will, and compares them with what was listed when they were
 * written: then the copy equals what was read. Whether that was the original is for `confirm-segment.ts`.
 */
import { assert } from "../../lib/errors.ts";
import { routeSegmentOf } from "../../model/split.ts";
import type { PartRecord } from "../../model/split.ts";
import { strategyOf } from "../../model/strategies/strategies.ts";
import { readPart, IntegrityError } from "../../parts/part-reader.ts";
import type { PartReadRange } from "../../parts/part-reader.ts";
import { RangeDigest } from "../../parts/range-digest.ts";
import { SegmentReader } from "../../parts/segment-reader.ts";
import { comparePositions } from "../../wire/frames.ts";
import type { Position, Run } from "../../wire/frames.ts";
import { requireSame } from "./compare-parts.ts";
import { Interruption } from "./interruption.ts";
import { RUN_BYTES_MAX } from "./original-runs.ts";
import { segmentOf } from "./split-job.ts";
import type { SplitJob } from "./split-job.ts";

const READ_BACK = "the copy, read back,";

/** `parts`: the listed ones, in order. Rejects with a mismatch. */
export async function validateSegment(job: SplitJob, parts: readonly PartRecord[]): Promise<void> {
  try {
    if (strategyOf(segmentOf(job)).ordered) await validateInOrder(job, parts);
    else {
      for (const part of parts) await validatePart(job, part);
      await validateOrder(job, parts);
    }
  } catch (error) {
    if (!(error instanceof IntegrityError)) throw error;
    // The storage is away: the copy may be as good as ever.
    if (error.reason === "storage") throw error.cause ?? error;
    throw new Interruption("mismatch", `${READ_BACK} cannot be vouched for: ${error.message}`);
  }
}

/** Runs come part behind part, and none has events of two. */
async function validateInOrder(job: SplitJob, parts: readonly PartRecord[]): Promise<void> {
  const rest = parts.filter(({ events }) => events > 0).values();
  let part = rest.next().value;
  let digest = new RangeDigest();
  for await (const run of segmentRuns(job, parts)) {
    await pass(job, run);
    assert(part !== undefined, "a segment's reader hands on what is listed, and no more");
    digest.addRun(run);
    if (digest.events < part.events) continue;
    requireSame(part, digest, READ_BACK);
    part = rest.next().value;
    digest = new RangeDigest();
  }
  if (part !== undefined) requireSame(part, digest, READ_BACK);
}

async function validatePart(job: SplitJob, part: PartRecord): Promise<void> {
  const { context, owned } = job;
  const { generation, layout } = segmentOf(job);
  const { partition } = owned.record;
  const digest = new RangeDigest();
  const range = wholeRange(job);
  const runs = readPart(context.store, partition, generation, layout, part, range, owned.signal);
  for await (const run of runs) {
    await pass(job, run);
    digest.addRun(run);
  }
  requireSame(part, digest, READ_BACK);
}

/** Of parts that are merged: all events, once each, in order. */
async function validateOrder(job: SplitJob, parts: readonly PartRecord[]): Promise<void> {
  const segment = segmentOf(job);
  let events = 0;
  let last: Position | undefined;
  for await (const run of segmentRuns(job, parts)) {
    await job.throttle.page(job.owned.signal);
    events += run.count;
    if (last !== undefined && comparePositions(run.first, last) >= 0) {
      throw new Interruption("mismatch", "the copy, merged, is not in order");
    }
    ({ last } = run);
  }
  if (events === segment.events) return;
  throw new Interruption("mismatch", `the copy, merged, has ${events} events of ${segment.events}`);
}

async function* segmentRuns(
  job: SplitJob,
  parts: readonly PartRecord[],
): AsyncGenerator<Run, void, undefined> {
  const { context, owned } = job;
  const { partition } = owned.record;
  const range = wholeRange(job);
  const route = routeSegmentOf(segmentOf(job));
  const reader = new SegmentReader(context.store, partition, route, parts, range, owned.signal);
  try {
    for (let run = await reader.next(); run !== undefined; run = await reader.next()) yield run;
  } finally {
    await reader.close();
  }
}

function wholeRange(job: SplitJob): PartReadRange {
  const { from, to } = segmentOf(job);
  const { level } = job;
  const bytes = { runBytesMax: RUN_BYTES_MAX, firstBytes: RUN_BYTES_MAX };
  return { from, to, order: "NEWEST_FIRST", after: undefined, ...bytes, level };
}

async function pass({ context, owned, throttle }: SplitJob, { bytes }: Run): Promise<void> {
  const { namespace } = owned.record;
  context.observe({ kind: "bytes", namespace, stage: "validated", bytes });
  await throttle.page(owned.signal);
}
