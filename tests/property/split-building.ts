/** Splits made directly, as a worker would leave them, for tests of serving. */
import { hash32 } from "../../src/lib/hash.ts";
import type { Clock } from "../../src/lib/clock.ts";
import { moveSplit } from "../../src/splits/record/move-split.ts";
import { writePart } from "../../src/records/part-records.ts";
import { readSplit } from "../../src/records/split-records.ts";
import type { PartitionKey } from "../../src/model/partition.ts";
import { NO_LATENCY } from "../../src/model/split.ts";
import type { PartRecord, Segment, SplitRecord } from "../../src/model/split.ts";
import type { SplitLayout } from "../../src/model/layouts.ts";
import { PartWriter } from "../../src/parts/part-writer.ts";
import { combineDigests } from "../../src/parts/range-digest.ts";
import type { Catalog } from "../../src/ports/catalog.ts";
import type { EventStore } from "../../src/ports/event-store.ts";
import type { EventBytes } from "../../src/wire/event-record.ts";
import { eventsOfRun, frameLength, positionOf } from "../../src/wire/frames.ts";
import { inState } from "../support/split-in-state.ts";

export interface SplitBuilding {
  readonly catalog: Catalog;
  readonly store: EventStore;
  readonly clock: Clock;
}

export interface SegmentShape {
  readonly from: number;
  readonly to: number;
  /** Where parts are cut; none: one part. */
  readonly cuts: readonly number[];
  /** Above 0: a HASH segment of this many parts. */
  readonly hashParts: number;
  readonly layout: SplitLayout;
  readonly confirmed: boolean;
  /** Parts are copied without the events it refuses, as in a bad copy. */
  readonly keep?: (event: EventBytes) => boolean;
}

const never = new AbortController().signal;

/** Adds a completed segment to a partition's split, and publishes it. */
export async function addSegment(
  building: SplitBuilding,
  partition: PartitionKey,
  shape: SegmentShape,
  epoch = 1,
): Promise<SplitRecord> {
  const { catalog, clock } = building;
  const before = await readSplit(catalog, partition);
  const record = before ?? newRecord(partition, epoch);
  const generation = record.nextGeneration;
  const parts = await writeParts(building, partition, shape, record.nextPart, generation);
  for (const part of parts) await writePart(catalog, partition, part);
  const segment = segmentOf(shape, epoch, generation, record.nextPart, parts);
  const after = inState(record, "COMPLETED", {
    epoch,
    segments: [...record.segments, segment],
    // A number in between stays unused, as after a worker that lost the split.
    nextPart: record.nextPart + parts.length + 1,
    nextGeneration: generation + 1,
  });
  return moved(await moveSplit(catalog, clock, before, after));
}

/** As an operator's rollback does. */
export async function rollBack(
  { catalog, clock }: SplitBuilding,
  partition: PartitionKey,
): Promise<void> {
  const before = await readSplit(catalog, partition);
  if (before === undefined) return;
  const change = { segments: [], heldBy: "operator" };
  const after = inState(before, "INVALIDATED", change, clock.nowMicros());
  moved(await moveSplit(catalog, clock, before, after));
}

/** The events of a partition in a range, newest first. */
export async function eventsIn(
  store: EventStore,
  partition: PartitionKey,
  from: number,
  to: number,
): Promise<EventBytes[]> {
  const order = "NEWEST_FIRST" as const;
  const range = { from, to, order, after: undefined, runEventsMax: 100, runBytesMax: 1 << 20 };
  const events: EventBytes[] = [];
  for await (const run of store.scan(partition, range, never)) events.push(...eventsOfRun(run));
  return events;
}

async function writeParts(
  { store }: SplitBuilding,
  partition: PartitionKey,
  shape: SegmentShape,
  firstPart: number,
  generation: number,
): Promise<PartRecord[]> {
  const { from, to, layout, hashParts } = shape;
  const keep = shape.keep ?? (() => true);
  const events = (await eventsIn(store, partition, from, to)).filter(keep);
  const write = async (nth: number, low: number, high: number, mine: EventBytes[]) => {
    const part = firstPart + nth;
    const writer = new PartWriter({ store, partition, part, generation, layout });
    for (const event of mine) {
      const start = event.end - frameLength(event.end - event.start);
      const at = positionOf(event);
      await writer.add(event.bytes, start, event.end, 1, at, at);
    }
    return writer.finish(low, high);
  };
  const parts: PartRecord[] = [];
  if (hashParts > 0) {
    for (let nth = 0; nth < hashParts; nth++) {
      const mine = events.filter((event) => hash32(positionOf(event).id, 7) % hashParts === nth);
      parts.push(await write(nth, from, to, mine));
    }
    return parts;
  }
  const inside = shape.cuts.filter((cut) => cut > from && cut < to);
  const edges = [...new Set([from, ...inside, to])].toSorted((a, b) => b - a);
  for (let nth = 0; nth + 1 < edges.length; nth++) {
    const [high, low] = [edges[nth] as number, edges[nth + 1] as number];
    const mine = events.filter(({ time }) => time >= low && time < high);
    parts.push(await write(nth, low, high, mine));
  }
  return parts;
}

function segmentOf(
  { from, to, layout, hashParts, confirmed }: SegmentShape,
  epoch: number,
  generation: number,
  start: number,
  parts: readonly PartRecord[],
): Segment {
  return {
    from,
    to,
    epoch,
    state: "COMPLETED",
    generation,
    layout,
    strategy: hashParts > 0 ? "HASH" : "EVENT_BUCKETS",
    why: "it is a test",
    partBytes: 1,
    partsPlanned: hashParts,
    partRanges: [{ start, count: parts.length }],
    copiedTo: from,
    bytes: parts.reduce((sum, part) => sum + part.bytes, 0),
    events: parts.reduce((sum, part) => sum + part.events, 0),
    checksum: combineDigests(parts),
    confirmedAt: confirmed ? 1 : null,
  };
}

function newRecord(partition: PartitionKey, epoch: number): SplitRecord {
  return {
    partition,
    namespace: "plays",
    state: "DETECTED",
    epoch,
    bytes: 0,
    events: 0,
    immutable: false,
    detectedAt: 0,
    segments: [],
    fence: 0,
    owner: null,
    nextPart: 0,
    nextGeneration: 1,
    failures: 0,
    dueAt: null,
    heldBy: null,
    askedBy: null,
    latency: { before: NO_LATENCY, after: NO_LATENCY },
    history: [],
    version: 0,
  };
}

function moved(record: SplitRecord | undefined): SplitRecord {
  if (record === undefined) throw new Error("another process moved the split");
  return record;
}
