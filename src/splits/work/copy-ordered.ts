/**
 * Copies a segment whose parts follow one another in time: one pass over the original, newest
 * first, from the checkpoint downwards.
 *
 * The cutter decides where a part ends, always between two microseconds (rule C7). One
 * compare-and-set lists the part; this is the checkpoint (rule C8). While one part is being listed,
 * the next is written; no more than these two are in progress.
 */
import { assert } from "../../lib/errors.ts";
import { writePart } from "../../records/part-records.ts";
import type { PartRecord, Segment, SplitRecord } from "../../model/split.ts";
import { PartWriter } from "../../parts/part-writer.ts";
import type { OrderedStrategy, PartCutter } from "../../model/strategies/strategy.ts";
import type { Run } from "../../wire/frames.ts";
import { newestSegment, withNewest } from "./newest-segment.ts";
import { originalRuns } from "./original-runs.ts";
import { countParts, reserveParts, withPart } from "./part-numbers.ts";
import { framesOf, RunBuilder } from "./run-builder.ts";
import { countRun, segmentOf } from "./split-job.ts";
import type { SplitJob } from "./split-job.ts";

/** Part numbers reserved before the copy starts or resumes: for the first part and the next one. */
export const FIRST_PARTS = 2;

/**
 * `firstPart` is the first part number reserved for this copy; `maxParts` is how many parts the
 * segment may have. When it resolves, all parts are listed.
 */
export async function copyOrdered(
  job: SplitJob,
  strategy: OrderedStrategy,
  firstPart: number,
  maxParts: number,
): Promise<void> {
  const { context, owned, throttle, level } = job;
  const segment = segmentOf(job);
  const copy = new OrderedCopy(job, strategy, firstPart, maxParts);
  const range = { from: segment.from, to: segment.copiedTo };
  const { partition } = owned.record;
  try {
    for await (const run of originalRuns(context, partition, range, level, owned.signal)) {
      countRun(job, "read", run);
      await copy.add(run);
      await throttle.page(owned.signal);
    }
    await copy.finish();
  } finally {
    await copy.close();
  }
}

class OrderedCopy {
  readonly #job: SplitJob;
  readonly #segment: Segment;
  readonly #cutter: PartCutter;
  readonly #builder = new RunBuilder();
  #writer: PartWriter | undefined;
  #nextPart: number;
  #partsSoFar: number;
  /** The end of the part being written: `to` of its range. */
  #to: number;
  #lastTime: number | undefined;
  #listing: Promise<void> = Promise.resolve();

  constructor(job: SplitJob, strategy: OrderedStrategy, firstPart: number, maxParts: number) {
    const segment = segmentOf(job);
    this.#job = job;
    this.#segment = segment;
    this.#cutter = strategy.cutter(segment, maxParts);
    this.#nextPart = firstPart;
    this.#partsSoFar = countParts(segment.partRanges);
    this.#to = segment.copiedTo;
  }

  async add(run: Run): Promise<void> {
    for (const { chunk, start, event } of framesOf(run)) {
      if (event.time !== this.#lastTime) {
        const cut = this.#cutBefore(event.time);
        if (cut && this.#lastTime !== undefined) await this.#closePart(this.#lastTime);
        this.#lastTime = event.time;
      }
      this.#builder.add(chunk, start, event);
    }
    await this.#write();
  }

  /** Called after the last event: the last part covers the rest of the segment. */
  async finish(): Promise<void> {
    if (this.#writer !== undefined) await this.#closePart(this.#segment.from);
    await this.#listing;
  }

  /** Resolves when no write is in progress. */
  async close(): Promise<void> {
    await this.#listing.catch(() => undefined);
    await this.#writer?.abort();
  }

  #cutBefore(time: number): boolean {
    const bytes = (this.#writer?.bytes ?? 0) + this.#builder.bytes;
    const events = (this.#writer?.events ?? 0) + this.#builder.count;
    return this.#cutter.cutBefore(time, bytes, events, this.#partsSoFar);
  }

  /** Adds the collected events to the part being written. */
  async #write(): Promise<void> {
    const run = this.#builder.take();
    if (run === undefined) return;
    const { context, owned, level } = this.#job;
    const { store } = context;
    const { generation, layout } = this.#segment;
    const { partition } = owned.record;
    this.#writer ??= new PartWriter({
      store,
      partition,
      part: this.#nextPart++,
      generation,
      layout,
      level,
    });
    await this.#writer.addRun(run);
  }

  /** Ends the part being written: it contains all events at or after `from`. */
  async #closePart(from: number): Promise<void> {
    await this.#write();
    const writer = this.#writer;
    assert(writer !== undefined, "a part that is closed has events");
    this.#writer = undefined;
    const to = this.#to;
    this.#to = from;
    this.#partsSoFar++;
    // Lists parts in order, one at a time; the next part is written meanwhile.
    try {
      await this.#listing;
    } catch (error) {
      await writer.abort();
      throw error;
    }
    this.#listing = this.#list(writer, from, to);
    this.#listing.catch(() => undefined);
  }

  async #list(writer: PartWriter, from: number, to: number): Promise<void> {
    const { context, owned } = this.#job;
    let part: PartRecord;
    try {
      part = await writer.finish(from, to);
    } catch (error) {
      await writer.abort();
      throw error;
    }
    const { namespace, partition } = owned.record;
    const { bytes, events } = part;
    context.observe({ kind: "bytes", namespace, stage: "written", bytes });
    await writePart(context.catalog, partition, part);
    await owned.change((record) => listed(record, part));
    context.observe({ kind: "part", namespace, bytes, events });
  }
}

/** The record with one more part in its newest segment, and one more part number reserved. */
function listed(record: SplitRecord, { part, from, bytes, events }: PartRecord): SplitRecord {
  const segment = newestSegment(record);
  assert(segment !== undefined, "there is a segment being copied");
  return {
    ...record,
    ...reserveParts(record, 1),
    ...withNewest(record, {
      partRanges: withPart(segment.partRanges, part),
      copiedTo: from,
      bytes: segment.bytes + bytes,
      events: segment.events + events,
    }),
  };
}
