import { deepEqual, equal } from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { utf8 } from "../../lib/bytes.ts";
import { systemClock } from "../../lib/clock.ts";
import type { PartitionKey } from "../../model/partition.ts";
import type { Order, ScanRange } from "../../ports/event-store.ts";
import { encodeEvent } from "../../wire/event-record.ts";
import { eventsOfRun } from "../../wire/frames.ts";
import type { Run } from "../../wire/frames.ts";
import { CheckedLevel } from "./checked-level.ts";
import { putEvent } from "./key-codec.ts";
import { LEVEL_OPTIONS } from "./level-options.ts";
import { scanPartition } from "./scan-partition.ts";

const PARTITION: PartitionKey = {
  namespaceId: "n",
  slice: "data_20260328",
  seriesId: "a",
  timeBucket: 0,
  eventBucket: 0,
};
const EVENTS = 3_000;
const TIMES = Array.from({ length: EVENTS }, (_, n) => n);
const ORDERS: readonly Order[] = ["OLDEST_FIRST", "NEWEST_FIRST"];
const never = new AbortController().signal;

/** A store whose iterators note how many rows each fetch asks for, and how many it gets. */
async function open() {
  const directory = await mkdtemp(join(tmpdir(), "braid-scan-"));
  await CheckedLevel.create(directory, LEVEL_OPTIONS);
  const options = { directory, what: "slice n/data", clock: systemClock, tuning: LEVEL_OPTIONS };
  const level = await CheckedLevel.open(options);
  await level.write(EVENTS, (batch) => {
    for (const time of TIMES) {
      const value = Buffer.alloc(200);
      const event = encodeEvent(utf8("a"), time, utf8(`e${time}`), [{ key: utf8("k"), value }]);
      putEvent(batch, { event, timeBucket: 0, eventBucket: 0 });
    }
    return 1;
  });
  const fetches: { asked: number; got: number }[] = [];
  const iterate = level.iterate.bind(level);
  level.iterate = async (bounds) => {
    const iterator = await iterate(bounds);
    const nextv = iterator.nextv.bind(iterator);
    iterator.nextv = async (asked: number) => {
      const rows = await nextv(asked);
      fetches.push({ asked, got: rows.length });
      return rows;
    };
    return iterator;
  };
  return {
    level,
    fetches,
    async [Symbol.asyncDispose]() {
      await level.close();
      await rm(directory, { recursive: true });
    },
  };
}

function rangeOf(order: Order, pageEvents: number, eventsWanted?: number): ScanRange {
  const limits = { runEventsMax: pageEvents, runBytesMax: 512 * 1024, eventsWanted };
  return { from: 0, to: EVENTS, order, after: undefined, ...limits };
}

function timesOf(runs: readonly Run[]): number[] {
  return runs.flatMap((run) => [...eventsOfRun(run)].map(({ time }) => time));
}

for (const order of ORDERS) {
  const expected = order === "OLDEST_FIRST" ? TIMES : TIMES.toReversed();

  for (const wanted of [1, 100, 1_000]) {
    test(`a scan for ${wanted} events fetches exactly these, ${order}`, async () => {
      await using fixture = await open();
      const { level, fetches } = fixture;
      const range = rangeOf(order, wanted, wanted);
      for await (const run of scanPartition(level, PARTITION, range, never)) {
        deepEqual(timesOf([run]), expected.slice(0, wanted));
        break;
      }
      deepEqual(fetches, [{ asked: wanted, got: wanted }]);
    });
  }

  test(`a scan that wants less than its caller takes continues to the end, ${order}`, async () => {
    await using fixture = await open();
    const range = rangeOf(order, 100, 10);
    const runs = await Array.fromAsync(scanPartition(fixture.level, PARTITION, range, never));
    deepEqual(timesOf(runs), expected);
    deepEqual(fixture.fetches[0], { asked: 10, got: 10 });
  });

  test(`a scan for more events than one fetch may hold fetches no event too many, ${order}`, async () => {
    await using fixture = await open();
    const range = rangeOf(order, 2_500, 2_500);
    const taken: Run[] = [];
    for await (const run of scanPartition(fixture.level, PARTITION, range, never)) {
      taken.push(run);
      if (timesOf(taken).length >= 2_500) break;
    }
    deepEqual(timesOf(taken), expected.slice(0, 2_500));
    equal(
      fixture.fetches.reduce((sum, { got }) => sum + got, 0),
      2_500,
    );
  });

  test(`a scan that does not know what is wanted begins with little and reads ahead, ${order}`, async () => {
    await using fixture = await open();
    const range = rangeOf(order, 10_000);
    const runs = await Array.fromAsync(scanPartition(fixture.level, PARTITION, range, never));
    deepEqual(timesOf(runs), expected);
    deepEqual(
      fixture.fetches.map(({ asked }) => asked),
      [256, 512, 1_024, 1_024, 1_024],
    );
  });
}
