import assert from "node:assert/strict";
import { test } from "node:test";
import { MemoryCatalog } from "../../tests/support/memory-catalog.ts";
import { listSplits, readSplit, removeSplits, writeSplit } from "./split-records.ts";
import type { SplitRecord } from "./split-records.ts";

const SLICE = { namespaceId: "plays-1", slice: "data_20260328" };

function recordOf(seriesId: string, timeBucket = 7, eventBucket = 2): SplitRecord {
  return {
    partition: { ...SLICE, seriesId, timeBucket, eventBucket },
    state: "DETECTED",
    epoch: 1,
    bytes: 11_000_000,
    events: 4_000,
    immutable: true,
    detectedAt: 5,
    history: [{ at: 6, by: "worker-1", from: null, to: "DETECTED", reason: "wide" }],
    version: 0,
  };
}

test("a record is written, read, and changed by its version", async () => {
  const catalog = new MemoryCatalog();
  const record = recordOf("profile:1");
  assert.equal(await readSplit(catalog, record.partition), undefined);
  const written = await writeSplit(catalog, record);
  assert.ok(written);
  assert.deepEqual(await readSplit(catalog, record.partition), written);
  assert.equal(await writeSplit(catalog, record), undefined);
  const parked = await writeSplit(catalog, { ...written, state: "PARKED" });
  assert.deepEqual(await readSplit(catalog, record.partition), parked);
});

test("records of a slice are spread over shards, and listed with their partitions", async () => {
  const catalog = new MemoryCatalog();
  const ids = [...Array(60).keys()].map((i) => `profile|${i}|3`);
  for (const id of ids) await writeSplit(catalog, recordOf(id, 1, 0));
  await writeSplit(catalog, recordOf("é|x", 2, 5));
  const spaces = new Set(catalog.dump().map((path) => path.split("/").slice(0, 4).join("/")));
  assert.ok(spaces.size > 8 && spaces.size <= 16, `${spaces.size} shards`);
  const listed: SplitRecord[] = [];
  for await (const record of listSplits(catalog, SLICE)) listed.push(record);
  assert.deepEqual(
    new Set(listed.map(({ partition }) => partition.seriesId)),
    new Set([...ids, "é|x"]),
  );
  assert.ok(
    listed.some(({ partition }) => partition.timeBucket === 2 && partition.eventBucket === 5),
  );
});

test("they go with their slice, and those of others stay", async () => {
  const catalog = new MemoryCatalog();
  for (let i = 0; i < 20; i++) await writeSplit(catalog, recordOf(`profile:${i}`));
  const other = recordOf("profile:1");
  const stays = { ...other, partition: { ...other.partition, slice: "data_20260329" } };
  await writeSplit(catalog, stays);
  await removeSplits(catalog, SLICE);
  assert.equal(catalog.dump().length, 1);
  assert.ok(await readSplit(catalog, stays.partition));
});

test("a record that cannot be read is DATA_LOSS, not a guess", async () => {
  const catalog = new MemoryCatalog();
  const record = recordOf("profile:1");
  await writeSplit(catalog, record);
  const [path = ""] = catalog.dump();
  const space = path.split("/").slice(0, 4).join("/");
  const key = path.slice(space.length + 1);
  const stored = await catalog.read(space, key);
  assert.ok(stored);
  for (const damaged of ["{", "{}", stored.value.replace("DETECTED", "SOMETHING")]) {
    const { version } = (await catalog.read(space, key)) ?? { version: 0 };
    await catalog.write(space, key, damaged, version);
    await assert.rejects(readSplit(catalog, record.partition), { code: "DATA_LOSS" });
  }
});
