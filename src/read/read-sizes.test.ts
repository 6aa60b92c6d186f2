import { equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { MemoryStore } from "../../tests/support/memory-store.ts";
import { joinedSlices, staticView, viewSource } from "../../tests/support/static-view.ts";
import { ByteBudget } from "../lib/byte-budget.ts";
import { utf8 } from "../lib/bytes.ts";
import { systemClock } from "../lib/clock.ts";
import type { PartitionKey } from "../model/partition.ts";
import { OriginalOpener } from "../../tests/support/original-opener.ts";
import type { SizeReport } from "../ports/partition-sizes.ts";
import { PageTokens } from "./page-tokens.ts";
import { EventReader } from "./read-events.ts";
import { DEFAULT_READ_LIMITS } from "./read-limits.ts";
import { encodeEvent } from "../wire/event-record.ts";
import { frameLength } from "../wire/frames.ts";
import { ReadSizes } from "./read-sizes.ts";

const SLICE = { namespaceId: "plays-1", slice: "data_20260328" };

function partition(seriesId: string, timeBucket = 0, eventBucket = 0): PartitionKey {
  return { ...SLICE, seriesId, timeBucket, eventBucket };
}

function asked(sizes: ReadSizes, slice = SLICE): Promise<SizeReport> {
  return sizes.sizesOf(slice);
}

test("a thousand reads of one partition count as one, with the size of the last complete read", async () => {
  const sizes = new ReadSizes({ clock: systemClock });
  for (let i = 0; i < 1_000; i++) {
    sizes.note({ partition: partition("a"), bytes: 100 + i, whole: i === 999 });
    sizes.note({ partition: partition("a"), bytes: 10, whole: false });
  }
  const report = await asked(sizes);
  equal(report.count, 1);
  equal(report.maxBytes, 1_099);
  equal(report.meanBytes, 1_099);
  equal(report.histogram?.percentile(0.5), 1_099);
  equal(report.coverage, "1 partition read by this server, 1 of them to the end");
});

test("a partial read of more than the known size makes it a lower bound again", async () => {
  const sizes = new ReadSizes({ clock: systemClock });
  sizes.note({ partition: partition("a"), bytes: 100, whole: true });
  sizes.note({ partition: partition("a"), bytes: 150, whole: false });
  const grown = await asked(sizes);
  equal(grown.maxBytes, 150);
  equal(grown.coverage, "1 partition read by this server, 0 of them to the end");
  sizes.note({ partition: partition("a"), bytes: 150, whole: true });
  equal((await asked(sizes)).coverage, "1 partition read by this server, 1 of them to the end");
});

test("buckets and series are separate partitions, and an empty one does not count", async () => {
  const sizes = new ReadSizes({ clock: systemClock });
  for (const series of ["a", "b"]) {
    for (let bucket = 0; bucket < 10; bucket++) {
      for (let eventBucket = 0; eventBucket < 4; eventBucket++) {
        const key = partition(series, bucket, eventBucket);
        sizes.note({ partition: key, bytes: 1_000, whole: true });
      }
    }
  }
  sizes.note({ partition: partition("empty"), bytes: 0, whole: true });
  equal((await asked(sizes)).count, 80);
});

test("a full sample stays within its bound and still reports the number and sizes of partitions", async () => {
  const sizes = new ReadSizes({ clock: systemClock, sampleMax: 512 });
  const partitions = 50_000;
  for (let i = 0; i < partitions; i++) {
    // One in ten is large, and these are read ten times as often.
    const large = i % 10 === 0;
    for (let read = 0; read < (large ? 10 : 1); read++) {
      sizes.note({ partition: partition(`s${i}`), bytes: large ? 1e6 : 1e3, whole: true });
    }
  }
  const report = await asked(sizes);
  const sampled = Number(/a sample of (\d+) of about/.exec(report.coverage)?.[1]);
  ok(sampled <= 512 && sampled >= 128, report.coverage);
  ok(Math.abs(report.count - partitions) < partitions / 4, `${report.count}`);
  equal(report.histogram?.percentile(0.5), report.histogram?.percentile(0.8));
  equal(report.histogram?.percentile(0.99), 1e6);
});

test("slices are counted separately, and the one read longest ago is forgotten first", async () => {
  const sizes = new ReadSizes({ clock: systemClock, slicesMax: 2 });
  const named = (slice: string) => ({ ...SLICE, slice });
  const note = (slice: string): void =>
    sizes.note({ partition: { ...partition("a"), slice }, bytes: 10, whole: true });
  note("data_1");
  note("data_2");
  note("data_1");
  note("data_3");
  equal((await asked(sizes, named("data_1"))).count, 1);
  equal((await asked(sizes, named("data_2"))).count, 0);
  equal((await asked(sizes, named("data_3"))).count, 1);
  equal((await asked(sizes, { ...named("data_1"), namespaceId: "plays-2" })).count, 0);
});

test("for a slice without reads it reports that there were none", async () => {
  const report = await asked(new ReadSizes({ clock: systemClock }));
  equal(report.count, 0);
  equal(report.coverage, "this server has read no partition of this slice");
});

test("reads in small pages report a partition's size: a lower bound at first, all of it at the end", async () => {
  const sizes = new ReadSizes({ clock: systemClock });
  const strategy = { secondsPerTimeSlice: 20, secondsPerTimeBucket: 10, eventBuckets: 1 };
  const view = staticView({ slices: joinedSlices(0, [strategy]) });
  const slice = { namespaceId: "plays-1", slice: "data_0" };
  const store = new MemoryStore();
  await store.createSlice(slice);
  let [firstBytes, bytes] = [0, 0];
  for (let n = 0; n < 10; n++) {
    const event = encodeEvent(utf8("s"), n * 1_000_000, utf8(`e${n}`), []);
    bytes += frameLength(event.end - event.start);
    if (n === 4) firstBytes = bytes;
    await store.append(slice, [{ event, timeBucket: 0, eventBucket: 0 }]);
  }
  const budget = new ByteBudget(1 << 24);
  const reader = new EventReader({
    clock: systemClock,
    views: viewSource(() => view),
    opener: new OriginalOpener(store, systemClock),
    search: {},
    budget,
    streamBudget: budget,
    tokens: new PageTokens(new Uint8Array(32)),
    limits: DEFAULT_READ_LIMITS,
    onPartitionRead: (read) => sizes.note(read),
  });
  const read = async (end: number, pageToken: string): Promise<string> => {
    const page = await reader.readPage(
      {
        namespace: "plays",
        seriesId: "s",
        start: 0,
        end,
        filters: [],
        order: "OLDEST_FIRST",
        pageSize: 4,
        totalLimit: 0,
        pageToken,
        allowPartial: false,
      },
      new AbortController().signal,
    );
    return page.nextPageToken;
  };

  await read(5_000_000, await read(5_000_000, ""));
  const half = await asked(sizes, slice);
  equal(half.maxBytes, firstBytes);
  equal(half.coverage, "1 partition read by this server, 0 of them to the end");
  let pageToken = "";
  do pageToken = await read(20_000_000, pageToken);
  while (pageToken !== "");
  const all = await asked(sizes, slice);
  equal(all.maxBytes, bytes);
  equal(all.coverage, "1 partition read by this server, 1 of them to the end");
});
