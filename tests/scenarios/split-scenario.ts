/**
 * A world in which partitions are split: one namespace on a catalog and a store in memory, a
 * virtual clock, a slice reconciler, and any number of workers, which can be stopped anywhere.
 */
import { makeSplitTable } from "../../src/namespaces/make-split-table.ts";
import { SliceOwnership } from "../../src/namespaces/slice-ownership.ts";
import { utf8 } from "../../src/lib/bytes.ts";
import type { Fragments } from "../../src/ports/fragments.ts";
import type { Random } from "../../src/lib/random.ts";
import { readNamespace } from "../../src/records/namespace-records.ts";
import { readParts } from "../../src/records/part-records.ts";
import { readRoute } from "../../src/records/route-records.ts";
import { readSlices } from "../../src/records/slice-records.ts";
import { readSplit } from "../../src/records/split-records.ts";
import { encodeDetection } from "../../src/model/detection.ts";
import type { NamespaceConfigPatch } from "../../src/model/merge-config.ts";
import { eventBucketOf, timeBucketOf } from "../../src/model/partition.ts";
import type { PartitionKey } from "../../src/model/partition.ts";
import type { SplitLocation } from "../../src/splits/use-cases.ts";
import { partKey } from "../../src/model/split.ts";
import type { PartRecord, SplitRecord } from "../../src/model/split.ts";
import type { TimeSlice } from "../../src/model/time-slice.ts";
import { SegmentReader } from "../../src/parts/segment-reader.ts";
import { recordDetection } from "../../src/splits/detect/record-detection.ts";
import type { EventStore } from "../../src/ports/event-store.ts";
import type { SplitEvent } from "../../src/splits/work/split-context.ts";
import { SplitWorker } from "../../src/splits/work/split-worker.ts";
import { Splits } from "../../src/splits/operate/splits.ts";
import { encodeEvent } from "../../src/wire/event-record.ts";
import { ControlFixture, never, NOON, VIEW_MAX_AGE_MS } from "../support/control-fixture.ts";
import type { ControlProcess } from "../support/control-fixture.ts";
import { gatedCatalog, gatedStore } from "../support/stopped-process.ts";
import type { Gate } from "../support/stopped-process.ts";
import { timeMargins } from "../../src/model/time-margins.ts";
import { isSealed } from "../../src/model/epochs.ts";

export const NAME = "plays";
export const SERIES = "profile:123";
const SECOND = 1_000_000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
/** Of the day on which the scenario begins, at noon. */
export const MIDNIGHT = NOON - 12 * HOUR;
export const TARGET_BYTES = 65_536;

export const MARGINS = timeMargins({
  viewMaxAgeMs: VIEW_MAX_AGE_MS,
  writeMaxMs: 10_000,
  clockSkewMs: 1_000,
});

/** Randomness that is always the same. */
const EVEN: Random = {
  bytes: (length) => new Uint8Array(length),
  fraction: () => 0.5,
};

export interface Written {
  readonly series?: string;
  readonly events: number;
  /** Of each event's value. */
  readonly bytes: number;
  /** Event time: evenly from `from` on, before `to`. */
  readonly from: number;
  readonly to: number;
  /** The prefix of its ids. */
  readonly id?: string;
  /** The byte that fills all values; without it each event has another. */
  readonly fill?: number;
}

export interface WorkerHandle {
  readonly worker: SplitWorker;
  readonly events: SplitEvent[];
  /** As on SIGTERM. */
  stop(): Promise<void>;
}

interface WorkerOptions {
  readonly by?: string;
  readonly gate?: Gate;
  readonly readLatencyMs?: () => number | undefined;
  readonly fragments?: () => Promise<Fragments | undefined>;
  readonly concurrency?: number;
  readonly leaseMs?: number;
  readonly sweepMs?: number;
  readonly copyAtAll?: boolean;
}

export class SplitScenario extends ControlFixture {
  readonly control: ControlProcess = this.start({ evenMs: 0 });
  readonly splits = new Splits({ catalog: this.catalog, clock: this.clock });
  readonly #stop = new AbortController();
  readonly #workers: WorkerHandle[] = [];
  #running: Promise<unknown> = Promise.resolve();
  #namespaceId = "";

  static async open(
    patch: NamespaceConfigPatch = {},
    options: { shared?: boolean; dropGraceMs?: number } = {},
  ): Promise<SplitScenario> {
    const scenario = new SplitScenario(options);
    const { namespaces, reconciler } = scenario.control;
    const { id } = await namespaces.create(NAME, {
      ...patch,
      widePartition: {
        bytesMax: TARGET_BYTES,
        targetBytes: TARGET_BYTES,
        ...patch.widePartition,
      },
    });
    scenario.#namespaceId = id;
    scenario.#running = reconciler.run(scenario.#stop.signal);
    await scenario.clock.advance(10_000);
    return scenario;
  }

  async close(): Promise<void> {
    this.#stop.abort();
    // Workers that were stopped in the middle never end.
    await this.#running;
  }

  /** Another process. */
  startWorker(options: WorkerOptions = {}): WorkerHandle {
    const { by = `worker-${this.#workers.length + 1}`, gate } = options;
    const events: SplitEvent[] = [];
    const catalog = gate === undefined ? this.catalog : gatedCatalog(this.catalog, gate);
    const store = gate === undefined ? this.store : scanGatedStore(this.store, gate);
    const ownership = new SliceOwnership({ catalog, clock: this.clock });
    const worker = new SplitWorker({
      catalog,
      store,
      views: this.start().views,
      clock: this.clock,
      random: EVEN,
      by,
      margins: MARGINS,
      copyAtAll: options.copyAtAll ?? false,
      makeSplitTable: (...of) => makeSplitTable({ catalog, store, ownership }, ...of),
      observe: (event) => events.push(event),
      ...(options.readLatencyMs && { readLatencyMs: options.readLatencyMs }),
      ...(options.fragments && { fragments: options.fragments }),
      ...(options.concurrency && { concurrency: options.concurrency }),
      ...(options.leaseMs && { leaseMs: options.leaseMs }),
      ...(options.sweepMs && { sweepMs: options.sweepMs }),
    });
    const stop = new AbortController();
    this.#stop.signal.addEventListener("abort", () => stop.abort(), { once: true });
    const running = worker.run(stop.signal);
    const handle = {
      worker,
      events,
      stop: async () => {
        stop.abort();
        await this.passWhile(running);
      },
    };
    this.#workers.push(handle);
    return handle;
  }

  /** Bypasses every limit: directly into the store. */
  async write(written: Written): Promise<number> {
    const { series = SERIES, events, bytes, from, to, id = "e", fill } = written;
    const byPartition = new Map<string, { slice: TimeSlice; placed: Placed[] }>();
    const { slices } = await this.control.views.get(NAME);
    for (let nth = 0; nth < events; nth++) {
      const time = from + Math.floor(((to - from) * nth) / events);
      const slice = slices.find((each) => each.start <= time && time < each.end);
      if (slice === undefined) throw new Error(`no slice holds ${time}`);
      const eventId = utf8(`${id}-${String(nth).padStart(6, "0")}`);
      const value = new Uint8Array(bytes).fill(fill ?? nth);
      const event = encodeEvent(utf8(series), time, eventId, [{ key: utf8("k"), value }]);
      const timeBucket = timeBucketOf(slice, time);
      const eventBucket = eventBucketOf(slice.timePartition.eventBuckets, eventId);
      const lot = byPartition.get(slice.name) ?? { slice, placed: [] };
      byPartition.set(slice.name, lot);
      lot.placed.push({ event, timeBucket, eventBucket });
    }
    for (const { slice, placed } of byPartition.values()) {
      await this.store.append({ namespaceId: this.#namespaceId, slice: slice.name }, placed);
    }
    return byPartition.size;
  }

  /** The partition of a time, in the first event bucket. */
  async partitionAt(time: number, series = SERIES): Promise<PartitionKey> {
    const slices = await readSlices(this.catalog, this.#namespaceId);
    const slice = slices.find((each) => each.start <= time && time < each.end);
    if (slice === undefined) throw new Error(`no slice holds ${time}`);
    return {
      namespaceId: this.#namespaceId,
      slice: slice.name,
      seriesId: series,
      timeBucket: timeBucketOf(slice, time),
      eventBucket: 0,
    };
  }

  async placeAt(time: number, series = SERIES): Promise<SplitLocation> {
    const { slice, seriesId, timeBucket, eventBucket } = await this.partitionAt(time, series);
    return { namespace: NAME, timeSlice: slice, seriesId, timeBucket, eventBucket };
  }

  /** As a read of all of it would, or with a size of one's own. Returns the outcome. */
  async detect(
    partition: PartitionKey,
    options: { nudged?: SplitWorker; forged?: { bytes: number; events: number } } = {},
  ): Promise<string> {
    const { nudged } = options;
    const namespace = await readNamespace(this.catalog, NAME);
    const { bytes, events } = options.forged ?? (await this.#sizeOf(partition));
    let outcome = "";
    const handle = recordDetection({
      catalog: this.catalog,
      views: this.control.views,
      clock: this.clock,
      by: "worker-0",
      observe: (_name, seen) => (outcome = seen),
      ...(nudged && { nudge: (each) => nudged.nudge(each) }),
    });
    const value = encodeDetection({
      namespace: NAME,
      timeSlice: partition.slice,
      timeSeriesId: partition.seriesId,
      timeBucket: partition.timeBucket,
      eventBucket: partition.eventBucket,
      immutable: false,
      epoch: namespace?.epoch ?? 0,
      bytes,
      events,
      detectedAt: this.clock.nowMicros(),
    });
    await handle({ key: "", value }, never);
    return outcome;
  }

  record(partition: PartitionKey): Promise<SplitRecord | undefined> {
    return readSplit(this.catalog, partition);
  }

  /** Lets at most a minute pass, until the record matches. */
  async until(
    partition: PartitionKey,
    claim: (record: SplitRecord) => boolean,
    seconds = 120,
  ): Promise<SplitRecord> {
    for (let passed = 0; ; passed++) {
      const record = await this.record(partition);
      if (record !== undefined && claim(record)) return record;
      if (passed >= seconds) throw new Error(`it never came true: ${JSON.stringify(record)}`);
      await this.clock.advance(1_000);
    }
  }

  /** The original's events and those of what servers would follow, in the same time. */
  async compare(partition: PartitionKey): Promise<Comparison> {
    const route = await readRoute(this.catalog, partition);
    const namespace = await readNamespace(this.catalog, NAME);
    const starts = namespace?.epochStarts ?? [];
    const served = (route?.segments ?? []).filter(
      (segment) => segment.confirmed && isSealed(starts, segment),
    );
    let split = Buffer.alloc(0);
    let parts = 0;
    for (const segment of served.toReversed()) {
      const listed = await readParts(this.catalog, partition, segment.partRanges);
      const reader = new SegmentReader(
        this.store,
        partition,
        segment,
        listed,
        wholeOf(segment),
        never,
      );
      for (let run = await reader.next(); run !== undefined; run = await reader.next()) {
        split = Buffer.concat([split, ...run.chunks]);
      }
      parts += listed.length;
    }
    const from = served[0]?.from ?? 0;
    const to = served.at(-1)?.to ?? 0;
    const original = await this.original(partition, from, to);
    return { from, to, parts, events: original.events, same: split.equals(original.frames) };
  }

  async original(
    partition: PartitionKey,
    from = 0,
    to = Number.MAX_SAFE_INTEGER,
  ): Promise<{ frames: Buffer; events: number }> {
    const range = { from, to, order: "NEWEST_FIRST" as const, after: undefined };
    const chunks: Uint8Array[] = [];
    let events = 0;
    const runs = { runEventsMax: 10_000, runBytesMax: 1 << 24 };
    for await (const run of this.store.scan(partition, { ...range, ...runs }, never)) {
      chunks.push(...run.chunks);
      events += run.count;
    }
    return { frames: Buffer.concat(chunks), events };
  }

  /** Of the newest segment. */
  async parts(partition: PartitionKey): Promise<PartRecord[]> {
    const record = await this.record(partition);
    return readParts(this.catalog, partition, record?.segments.at(-1)?.partRanges ?? []);
  }

  /** Flips one bit in the first block of a part. */
  async damage(partition: PartitionKey, part: number): Promise<void> {
    const location = partKey(partition, part);
    const range = {
      order: "NEWEST_FIRST" as const,
      at: undefined,
      until: undefined,
      firstBlocks: 1,
      fetchBytesMax: 1,
      blockBytesMax: 1,
    };
    for await (const [block] of this.store.scanBlocks(location, range, never)) {
      if (block === undefined) break;
      const bytes = Buffer.from(block.bytes);
      bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
      await this.store.appendBlocks(location, [{ key: block.key, bytes }]);
      return;
    }
    throw new Error(`part ${part} has no blocks`);
  }

  async #sizeOf(partition: PartitionKey): Promise<{ bytes: number; events: number }> {
    const { frames, events } = await this.original(partition);
    return { bytes: frames.length, events };
  }
}

export interface Comparison {
  /** Event time that is served from the split; both 0 if none is. */
  readonly from: number;
  readonly to: number;
  readonly parts: number;
  /** Of the original in that time. */
  readonly events: number;
  readonly same: boolean;
}

type Placed = Parameters<EventStore["append"]>[1][number];

function wholeOf({ from, to }: { from: number; to: number }) {
  const bytes = { runBytesMax: 1 << 20, firstBytes: 1 << 20 };
  return { from, to, order: "NEWEST_FIRST" as const, after: undefined, ...bytes };
}

/** Where scans, too, wait at the gate before they begin. */
function scanGatedStore(store: EventStore, gate: Gate): EventStore {
  return {
    ...gatedStore(store, gate),
    scan: (...call) => gated(gate, () => store.scan(...call)),
    scanBlocks: (...call) => gated(gate, () => store.scanBlocks(...call)),
  };
}

async function* gated<T>(gate: Gate, scan: () => AsyncIterable<T>): AsyncGenerator<T> {
  await gate();
  for await (const each of scan()) {
    await gate();
    yield each;
  }
}
