/** Reads one whole part of a segment from the split table and computes its digest. */
import type { PartRecord } from "../../model/split.ts";
import { IntegrityError, readPart } from "../../parts/part-reader.ts";
import type { PartReadRange } from "../../parts/part-reader.ts";
import { RangeDigest } from "../../parts/range-digest.ts";
import type { Order } from "../../ports/event-store.ts";
import type { Run } from "../../wire/frames.ts";
import { Interruption } from "./interruption.ts";
import { RUN_BYTES_MAX } from "./original-runs.ts";
import { segmentOf } from "./split-job.ts";
import type { SplitJob } from "./split-job.ts";

/** Awaits `passed` for each run. Rejects with an IntegrityError. */
export async function digestPart(
  job: SplitJob,
  part: PartRecord,
  order: Order,
  passed: (run: Run) => Promise<void>,
): Promise<RangeDigest> {
  const { context, owned } = job;
  const { generation, layout } = segmentOf(job);
  const { partition } = owned.record;
  const range = wholeRange(job, order);
  const digest = new RangeDigest();
  const runs = readPart(context.store, partition, generation, layout, part, range, owned.signal);
  for await (const run of runs) {
    await passed(run);
    digest.addRun(run);
  }
  return digest;
}

export function wholeRange(job: SplitJob, order: Order): PartReadRange {
  const { from, to } = segmentOf(job);
  const { level } = job;
  const bytes = { runBytesMax: RUN_BYTES_MAX, firstBytes: RUN_BYTES_MAX };
  return { from, to, order, after: undefined, ...bytes, level };
}

/** Turns an integrity error of the copy into a mismatch. */
export async function orMismatch<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof IntegrityError)) throw error;
    // The storage does not answer; that says nothing about the copy.
    if (error.reason === "storage") throw error.cause ?? error;
    throw new Interruption(
      "mismatch",
      `the copy, read back, cannot be vouched for: ${error.message}`,
    );
  }
}
