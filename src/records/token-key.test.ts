import { deepEqual, equal, rejects } from "node:assert/strict";
import { test } from "node:test";
import { MemoryCatalog } from "../../tests/support/memory-catalog.ts";
import { systemRandom } from "../lib/random.ts";
import { loadTokenKey } from "./token-key.ts";

test("all processes that ask at once get the same key of 32 bytes", async () => {
  const catalog = new MemoryCatalog({ shared: true });
  const keys = await Promise.all(
    Array.from({ length: 5 }, () => loadTokenKey(catalog, systemRandom)),
  );
  for (const key of keys) deepEqual(Buffer.from(key), Buffer.from(keys[0] ?? []));
  equal(keys[0]?.length, 32);
  deepEqual(Buffer.from(await loadTokenKey(catalog, systemRandom)), Buffer.from(keys[0] ?? []));
});

test("a damaged key is DATA_LOSS, not another key", async () => {
  const catalog = new MemoryCatalog();
  await catalog.write("secrets", "page-token-key", '{"format":1,"key":"abc"}', 0);
  await rejects(loadTokenKey(catalog, systemRandom), { code: "DATA_LOSS" });
});
