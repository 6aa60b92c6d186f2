/**
 * Copies a segment whose events are spread over its parts: writes all parts at once and lists them
 * together at the end. There is no checkpoint in between: after a crash the copy starts again, with
 * new part numbers.
 */
import { writePart } from "../../records/part-records.ts";
import type { PartRecord } from "../../model/split.ts";
import { mergedBlockBytes, PartWriter } from "../../parts/part-writer.ts";
import type { SpreadStrategy } from "../../model/strategies/strategy.ts";
import type { Run } from "../../wire/frames.ts";
import { withNewest } from "./newest-segment.ts";
import { originalRuns } from "./original-runs.ts";
import { framesOf, RunBuilder } from "./run-builder.ts";
import { countRun, segmentOf } from "./split-job.ts";
import type { SplitJob } from "./split-job.ts";

/** `firstPart`: the first reserved part number. When it resolves, all parts are listed. */
export async function copySpread(
  job: SplitJob,
  strategy: SpreadStrategy,
  firstPart: number,
): Promise<void> {
  const { context, owned, throttle, level } = job;
  const { from, to, generation, layout, partsPlanned } = segmentOf(job);
  const { namespace, partition } = owned.record;
  const writers = Array.from(
    { length: partsPlanned },
    (_, nth) =>
      new PartWriter({
        store: context.store,
        partition,
        part: firstPart + nth,
        generation,
        layout,
        level,
        blockBytes: mergedBlockBytes(partsPlanned),
      }),
  );
  try {
    const range = { from, to };
    for await (const run of originalRuns(context, partition, range, level, owned.signal)) {
      countRun(job, "read", run);
      const builders = spreadRun(run, strategy, partsPlanned);
      await Promise.all(
        builders.map(async (builder, nth) => {
          if (builder !== undefined) await writers[nth]?.addRun(builder);
        }),
      );
      await throttle.page(owned.signal);
    }
    const parts: PartRecord[] = [];
    for (const writer of writers) {
      const part = await writer.finish(from, to);
      await writePart(context.catalog, partition, part);
      parts.push(part);
    }
    const bytes = parts.reduce((sum, part) => sum + part.bytes, 0);
    const events = parts.reduce((sum, part) => sum + part.events, 0);
    context.observe({ kind: "bytes", namespace, stage: "written", bytes });
    const partRanges = [{ start: firstPart, count: parts.length }];
    await owned.change((record) => ({
      ...record,
      ...withNewest(record, { partRanges, copiedTo: from, bytes, events }),
    }));
    for (const part of parts) {
      context.observe({ kind: "part", namespace, bytes: part.bytes, events: part.events });
    }
  } finally {
    await Promise.all(writers.map((writer) => writer.abort()));
  }
}

/** The events of a run, grouped by part; undefined for a part that gets none. */
export function spreadRun(run: Run, strategy: SpreadStrategy, parts: number): (Run | undefined)[] {
  const builders = Array.from({ length: parts }, () => new RunBuilder());
  for (const { chunk, start, event } of framesOf(run)) {
    const id = event.bytes.subarray(event.idStart, event.idEnd);
    builders[strategy.partOf(parts, id)]?.add(chunk, start, event);
  }
  return builders.map((builder) => builder.take());
}
