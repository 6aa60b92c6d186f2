/**
 * Reads a segment's parts back, as callers will, and compares them with what was listed when they were
 * written: then the copy equals what was read. Whether that was the original is for `confirm-segment.ts`.
 */
import { assert } from "../../lib/errors.ts";
import { routeSegmentOf } from "../../model/split.ts";
import type { PartRecord, Segment } from "../../model/split.ts";
import { readPart, IntegrityError } from "../../parts/part-reader.ts";
import type { PartReadRange } from "../../parts/part-reader.ts";
import { RangeDigest } from "../../parts/range-digest.ts";
import { SegmentReader } from "../../parts/segment-reader.ts";
import type { ServiceLevel } from "../../ports/event-store.ts";
import { comparePositions } from "../../wire/frames.ts";
import type { Position, Run } from "../../wire/frames.ts";
import { Mismatch, requireSame } from "./compare-parts.ts";
import { RUN_BYTES_MAX } from "./original-runs.ts";
import type { OwnedSplit } from "./owned-split.ts";
import type { SplitDeps } from "./split-deps.ts";
import type { WorkThrottle } from "./work-throttle.ts";

export interface CompareJob {
  readonly deps: SplitDeps;
  readonly owned: OwnedSplit;
  readonly throttle: WorkThrottle;
  readonly level: ServiceLevel;
  readonly segment: Segment;
  /** The listed ones, in order. */
  readonly parts: readonly PartRecord[];
}

const READ_BACK = "the copy, read back,";

/** Rejects with a Mismatch that names the first difference. */
export async function validateSegment(job: CompareJob): Promise<void> {
  try {
    if (job.segment.strategy === "HASH") {
      for (const part of job.parts) await validatePart(job, part);
      await validateOrder(job);
    } else await validateInOrder(job);
  } catch (error) {
    if (!(error instanceof IntegrityError)) throw error;
    // The storage is away: the copy may be as good as ever.
    if (error.reason === "storage") throw error.cause ?? error;
    throw new Mismatch(`${READ_BACK} cannot be vouched for: ${error.message}`);
  }
}

/** Runs come part behind part, and none has events of two. */
async function validateInOrder(job: CompareJob): Promise<void> {
  const rest = job.parts.filter(({ events }) => events > 0).values();
  let part = rest.next().value;
  let digest = new RangeDigest();
  for await (const run of segmentRuns(job)) {
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

async function validatePart(job: CompareJob, part: PartRecord): Promise<void> {
  const { deps, owned, segment } = job;
  const { generation, layout } = segment;
  const { partition } = owned.record;
  const digest = new RangeDigest();
  const range = wholeRange(job);
  const runs = readPart(deps.store, partition, generation, layout, part, range, owned.signal);
  for await (const run of runs) {
    await pass(job, run);
    digest.addRun(run);
  }
  requireSame(part, digest, READ_BACK);
}

/** Of parts that are merged: all events, once each, in order. */
async function validateOrder(job: CompareJob): Promise<void> {
  let events = 0;
  let last: Position | undefined;
  for await (const run of segmentRuns(job)) {
    await job.throttle.page(job.owned.signal);
    events += run.count;
    if (last !== undefined && comparePositions(run.first, last) >= 0) {
      throw new Mismatch("the copy, merged, is not in order");
    }
    ({ last } = run);
  }
  if (events === job.segment.events) return;
  throw new Mismatch(`the copy, merged, has ${events} events of ${job.segment.events}`);
}

async function* segmentRuns(job: CompareJob): AsyncGenerator<Run, void, undefined> {
  const { deps, owned, segment, parts } = job;
  const { partition } = owned.record;
  const range = wholeRange(job);
  const route = routeSegmentOf(segment);
  const reader = new SegmentReader(deps.store, partition, route, parts, range, owned.signal);
  try {
    for (let run = await reader.next(); run !== undefined; run = await reader.next()) yield run;
  } finally {
    await reader.close();
  }
}

function wholeRange({ segment, level }: CompareJob): PartReadRange {
  const { from, to } = segment;
  const bytes = { runBytesMax: RUN_BYTES_MAX, firstBytes: RUN_BYTES_MAX };
  return { from, to, order: "NEWEST_FIRST", after: undefined, ...bytes, level };
}

async function pass({ deps, owned, throttle }: CompareJob, { bytes }: Run): Promise<void> {
  const { namespace } = owned.record;
  deps.observe({ kind: "bytes", namespace, stage: "validated", bytes });
  await throttle.page(owned.signal);
}
