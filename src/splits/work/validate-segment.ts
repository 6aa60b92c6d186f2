/**
 * Reads a segment's parts back, as callers will, and compares them with what was listed when they
 * were written. If they agree, the copy equals what the copying read saw. `confirm-segment.ts`
 * checks whether that was the original.
 */
import { assert } from "../../lib/errors.ts";
import { routeSegmentOf } from "../../model/split.ts";
import type { PartRecord } from "../../model/split.ts";
import { strategyOf } from "../../model/strategies/strategies.ts";
import { combineDigests, RangeDigest } from "../../parts/range-digest.ts";
import type { RangeSum } from "../../parts/range-digest.ts";
import { SegmentReader } from "../../parts/segment-reader.ts";
import { comparePositions } from "../../wire/frames.ts";
import type { Position, Run } from "../../wire/frames.ts";
import { requireSame } from "./compare-parts.ts";
import { Interruption } from "./interruption.ts";
import { digestPart, orMismatch, wholeRange } from "./part-digest.ts";
import { countRun, segmentOf } from "./split-job.ts";
import type { SplitJob } from "./split-job.ts";

const READ_BACK = "the copy, read back,";

/**
 * `parts`: the listed parts, in order. Returns the checksum of what was read back, computed from
 * those bytes alone. Rejects with a mismatch.
 */
export function validateSegment(job: SplitJob, parts: readonly PartRecord[]): Promise<string> {
  return orMismatch(async () => {
    if (strategyOf(segmentOf(job)).ordered) return validateInOrder(job, parts);
    const found: RangeSum[] = [];
    for (const part of parts) found.push(await validatePart(job, part));
    await validateOrder(job, parts);
    return combineDigests(found);
  });
}

/** Runs arrive part by part, and no run has events of two parts. */
async function validateInOrder(job: SplitJob, parts: readonly PartRecord[]): Promise<string> {
  const found = new Map<PartRecord, RangeSum>();
  const rest = parts.filter(({ events }) => events > 0).values();
  let part = rest.next().value;
  let digest = new RangeDigest();
  for await (const run of segmentRuns(job, parts)) {
    await pass(job, run);
    assert(part !== undefined, "a segment's reader hands on what is listed, and no more");
    digest.addRun(run);
    if (digest.events < part.events) continue;
    requireSame(part, digest, READ_BACK);
    found.set(part, digest.sum());
    part = rest.next().value;
    digest = new RangeDigest();
  }
  if (part !== undefined) requireSame(part, digest, READ_BACK);
  const nothing = new RangeDigest().sum();
  return combineDigests(parts.map((listed) => found.get(listed) ?? nothing));
}

async function validatePart(job: SplitJob, part: PartRecord): Promise<RangeSum> {
  const digest = await digestPart(job, part, "NEWEST_FIRST", (run) => pass(job, run));
  requireSame(part, digest, READ_BACK);
  return digest.sum();
}

/** Checks that merged parts yield all events, once each, in order. */
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
  const range = wholeRange(job, "NEWEST_FIRST");
  const route = routeSegmentOf(segmentOf(job));
  const reader = new SegmentReader(context.store, partition, route, parts, range, owned.signal);
  try {
    for (let run = await reader.next(); run !== undefined; run = await reader.next()) yield run;
  } finally {
    await reader.close();
  }
}

async function pass(job: SplitJob, run: Run): Promise<void> {
  countRun(job, "validated", run);
  await job.throttle.page(job.owned.signal);
}
