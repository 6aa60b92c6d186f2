/**
 * A server and one partition of 200 events, one each second, about 400 bytes each, which a test
 * splits.
 */
import { utf8 } from "../../src/lib/bytes.ts";
import { writeNamespace } from "../../src/records/namespace-records.ts";
import { newSliceRecord, writeSlice } from "../../src/records/slice-records.ts";
import type { PartitionKey } from "../../src/model/partition.ts";
import { splitTableOf } from "../../src/model/split.ts";
import type { StoredBlock } from "../../src/ports/event-store.ts";
import type { ReadPage } from "../../src/read/read-page.ts";
import type { ReadQuery } from "../../src/read/read-query.ts";
import { encodeEvent } from "../../src/wire/event-record.ts";
import type { EventBytes } from "../../src/wire/event-record.ts";
import { eventsOfRun, positionOf } from "../../src/wire/frames.ts";
import type { Position, Run } from "../../src/wire/frames.ts";
import { MemoryCatalog } from "../support/memory-catalog.ts";
import { readyRecord } from "../support/ready-record.ts";
import { MemoryStore } from "../support/memory-store.ts";
import { joinedSlices, staticView } from "../support/static-view.ts";
import { VirtualClock } from "../support/virtual-clock.ts";
import { ServedReads } from "./served-reads.ts";
import { addSegment, rollBack } from "./split-building.ts";
import type { SegmentShape } from "./split-building.ts";

export const SECOND = 1_000_000;
export const START = 1_790_000_000 * SECOND;
export const EVENTS = 200;
/** As long as a time bucket; there is a second one, which is empty. */
export const BUCKET = EVENTS * SECOND;

export const location: PartitionKey = {
  namespaceId: "plays-1",
  slice: "data_0",
  seriesId: "s",
  timeBucket: 0,
  eventBucket: 0,
};

const never = new AbortController().signal;

export class OnePartition extends ServedReads {
  /** In mode SERVE. */
  static async open(): Promise<OnePartition> {
    const strategy = { secondsPerTimeSlice: 400, secondsPerTimeBucket: 200, eventBuckets: 1 };
    const view = staticView({ slices: joinedSlices(START, [strategy]), readMode: "SERVE" });
    const clock = new VirtualClock(START + BUCKET);
    const parts = { store: new MemoryStore(), catalog: new MemoryCatalog(), clock };
    const world = new OnePartition(view, parts);
    await world.makeTables();
    await writeNamespace(world.catalog, readyRecord(view.namespace));
    for (const slice of view.slices) {
      await writeSlice(world.catalog, location.namespaceId, {
        ...newSliceRecord(slice),
        splitTable: "MADE",
      });
    }
    await world.write(Array.from({ length: EVENTS }, (_, n) => eventOf(n)));
    return world;
  }

  /** Adds a segment; of all the time by default. */
  async split(shape: Partial<SegmentShape>): Promise<void> {
    await addSegment(this, location, {
      from: START,
      to: START + BUCKET,
      cuts: [],
      hashParts: 0,
      layout: "PACKED",
      confirmed: true,
      ...shape,
    });
  }

  async filled(): Promise<void> {
    await this.loaded([location]);
  }

  /** Has the whole split compared, so that it is served from now on. */
  async proven(): Promise<void> {
    await this.filled();
    await this.read({ pageSize: 1_000 });
    await this.quiet();
    this.told.clear();
  }

  query(change: Partial<ReadQuery>): ReadQuery {
    return {
      namespace: "plays",
      seriesId: "s",
      start: START,
      end: START + 2 * BUCKET,
      filters: [],
      order: "NEWEST_FIRST",
      pageSize: 100,
      totalLimit: 0,
      pageToken: "",
      allowPartial: false,
      ...change,
    };
  }

  read(change: Partial<ReadQuery>): Promise<ReadPage> {
    return this.reader.readPage(this.query(change), never);
  }

  async write(events: readonly EventBytes[]): Promise<void> {
    const placed = events.map((event) => ({ event, timeBucket: 0, eventBucket: 0 }));
    await this.store.append(location, placed);
  }

  /** The calls of the store from now on. */
  watchStore(): string[] {
    const calls: string[] = [];
    this.store.before = (call) => void calls.push(call);
    return calls;
  }

  onBlocks(change: (blocks: readonly StoredBlock[]) => readonly StoredBlock[]): void {
    const scanBlocks = this.store.scanBlocks.bind(this.store);
    this.store.scanBlocks = async function* (partition, range, signal) {
      for await (const blocks of scanBlocks(partition, range, signal)) yield change(blocks);
    };
  }

  /** Scans of one side lack the event of that time. */
  hideEvent(time: number, side: "ORIGINAL" | "SPLIT"): void {
    const table = side === "SPLIT" ? splitTableOf(location).slice : location.slice;
    const scan = this.store.scan.bind(this.store);
    this.store.scan = async function* (partition, range, signal) {
      const one = { ...range, runEventsMax: 1 };
      for await (const run of scan(partition, one, signal)) {
        if (partition.slice !== table || run.first.time !== time) yield run;
      }
    };
  }

  rollBack(): Promise<void> {
    return rollBack(this, location);
  }
}

export function eventOf(n: number, time = START + n * SECOND, text = "x"): EventBytes {
  const value = new Uint8Array(360).fill(text.charCodeAt(0));
  return encodeEvent(utf8("s"), time, utf8(idOf(n)), [{ key: utf8("k"), value }]);
}

/** Of the newest, newest first. */
export function ids(count: number): string[] {
  return Array.from({ length: count }, (_, n) => idOf(EVENTS - 1 - n));
}

export function idsOf(page: ReadPage): string[] {
  const nowhere: Position = { time: 0, id: new Uint8Array() };
  const run: Run = { ...page, bytes: 0, first: nowhere, last: nowhere };
  return [...eventsOfRun(run)].map((event) => Buffer.from(positionOf(event).id).toString());
}

/** Cuts between parts. */
export function everySecond(seconds: number): number[] {
  return Array.from({ length: EVENTS / seconds }, (_, n) => START + n * seconds * SECOND);
}

function idOf(n: number): string {
  return String(n).padStart(3, "0");
}
