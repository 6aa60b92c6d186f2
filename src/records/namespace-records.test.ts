import { equal, rejects } from "node:assert/strict";
import { test } from "node:test";
import { ControlFixture } from "../../tests/support/control-fixture.ts";
import { readNamespace, updateNamespace } from "./namespace-records.ts";

async function fixtureWithPlays(): Promise<ControlFixture> {
  const fixture = new ControlFixture();
  await fixture.start().namespaces.create("plays", {});
  return fixture;
}

test("updates that come between are seen, and none is lost", async () => {
  const { catalog } = await fixtureWithPlays();
  const raise = () =>
    updateNamespace(catalog, "plays", (current) => ({ ...current, epoch: current.epoch + 1 }));
  await Promise.all(Array.from({ length: 8 }, raise));
  equal((await readNamespace(catalog, "plays"))?.epoch, 8);
});

test("an update that always loses ends with CONFLICT", async () => {
  const { catalog } = await fixtureWithPlays();
  let calls = 0;
  const write = catalog.write.bind(catalog);
  catalog.before = async (call, space, key) => {
    // Someone else is always faster.
    if (call !== "write" || calls++ % 2 === 1) return;
    const record = await catalog.read(space, key);
    await write(space, key, record?.value ?? "", record?.version ?? 0);
  };
  await rejects(
    updateNamespace(catalog, "plays", (current) => ({ ...current, epoch: 1 })),
    { code: "CONFLICT" },
  );
});

test("a record that does not parse is DATA_LOSS, and so is one that lacks a field", async () => {
  const { catalog } = await fixtureWithPlays();
  for (const value of ["{", "{}", '"text"']) {
    const before = await catalog.read("namespaces", "plays");
    await catalog.write("namespaces", "plays", value, before?.version ?? 0);
    await rejects(readNamespace(catalog, "plays"), { code: "DATA_LOSS" });
  }
});
