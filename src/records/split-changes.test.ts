import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { MemoryCatalog } from "../../tests/support/memory-catalog.ts";
import type { PartitionKey } from "../model/partition.ts";
import {
  changesFrom,
  listChanges,
  noteChange,
  removeChanges,
  trimChanges,
} from "./split-changes.ts";

function partition(seriesId: string): PartitionKey {
  return { namespaceId: "plays-1", slice: "data_1", seriesId, timeBucket: 2, eventBucket: 3 };
}

test("changes are listed by time, from a time on or behind one, and noted once", async () => {
  const catalog = new MemoryCatalog();
  await noteChange(catalog, 1_000, partition("b|1|2"));
  await noteChange(catalog, 200, partition("a"));
  await noteChange(catalog, 200, partition("a"));
  await noteChange(catalog, 30, partition("c"));
  const all = await listChanges(catalog, "plays-1", "", 10);
  deepEqual(
    all.map(({ at, partition: changed }) => [at, changed]),
    [
      [30, partition("c")],
      [200, partition("a")],
      [1_000, partition("b|1|2")],
    ],
  );
  deepEqual(await listChanges(catalog, "plays-1", changesFrom(200), 10), all.slice(1));
  deepEqual(await listChanges(catalog, "plays-1", all[1]?.key ?? "", 10), all.slice(2));
  deepEqual(await listChanges(catalog, "plays-2", "", 10), []);
});

test("older changes are trimmed, also if there are many", async () => {
  const catalog = new MemoryCatalog();
  for (let at = 0; at < 1_500; at++) await noteChange(catalog, at, partition("a"));
  await trimChanges(catalog, "plays-1", 1_498);
  deepEqual(
    (await listChanges(catalog, "plays-1", "", 10)).map(({ at }) => at),
    [1_498, 1_499],
  );
  await trimChanges(catalog, "plays-1", 9_999);
  deepEqual(catalog.peek("split-changes/plays-1"), []);
});

test("a trim begins where the last one ended, also in another process, and never at the removed ones", async () => {
  const catalog = new MemoryCatalog();
  const minute = 60_000_000;
  for (let n = 0; n < 100; n++) await noteChange(catalog, n * minute, partition("a"));
  equal(await trimChanges(catalog, "plays-1", 90 * minute), false);
  const begins: string[] = [];
  catalog.before = (call, space, key) => {
    if (call === "list" && space === "split-changes/plays-1") begins.push(key);
  };
  // It looks a little earlier again: a publisher may have been late.
  await catalog.write("split-changes/plays-1", changesFrom(85 * minute) + "|data_1|b|0|0", "{}", 0);
  equal(await trimChanges(catalog, "plays-1", 95 * minute), false);
  ok(
    begins.length > 0 && begins.every((after) => after >= changesFrom(79 * minute)),
    String(begins),
  );
  deepEqual(
    (await listChanges(catalog, "plays-1", "", 10)).map(({ at }) => at / minute),
    [95, 96, 97, 98, 99],
  );
  equal(await trimChanges(catalog, "plays-1", 200 * minute), true);
});

test("the log of a removed namespace goes with its position, and stops when it may not continue", async () => {
  const catalog = new MemoryCatalog();
  for (let at = 0; at < 2_500; at++) await noteChange(catalog, at, partition("a"));
  let pages = 0;
  equal(await removeChanges(catalog, "plays-1", () => pages++ < 1), false);
  ok(catalog.peek("split-changes/plays-1").length > 0);
  equal(await removeChanges(catalog, "plays-1", () => true), true);
  deepEqual(catalog.peek("split-changes/plays-1"), []);
  deepEqual(catalog.peek("split-changes-trimmed"), []);
});
