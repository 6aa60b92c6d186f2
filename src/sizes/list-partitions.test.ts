import { deepEqual, equal, rejects } from "node:assert/strict";
import { test } from "node:test";
import { ControlFixture } from "../../tests/support/control-fixture.ts";
import { newSplit } from "../model/split-moves.ts";
import { writeSplit } from "../records/split-records.ts";
import { idFraction } from "../model/width-grid.ts";
import { writeTopPartitions } from "../records/top-partition-records.ts";
import { PartitionListing } from "./list-partitions.ts";
import type { PartitionFilter, PartitionsQuery } from "./list-partitions.ts";

const TODAY = "data_20260328";
const QUERY: PartitionsQuery = { timeSlice: "", order: "BYTES", pageSize: 100, after: "" };

async function open() {
  const fixture = new ControlFixture();
  const { catalog, clock } = fixture;
  const { id } = await fixture.start().namespaces.create("plays", {});
  const slice = { namespaceId: id, slice: TODAY };
  const listing = new PartitionListing({
    catalog,
    clock,
    routeOf: () => "ORIGINAL_HELD",
    unreadable: () => undefined,
  });
  const at = { timeBucket: 3, eventBucket: 0 };
  return {
    listing,
    catalog,
    walk: (sizes: Readonly<Record<string, readonly [bytes: number, events: number]>>) =>
      writeTopPartitions(catalog, slice, {
        asOf: 100,
        endedAt: 200,
        complete: true,
        totalBytes: 1_000,
        totalEvents: 50,
        partitions: Object.entries(sizes).map(([seriesId, [bytes, events]]) => {
          return { seriesId, ...at, bytes, events, exact: true };
        }),
      }),
    detect: async (seriesId: string, bytes: number, events: number): Promise<void> => {
      const partition = { ...slice, seriesId, ...at };
      const split = { partition, namespace: "plays", epoch: 0, bytes, events };
      const record = newSplit(
        { ...split, immutable: true, detectedAt: 0 },
        { at: 0, by: "test", cause: "detection", reason: "seen" },
      );
      await writeSplit(catalog, record);
    },
    listed: async (query: Partial<PartitionsQuery> = {}): Promise<string[]> => {
      const page = await listing.list("plays", { ...QUERY, ...query });
      return page.partitions.map(
        ({ seriesId, bytes, events, share, exact, route, split }) =>
          `${seriesId} ${bytes} ${events} ${share} ${exact ? "exact" : "at least"} ${route} ${split?.state ?? "-"}`,
      );
    },
  };
}

test("a filter gives the partitions of some time buckets, sizes and ids, and counts them", async () => {
  const world = await open();
  await world.walk({ a: [500, 5], b: [100, 25], c: [200, 1] });
  const ids = async (filter: PartitionFilter): Promise<string> => {
    const page = await world.listing.list("plays", { ...QUERY, filter });
    deepEqual([page.known, page.matching], [3, page.partitions.length]);
    return page.partitions.map(({ seriesId }) => seriesId).join("");
  };
  equal(await ids({ bytesMin: 200 }), "ac");
  equal(await ids({ bytesMin: 101, bytesMax: 499 }), "c");
  equal(await ids({ timeBucketMin: 3, timeBucketMax: 3 }), "acb");
  equal(await ids({ timeBucketMin: 4 }), "");
  equal(await ids({ timeBucketMax: 2 }), "");
  equal(await ids({ seriesId: "b" }), "b");
  const from = idFraction("b");
  equal(await ids({ idFraction: { from, to: from + 1e-9 } }), "b");
  equal(await ids({ idFraction: { from: 0, to: 1 } }), "acb");
});

test("a page of a filtered list continues with the same filter", async () => {
  const world = await open();
  await world.walk({ a: [500, 5], b: [100, 25], c: [200, 1], d: [150, 1] });
  const query = { ...QUERY, pageSize: 2, filter: { bytesMax: 400 } };
  const first = await world.listing.list("plays", query);
  const second = await world.listing.list("plays", { ...query, after: first.next });
  deepEqual(
    [first, second].map(({ partitions }) => partitions.map(({ seriesId }) => seriesId)),
    [["c", "d"], ["b"]],
  );
  equal(second.next, "");
});

test("the largest come first, by bytes or by events, with their share of the slice", async () => {
  const world = await open();
  await world.walk({ a: [500, 5], b: [100, 25], c: [200, 1] });
  deepEqual(await world.listed(), [
    "a 500 5 0.5 exact ORIGINAL_NOT_SPLIT -",
    "c 200 1 0.2 exact ORIGINAL_NOT_SPLIT -",
    "b 100 25 0.1 exact ORIGINAL_NOT_SPLIT -",
  ]);
  deepEqual(await world.listed({ order: "EVENTS", pageSize: 1 }), [
    "b 100 25 0.5 exact ORIGINAL_NOT_SPLIT -",
  ]);
});

test("what reads have detected since the walk is merged in, as a lower bound", async () => {
  const world = await open();
  await world.walk({ a: [500, 5], b: [100, 25] });
  await world.detect("a", 400, 4);
  await world.detect("b", 900, 30);
  await world.detect("new", 700, 7);
  deepEqual(await world.listed(), [
    "b 900 30 0.9 at least ORIGINAL_HELD DETECTED",
    "new 700 7 0.7 at least ORIGINAL_HELD DETECTED",
    "a 500 5 0.5 exact ORIGINAL_HELD DETECTED",
  ]);
});

test("before the first walk only detections are listed, without a share", async () => {
  const world = await open();
  deepEqual(await world.listed(), []);
  await world.detect("new", 700, 7);
  deepEqual(await world.listed(), ["new 700 7 0 at least ORIGINAL_HELD DETECTED"]);
  equal((await world.listing.list("plays", QUERY)).walk, undefined);
});

test("pages continue each other, also where sizes are equal", async () => {
  const world = await open();
  const names = Array.from({ length: 25 }, (_, nth) => `id${nth}`);
  await world.walk(Object.fromEntries(names.map((name, nth) => [name, [nth % 3, 1] as const])));
  const whole = await world.listed();
  for (const order of ["BYTES", "EVENTS"] as const) {
    const found: string[] = [];
    for (let after = ""; ;) {
      const page = await world.listing.list("plays", { ...QUERY, order, pageSize: 4, after });
      found.push(...page.partitions.map(({ seriesId }) => seriesId));
      if (page.next === "") break;
      after = page.next;
    }
    deepEqual(found.toSorted(), names.toSorted());
  }
  equal(whole.length, 25);
});

test("an unknown slice is not found, and a malformed token is refused", async () => {
  const world = await open();
  await rejects(world.listing.list("plays", { ...QUERY, timeSlice: "data_19990101" }), {
    code: "TIME_SLICE_NOT_FOUND",
  });
  for (const after of ["x", "[1]", "{}"]) {
    await world.walk({ a: [1, 1] });
    await rejects(world.listing.list("plays", { ...QUERY, after }), { code: "PAGE_TOKEN_INVALID" });
  }
});
