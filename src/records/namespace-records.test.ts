import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { test } from "node:test";
import { ControlFixture } from "../../tests/support/control-fixture.ts";
import {
  eachNamespace,
  namespacePages,
  readNamespace,
  updateNamespace,
} from "./namespace-records.ts";

async function fixtureWithPlays(): Promise<ControlFixture> {
  const fixture = new ControlFixture();
  await fixture.start().namespaces.create("plays", {});
  return fixture;
}

test("N8: concurrent updates are seen, and none is lost", async () => {
  const { catalog } = await fixtureWithPlays();
  const raise = () =>
    updateNamespace(catalog, "plays", (current) => ({ ...current, epoch: current.epoch + 1 }));
  await Promise.all(Array.from({ length: 8 }, raise));
  equal((await readNamespace(catalog, "plays"))?.epoch, 8);
});

test("N8: an update that always loses ends with CONFLICT", async () => {
  const { catalog } = await fixtureWithPlays();
  let calls = 0;
  const write = catalog.write.bind(catalog);
  catalog.before = async (call, space, key) => {
    // Another process is always faster.
    if (call !== "write" || calls++ % 2 === 1) return;
    const record = await catalog.read(space, key);
    await write(space, key, record?.value ?? "", record?.version ?? 0);
  };
  await rejects(
    updateNamespace(catalog, "plays", (current) => ({ ...current, epoch: 1 })),
    { code: "CONFLICT" },
  );
});

test("C3: an epoch that an older version began without its pair stops every copy of earlier epochs", async () => {
  const { catalog } = await fixtureWithPlays();
  const epochStarts = [{ epoch: 1, floor: 100 }];
  await updateNamespace(catalog, "plays", (current) => ({ ...current, epoch: 2, epochStarts }));
  deepEqual((await readNamespace(catalog, "plays"))?.epochStarts, [{ epoch: 2, floor: 0 }]);
  await updateNamespace(catalog, "plays", (current) => ({ ...current, epoch: 1, epochStarts }));
  deepEqual((await readNamespace(catalog, "plays"))?.epochStarts, epochStarts);
});

test("a record that does not parse is DATA_LOSS, and so is one that lacks a field", async () => {
  const { catalog } = await fixtureWithPlays();
  for (const value of ["{", "{}", '"text"']) {
    const before = await catalog.read("namespaces", "plays");
    await catalog.write("namespaces", "plays", value, before?.version ?? 0);
    await rejects(readNamespace(catalog, "plays"), { code: "DATA_LOSS" });
  }
});

/** `count` of them, copied from a real one: creating that many takes too long. */
async function manyNamespaces(count: number) {
  const { catalog } = await fixtureWithPlays();
  const plays = await catalog.read("namespaces", "plays");
  const names = ["plays"];
  for (let n = 1; n < count; n++) {
    const name = `n${String(n).padStart(4, "0")}`;
    names.push(name);
    await catalog.write("namespaces", name, plays?.value ?? "", 0);
  }
  return { catalog, names: names.toSorted() };
}

test("every namespace is listed once, in the order of names, over several pages", async () => {
  for (const count of [1, 500, 1_200]) {
    const { catalog, names } = await manyNamespaces(count);
    const seen: string[] = [];
    for await (const { name } of eachNamespace(catalog)) seen.push(name);
    deepEqual(seen, names);
  }
});

test("a namespace that cannot be read is listed with its error, between the others", async () => {
  const { catalog } = await manyNamespaces(3);
  const before = await catalog.read("namespaces", "n0002");
  await catalog.write("namespaces", "n0002", "{", before?.version ?? 0);
  const records = new Map<string, unknown>();
  for await (const { name, record } of eachNamespace(catalog)) records.set(name, record);
  ok(records.get("n0002") instanceof Error);
  equal(records.size, 3);
  equal([...records.values()].filter((record) => record instanceof Error).length, 1);
});

test("no further page is requested after the signal has aborted", async () => {
  const { catalog } = await manyNamespaces(1_200);
  let lists = 0;
  catalog.before = (call) => {
    if (call === "list") lists++;
    return Promise.resolve();
  };
  const stop = new AbortController();
  for await (const page of namespacePages(catalog, stop.signal)) {
    equal(page.length, 500);
    stop.abort();
  }
  equal(lists, 1);
});
