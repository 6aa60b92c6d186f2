import { deepEqual, equal, rejects } from "node:assert/strict";
import { test } from "node:test";
import { MemoryCatalog } from "../../tests/support/memory-catalog.ts";
import type { PartitionKey } from "../model/partition.ts";
import type { PartRecord } from "../model/split.ts";
import { readParts, writePart } from "./part-records.ts";

const PARTITION: PartitionKey = {
  namespaceId: "plays-1",
  slice: "data_20260328",
  seriesId: "a",
  timeBucket: 3,
  eventBucket: 0,
};

function part(number: number): PartRecord {
  const sizes = { bytes: 8, events: 1, blocks: 1, blockBytesMax: 9, digest: "d" };
  return { part: number, from: number, to: number + 1, ...sizes };
}

async function numbers(catalog: MemoryCatalog, runs: [number, number][]): Promise<number[]> {
  const parts = await readParts(
    catalog,
    PARTITION,
    runs.map(([start, count]) => ({ start, count })),
  );
  return parts.map((record) => record.part);
}

test("parts are read in the order of their ranges, whatever lies between", async () => {
  const catalog = new MemoryCatalog();
  for (const number of [0, 1, 2, 5, 6, 9, 10, 11])
    await writePart(catalog, PARTITION, part(number));
  deepEqual(await readParts(catalog, PARTITION, [{ start: 5, count: 1 }]), [part(5)]);
  deepEqual(await numbers(catalog, []), []);
  deepEqual(
    await numbers(catalog, [
      [9, 3],
      [5, 2],
      [0, 2],
    ]),
    [9, 10, 11, 5, 6, 0, 1],
  );
});

test("ids that begin like the partition's own key are not mistaken for its parts", async () => {
  const catalog = new MemoryCatalog();
  // Some of these are in the same shard, and all lie between the keys of the parts.
  for (let i = 0; i < 64; i++) {
    const other = { ...PARTITION, seriesId: `a|3|0|0000000|${i}` };
    await writePart(catalog, other, part(0));
  }
  for (const number of [0, 1, 2]) await writePart(catalog, PARTITION, part(number));
  deepEqual(await numbers(catalog, [[0, 3]]), [0, 1, 2]);
  await rejects(numbers(catalog, [[0, 4]]), { code: "DATA_LOSS" });
});

test("more parts than fit into a page of the catalog are all read", async () => {
  const catalog = new MemoryCatalog();
  for (let i = 0; i < 1_100; i++) await writePart(catalog, PARTITION, part(i));
  const read = await numbers(catalog, [[3, 1_097]]);
  equal(read.length, 1_097);
  deepEqual([read[0], read.at(-1)], [3, 1_099]);
});

test("a missing part is DATA_LOSS, at the start, in the middle and at the end of a range", async () => {
  const catalog = new MemoryCatalog();
  for (const number of [1, 2, 4, 5]) await writePart(catalog, PARTITION, part(number));
  for (const [start, count] of [
    [0, 2],
    [1, 4],
    [4, 3],
    [8, 1],
  ]) {
    await rejects(numbers(catalog, [[start as number, count as number]]), { code: "DATA_LOSS" });
  }
});

test("CP8: a number is used once", async () => {
  const catalog = new MemoryCatalog();
  await writePart(catalog, PARTITION, part(7));
  await rejects(writePart(catalog, PARTITION, { ...part(7), bytes: 1 }), { code: "CONFLICT" });
  deepEqual(await readParts(catalog, PARTITION, [{ start: 7, count: 1 }]), [part(7)]);
});
