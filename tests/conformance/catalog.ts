/** What every Catalog guarantees on any storage. Each engine's test calls this with a factory. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Catalog } from "../../src/ports/catalog.ts";

/** An empty catalog. `reopen` closes it and opens the same data again, as a restart does. */
export interface CatalogUnderTest {
  readonly catalog: Catalog;
  reopen(): Promise<Catalog>;
  dispose(): Promise<void>;
}

export function catalogSuite(engine: string, make: () => Promise<CatalogUnderTest>): void {
  const claim = (
    name: string,
    work: (catalog: Catalog, under: CatalogUnderTest) => Promise<void>,
  ): void => {
    void test(`${engine}: ${name}`, async () => {
      const under = await make();
      try {
        await work(under.catalog, under);
      } finally {
        await under.dispose();
      }
    });
  };

  claim("a record is created, read, changed and removed by its version", async (catalog) => {
    assert.equal(await catalog.read("space", "key"), undefined);
    const first = await written(catalog, "key", "one", 0);
    assert.deepEqual(await catalog.read("space", "key"), {
      key: "key",
      value: "one",
      version: first,
    });
    const second = await written(catalog, "key", "two", first);
    assert.ok(second > first);
    assert.deepEqual(await catalog.read("space", "key"), {
      key: "key",
      value: "two",
      version: second,
    });
    assert.equal(await catalog.remove("space", "key", second), true);
    assert.equal(await catalog.read("space", "key"), undefined);
  });

  claim("a change that expects another version changes nothing", async (catalog) => {
    assert.equal(await catalog.write("space", "key", "x", 7), undefined);
    assert.equal(await catalog.remove("space", "key", 7), false);
    const version = await written(catalog, "key", "one", 0);
    for (const expected of [0, version - 1, version + 1]) {
      assert.equal(await catalog.write("space", "key", "x", expected), undefined);
      assert.equal(await catalog.remove("space", "key", expected), false);
    }
    assert.equal((await catalog.read("space", "key"))?.value, "one");
  });

  claim(
    "versions are never used again, also after a removal and a restart",
    async (catalog, under) => {
      const seen: number[] = [];
      let open = catalog;
      for (let round = 0; round < 4; round++) {
        const version = await written(open, "key", `${round}`, 0);
        seen.push(version);
        assert.equal(await open.remove("space", "key", version), true);
        open = await under.reopen();
      }
      assert.deepEqual(
        seen,
        [...new Set(seen)].toSorted((a, b) => a - b),
      );
    },
  );

  claim(
    "CO2: of several changes of the same version one wins, and no change is lost",
    async (catalog) => {
      let wins = 0;
      await Promise.all(
        Array.from({ length: 8 }, async () => {
          for (let added = 0; added < 5;) {
            const found = await catalog.read("space", "count");
            const value = `${Number(found?.value ?? 0) + 1}`;
            const version = await catalog.write("space", "count", value, found?.version ?? 0);
            if (version === undefined) continue;
            added++;
            wins++;
          }
        }),
      );
      assert.equal(wins, 40);
      assert.equal((await catalog.read("space", "count"))?.value, "40");
    },
  );

  claim("creating and removing race: at most one of each succeeds", async (catalog) => {
    const made = await Promise.all(
      Array.from({ length: 10 }, (_, i) => catalog.write("space", "key", `${i}`, 0)),
    );
    const [version, ...others] = made.filter((outcome) => outcome !== undefined);
    assert.ok(version !== undefined);
    assert.deepEqual(others, []);
    const removed = await Promise.all(
      Array.from({ length: 10 }, () => catalog.remove("space", "key", version)),
    );
    assert.equal(removed.filter(Boolean).length, 1);
  });

  claim("a space is listed by key as UTF-8 bytes, page by page, and alone", async (catalog) => {
    const keys = ["", "a", "a\u0000", "ab", "b", "é", "�", "\u{1f600}", "z"];
    for (const key of keys.toReversed()) await written(catalog, key, `value of ${key}`, 0);
    assert.ok((await catalog.write("spac", "other", "x", 0)) !== undefined);
    assert.ok((await catalog.write("space2", "other", "x", 0)) !== undefined);
    // The empty key comes before the first, so a list never shows it.
    const sorted = keys
      .filter((key) => key !== "")
      .toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    for (const limit of [1, 2, 3, 100]) {
      const found: string[] = [];
      for (let after = ""; ;) {
        const page = await catalog.list("space", after, limit);
        assert.ok(page.length <= limit);
        for (const { key, value } of page) {
          assert.equal(value, `value of ${key}`);
          found.push(key);
        }
        // The same records without their values.
        assert.deepEqual(
          await catalog.versions("space", after, limit),
          page.map(({ key, version }) => ({ key, version })),
        );
        const last = page.at(-1);
        if (last === undefined) break;
        after = last.key;
      }
      assert.deepEqual(found, sorted);
    }
    for (const call of ["list", "versions"] as const) {
      assert.deepEqual(await catalog[call]("empty", "", 10), []);
      assert.deepEqual(await catalog[call]("space", "", 0), []);
    }
  });

  claim("records survive a restart, whatever they contain", async (catalog, under) => {
    const values = ["", "{}", "\u0000\u{1f600}", "x".repeat(200_000)];
    const versions: number[] = [];
    for (const [i, value] of values.entries()) {
      versions.push(await written(catalog, `key${i}`, value, 0));
    }
    const again = await under.reopen();
    for (const [i, value] of values.entries()) {
      assert.deepEqual(await again.read("space", `key${i}`), {
        key: `key${i}`,
        value,
        version: versions[i],
      });
    }
  });
}

async function written(
  catalog: Catalog,
  key: string,
  value: string,
  expected: number,
): Promise<number> {
  const version = await catalog.write("space", key, value, expected);
  assert.ok(version !== undefined, `${key} is written`);
  return version;
}
