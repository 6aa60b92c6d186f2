import assert from "node:assert/strict";
import { test } from "node:test";
import { MemoryCatalog } from "../../tests/support/memory-catalog.ts";
import { newSplit } from "../model/split-moves.ts";
import type { Segment, SplitRecord } from "../model/split.ts";
import { publishRoute } from "./route-records.ts";
import {
  listSplits,
  listSplitsPage,
  readSplit,
  removeSplits,
  slicesWithSplits,
  writeSplit,
} from "./split-records.ts";

const SLICE = { namespaceId: "plays-1", slice: "data_20260328" };

function recordOf(seriesId: string, timeBucket = 7, eventBucket = 2): SplitRecord {
  return newSplit(
    {
      partition: { ...SLICE, seriesId, timeBucket, eventBucket },
      namespace: "plays",
      epoch: 1,
      bytes: 11_000_000,
      events: 4_000,
      immutable: true,
      detectedAt: 5,
    },
    { at: 6, by: "worker-1", cause: "detection", reason: "wide" },
  );
}

function splitPaths(catalog: MemoryCatalog): string[] {
  return catalog.dump().filter((path) => path.startsWith("splits/"));
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

test("a record of a version that did not keep the copy's checksum stays readable", async () => {
  const catalog = new MemoryCatalog();
  const record = recordOf("profile:1");
  const segment: Segment = {
    from: 1,
    to: 2,
    epoch: 0,
    state: "COMPLETED",
    generation: 0,
    layout: "PACKED",
    strategy: "EVENT_BUCKETS",
    why: "",
    partBytes: 1,
    partsPlanned: 0,
    partRanges: [],
    copiedTo: 1,
    bytes: 0,
    events: 0,
    checksum: "c1",
    confirmedAt: null,
  };
  await writeSplit(catalog, { ...record, segments: [segment] });
  const found = await readSplit(catalog, record.partition);
  assert.equal(found?.segments[0]?.checksum, "c1");
  assert.equal(found?.segments[0]?.copyChecksum, undefined);
  assert.ok(found);
  const kept = { ...segment, copyChecksum: "c2" };
  await writeSplit(catalog, { ...found, segments: [kept] });
  assert.deepEqual((await readSplit(catalog, record.partition))?.segments, [kept]);
});

test("records of a slice are spread over shards, and listed with their partitions", async () => {
  const catalog = new MemoryCatalog();
  const ids = [...Array(60).keys()].map((i) => `profile|${i}|3`);
  for (const id of ids) await writeSplit(catalog, recordOf(id, 1, 0));
  await writeSplit(catalog, recordOf("é|x", 2, 5));
  const spaces = new Set(splitPaths(catalog).map((path) => path.split("/").slice(0, 4).join("/")));
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

test("records are listed in pages, none twice and none left out, whatever the page size", async () => {
  const catalog = new MemoryCatalog();
  const ids = [...Array(40).keys()].map((i) => `profile|${i}|3`);
  for (const id of ids) await writeSplit(catalog, recordOf(id));
  for (const limit of [1, 3, 7, 40, 1_000]) {
    const seen: string[] = [];
    let cursor = "";
    do {
      const page = await listSplitsPage(catalog, SLICE, cursor, limit);
      assert.ok(page.records.length <= limit);
      seen.push(...page.records.map(({ partition }) => partition.seriesId));
      cursor = page.cursor;
    } while (cursor !== "");
    assert.deepEqual(seen.toSorted(), ids.toSorted(), `pages of ${limit}`);
  }
});

test("a history keeps its first and its latest moves", async () => {
  const catalog = new MemoryCatalog();
  const record = recordOf("profile:1");
  const [move] = record.history;
  assert.ok(move);
  const history = [...Array(200).keys()].map((i) => ({ ...move, at: i }));
  const written = await writeSplit(catalog, { ...record, history });
  assert.deepEqual(await readSplit(catalog, record.partition), written);
  assert.deepEqual(
    written?.history.map(({ at }) => at),
    [...history.slice(0, 10), ...history.slice(-40)].map(({ at }) => at),
  );
});

test("records are removed with their slice, and those of other slices stay", async () => {
  const catalog = new MemoryCatalog();
  for (let i = 0; i < 20; i++) await writeSplit(catalog, recordOf(`profile:${i}`));
  const other = recordOf("profile:1");
  const stays = { ...other, partition: { ...other.partition, slice: "data_20260329" } };
  await writeSplit(catalog, stays);
  assert.deepEqual(
    await slicesWithSplits(catalog, SLICE.namespaceId),
    new Set([SLICE.slice, "data_20260329"]),
  );
  await publishRoute(catalog, recordOf("profile:1"));
  await removeSplits(catalog, SLICE);
  assert.deepEqual(await slicesWithSplits(catalog, SLICE.namespaceId), new Set(["data_20260329"]));
  assert.ok(catalog.dump().every((path) => path.includes("data_20260329")));
  assert.ok(await readSplit(catalog, stays.partition));
});

test("a record that changes while it is removed is removed as well", async () => {
  const catalog = new MemoryCatalog();
  const record = await writeSplit(catalog, recordOf("profile:1"));
  assert.ok(record);
  let changes = 0;
  catalog.before = async (call, space) => {
    if (call === "remove" && space.startsWith("splits/") && changes++ === 0) {
      await writeSplit(catalog, record);
    }
  };
  await removeSplits(catalog, SLICE);
  assert.equal(changes, 2);
  assert.deepEqual(catalog.dump(), []);
});

test("a record that cannot be read is DATA_LOSS, not a guess", async () => {
  const catalog = new MemoryCatalog();
  const record = recordOf("profile:1");
  await writeSplit(catalog, record);
  const [path = ""] = splitPaths(catalog);
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
