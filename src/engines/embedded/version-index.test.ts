import { deepEqual, equal, rejects } from "node:assert/strict";
import { test } from "node:test";
import { VersionIndex } from "./version-index.ts";

test("a space is listed once, and follows every change after that", async () => {
  let lists = 0;
  const index = new VersionIndex(async () => {
    lists++;
    return [
      { key: "b", version: 2 },
      { key: "a", version: 1 },
    ];
  });
  const all = async (): Promise<string[]> =>
    (await index.versions("", 10)).map(({ key, version }) => `${key} ${version}`);
  deepEqual(await all(), ["a 1", "b 2"]);
  index.stored("a", 3);
  index.stored("c", 4);
  deepEqual(await all(), ["a 3", "b 2", "c 4"]);
  index.stored("b", 0);
  deepEqual(await all(), ["a 3", "c 4"]);
  deepEqual(await index.versions("a", 1), [{ key: "c", version: 4 }]);
  deepEqual(await index.versions("c", 1), []);
  deepEqual(await index.versions("", 1), [{ key: "a", version: 3 }]);
  equal(lists, 1);
});

test("changes stored while the space is listed count, whether the listing has them or not", async () => {
  const listing = Promise.withResolvers<{ key: string; version: number }[]>();
  const index = new VersionIndex(() => listing.promise);
  const asked = index.versions("", 10);
  index.stored("new", 7);
  index.stored("changed", 8);
  index.stored("removed", 0);
  listing.resolve([
    { key: "changed", version: 8 },
    { key: "removed", version: 1 },
    { key: "still", version: 2 },
  ]);
  deepEqual(await asked, [
    { key: "changed", version: 8 },
    { key: "new", version: 7 },
    { key: "still", version: 2 },
  ]);
});

test("keys are in the order of their bytes, not of their UTF-16 units", async () => {
  const index = new VersionIndex(async () => [
    { key: "\u{1f600}", version: 1 },
    { key: "\uff5e", version: 2 },
  ]);
  const keys = (await index.versions("", 10)).map(({ key }) => key);
  deepEqual(keys, ["\uff5e", "\u{1f600}"]);
  deepEqual(await index.versions("\uff5e", 10), [{ key: "\u{1f600}", version: 1 }]);
});

test("a space that cannot be listed fails every call", async () => {
  const index = new VersionIndex(async () => {
    throw new Error("damaged");
  });
  await rejects(index.versions("", 1), /damaged/);
});
