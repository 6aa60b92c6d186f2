/**
 * Partitions of every awkward shape, by every strategy, in both layouts, on a real engine: a worker
 * plans, copies, validates and confirms each, and then a server serves it, correct to the last
 * event.
 *
 * All cases share one namespace, because creating tables takes the most time on some engines: each
 * has ids of its own. Sizes are small: only shapes matter here.
 */
import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import type { TestContext } from "node:test";
import type { PartitionKey } from "../../src/model/partition.ts";
import { SPLIT_LAYOUTS } from "../../src/model/layouts.ts";
import { SPLIT_STRATEGIES } from "../../src/model/strategies/strategies.ts";
import type { PartRecord, SplitRecord } from "../../src/model/split.ts";
import type { SplitLayout } from "../../src/model/layouts.ts";
import type { SplitStrategyName } from "../../src/model/strategies/strategies.ts";
import type { ReadQuery } from "../../src/read/read-query.ts";
import * as reads from "../property/reads.ts";
import type { ModelEvent } from "../property/reads.ts";
import type { Engine } from "../support/busy-engine.ts";
import { LiveSplits, NAME, locationOf, SETTLE_MS } from "../support/live-splits.ts";
import type { LiveServer } from "../support/live-splits.ts";

const { SECOND } = reads;
const START = Date.UTC(2026, 2, 28, 12) * 1_000;
const BUCKET_SECONDS = 60;
const ACCEPT_SECONDS = 15;
const TARGET_BYTES = 4_000;
const FEW_PARTS = 2;
/** Longer than a server caches routes. */
const HEARD_MS = 6_000;
const OPERATOR_REQUEST = { by: "operator", reason: "" };

interface Combination {
  readonly strategy: SplitStrategyName;
  readonly layout: SplitLayout;
}

interface Outcome {
  readonly partition: PartitionKey;
  readonly record: SplitRecord;
  readonly parts: readonly PartRecord[];
}

/** `open` returns a fresh engine, which is closed at the end. */
export function splitShapesSuite(engine: string, open: () => Promise<Engine>): void {
  test(`CP11: ${engine}: partitions of every shape are split by every strategy in both layouts, and served`, async (t) => {
    const slo = { targetMs: 5_000, maxMs: 30_000 };
    const live = await LiveSplits.open(await open(), START + 150 * SECOND, {
      timePartition: {
        secondsPerTimeSlice: 7_200,
        secondsPerTimeBucket: BUCKET_SECONDS,
        eventBuckets: 1,
      },
      acceptLimitMicros: ACCEPT_SECONDS * SECOND,
      futureLimitMicros: 5 * SECOND,
      retention: { closeAfterMicros: 36_000 * SECOND, deleteAfterMicros: 72_000 * SECOND },
      slos: { read: slo, write: slo },
    });
    try {
      const shapes = new Shapes(live);
      for (const strategy of SPLIT_STRATEGIES) {
        for (const layout of SPLIT_LAYOUTS) {
          await t.test(`${strategy} in ${layout}`, (each) =>
            shapes.claim(each, { strategy, layout }),
          );
        }
      }
    } finally {
      await live.close();
    }
  });
}

class Shapes {
  readonly #live: LiveSplits;
  readonly #server: LiveServer;
  readonly #model = new Map<string, ModelEvent>();
  /** Start of the bucket that is open while these are split. */
  #open = START;
  /** Run once, by a worker in the middle of planning. */
  #whilePlanned: ((partition: PartitionKey) => Promise<void>) | undefined;

  constructor(live: LiveSplits) {
    this.#live = live;
    this.#server = live.startServer({ pageSizeDefault: 7 });
    const worker = live.startWorker(async () => {
      const grow = this.#whilePlanned;
      if (grow === undefined) return;
      for (const event of worker.events) {
        if (event.kind !== "moved" || event.to !== "PLANNING") continue;
        if (!event.partition.seriesId.endsWith(" grows")) continue;
        worker.events.length = 0;
        this.#whilePlanned = undefined;
        await grow(event.partition);
        return;
      }
    });
  }

  async claim(t: TestContext, { strategy, layout }: Combination): Promise<void> {
    const live = this.#live;
    const name = (shape: string): string => `${strategy} ${layout} ${shape}`;
    const wide = { targetBytes: TARGET_BYTES, bytesMax: TARGET_BYTES, strategy, layout };
    await live.tune({ ...wide, maxParts: 4_096 }, "SERVE");
    const { closed, open } = await this.#buckets();
    const [even] = await this.#write(evenly(name("even"), closed, 40));
    const [moment] = await this.#write(atOnce(name("one moment"), closed, 30));
    const [large] = await this.#write(withLarge(name("one large"), closed));
    const [grows] = await this.#write(evenly(name("grows"), open, 40, 12));
    const [few] = await this.#write(evenly(name("few parts"), closed, 40));
    ok(even !== undefined && moment !== undefined && large !== undefined);
    ok(grows !== undefined && few !== undefined);
    const empty = { ...even, seriesId: name("empty") };
    this.#whilePlanned = () => this.#grow(name("grows"));
    await this.#split([even, moment, large, grows, empty]);
    await live.tune({ ...wide, maxParts: FEW_PARTS }, "SERVE");
    await this.#split([few]);
    const first = await this.#outcome(grows);
    // Until the bucket that was open is closed, and the rest of it is split.
    await live.tune({ ...wide, maxParts: 4_096 }, "SERVE");
    const closedAt = open + (BUCKET_SECONDS + ACCEPT_SECONDS) * SECOND + SETTLE_MS * 1_000;
    await live.advance(Math.max(0, closedAt - live.clock.nowMicros()) / 1_000 + 31_000);
    await live.rest([grows]);

    const all = [even, moment, large, grows, few];
    const whole = all.map(({ seriesId }) => this.#query(seriesId, "NEWEST_FIRST", 1_000));
    // Before the server knows of the splits, while it compares them, and afterwards from the
    // splits.
    for (const query of whole) await this.#requireRight(query);
    await live.advance(HEARD_MS);
    for (const query of whole) await this.#requireRight(query);
    await live.engine.quiet();

    const claimServed = async (partition: PartitionKey): Promise<Outcome> => {
      const outcome = await this.#outcome(partition);
      const { state, failures, segments } = outcome.record;
      deepEqual([state, failures], ["COMPLETED", 0], JSON.stringify(outcome.record.history));
      for (const segment of segments) {
        deepEqual([segment.strategy, segment.layout], [strategy, layout]);
        ok(segment.confirmedAt !== null, "confirmed");
      }
      await this.#requireServed(partition);
      return outcome;
    };
    await t.test("a partition with several events at each microsecond", async () => {
      const { record, parts } = await claimServed(even);
      ok(parts.length >= 4, `${parts.length} parts`);
      equal(sumOf(parts), 40);
      equal(record.segments.length, 1);
    });
    await t.test(
      "a partition with all events at one microsecond: only their ids can separate them",
      async () => {
        const { parts } = await claimServed(moment);
        const most = Math.max(...parts.map(({ events }) => events));
        deepEqual(
          [parts.length > 1, most < 30],
          strategy === "HASH" ? [true, true] : [false, false],
        );
      },
    );
    await t.test("a partition with an event larger than a part should be", async () => {
      const { parts } = await claimServed(large);
      ok(parts.some(({ bytes }) => bytes > 4 * TARGET_BYTES));
      equal(sumOf(parts), 21);
    });
    await t.test(
      "a partition that grows while it is planned: the new events are in a later segment",
      async () => {
        equal(this.#whilePlanned, undefined);
        equal(sumOf(first.parts), 40);
        const { record, parts } = await claimServed(grows);
        ok(record.segments.length > 1);
        deepEqual(record.segments[0], first.record.segments[0]);
        equal(sumOf(parts), 40 + GROWN);
      },
    );
    await t.test("a partition without events is refused, and reads show the reason", async () => {
      const { record } = await this.#outcome(empty);
      equal(record.state, "REFUSED");
      equal(record.history.at(-1)?.cause, "empty");
      await this.#requireRight(this.#query(empty.seriesId, "NEWEST_FIRST", 7));
    });
    await t.test("a partition with too few allowed parts: the parts grow", async () => {
      const { record, parts } = await claimServed(few);
      ok(parts.length <= FEW_PARTS);
      ok((record.segments[0]?.partBytes ?? 0) > TARGET_BYTES);
      equal(sumOf(parts), 40);
    });
  }

  /** The start of a bucket that is closed and sealed, and of one whose first half is sealed. */
  async #buckets(): Promise<{ readonly closed: number; readonly open: number }> {
    const live = this.#live;
    const width = BUCKET_SECONDS * SECOND;
    const nth = Math.ceil((live.clock.nowMicros() - START) / width);
    const open = START + nth * width;
    this.#open = open;
    await live.advance((open - live.clock.nowMicros()) / 1_000 + 45_000);
    return { closed: open - 2 * width, open };
  }

  async #write(events: readonly ModelEvent[]): Promise<PartitionKey[]> {
    for (const event of events) this.#model.set(reads.keyOf(event), event);
    return this.#live.store(events.map(reads.encode));
  }

  /** As callers write: current events, in open time. */
  async #grow(series: string): Promise<void> {
    const now = this.#live.clock.nowMicros();
    const grown = Array.from({ length: GROWN }, (_, nth) =>
      eventOf(series, now - nth * SECOND, `late ${nth}`, 500),
    );
    const batch = { namespace: NAME, events: grown.map(reads.encode), bytes: 10_000 };
    const { taken } = await this.#server.writer.write(batch, NEVER);
    equal(taken, GROWN);
    for (const event of grown) this.#model.set(reads.keyOf(event), event);
  }

  async #split(partitions: readonly PartitionKey[]): Promise<void> {
    const { splits } = this.#server;
    for (const partition of partitions) {
      await this.#live.pass(splits.request(locationOf(partition), OPERATOR_REQUEST));
    }
    await this.#live.rest(partitions);
  }

  async #outcome(partition: PartitionKey): Promise<Outcome> {
    const live = this.#live;
    const record = await live.pass(live.record(partition));
    ok(record !== undefined);
    return { partition, record, parts: await live.pass(live.parts(record)) };
  }

  /** All of an id's buckets, and those beside them. */
  #query(seriesId: string, order: ReadQuery["order"], pageSize: number): ReadQuery {
    const width = BUCKET_SECONDS * SECOND;
    return {
      namespace: NAME,
      seriesId,
      start: this.#open - 3 * width,
      end: this.#open + 2 * width,
      filters: [],
      order,
      pageSize,
      totalLimit: 0,
      pageToken: "",
      allowPartial: false,
    };
  }

  async #requireRight(query: ReadQuery): Promise<void> {
    const expected = reads.answerOf(this.#model, query, undefined);
    const { reader } = this.#server;
    const found = await this.#live.pass(reads.readAllPages(reader, query, Infinity));
    deepEqual(found, expected, query.seriesId);
  }

  /** In both orders, page by page, from the split alone. */
  async #requireServed({ seriesId }: PartitionKey): Promise<void> {
    const { reads: seen } = this.#server;
    for (const order of ["NEWEST_FIRST", "OLDEST_FIRST"] as const) {
      seen.length = 0;
      await this.#requireRight(this.#query(seriesId, order, 7));
      const routes = new Set(seen.filter(({ partition }) => partition.seriesId === seriesId));
      const split = [...routes].filter(({ route }) => route === "SPLIT");
      ok(split.length > 0, `${seriesId} ${order}: ${[...routes].map(({ route }) => route).join()}`);
      // Rows of the neighbouring buckets, which are empty and not split.
      const others = [...routes].filter(({ route, events }) => route !== "SPLIT" && events > 0);
      deepEqual(others, [], order);
    }
  }
}

const NEVER = new AbortController().signal;
/** Events that come while it is planned. */
const GROWN = 5;

function eventOf(series: string, time: number, id: string, padding: number): ModelEvent {
  return { series, time, id, device: "tv", padding };
}

/** Four at each microsecond, over some seconds. */
function evenly(series: string, start: number, count: number, seconds = 48): ModelEvent[] {
  return Array.from({ length: count }, (_, nth) => {
    const time = start + Math.floor(((nth - (nth % 4)) * seconds * SECOND) / count);
    return eventOf(series, time, `é${nth}`, 500);
  });
}

function atOnce(series: string, start: number, count: number): ModelEvent[] {
  return Array.from({ length: count }, (_, nth) => eventOf(series, start + 7, `m${nth}`, 500));
}

function withLarge(series: string, start: number): ModelEvent[] {
  const small = evenly(series, start, 20);
  return [...small, eventOf(series, start + 20 * SECOND + 1, "large", 5 * TARGET_BYTES)];
}

function sumOf(parts: readonly PartRecord[]): number {
  return parts.reduce((sum, { events }) => sum + events, 0);
}
