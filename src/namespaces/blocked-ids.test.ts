import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { test } from "node:test";
import { ControlFixture, VIEW_MAX_AGE_MS, never } from "../../tests/support/control-fixture.ts";
import type { ControlProcess } from "../../tests/support/control-fixture.ts";
import { readNamespace } from "../records/namespace-records.ts";
import type { BlockRequest } from "./blocked-ids.ts";

async function start(): Promise<{ fixture: ControlFixture; id: string; other: ControlProcess }> {
  const fixture = new ControlFixture({ shared: true });
  const { id } = await fixture.start().namespaces.create("plays", {});
  const other = fixture.start();
  await other.views.get("plays");
  return { fixture, id, other };
}

function requestsOf(...ids: string[]): BlockRequest[] {
  return ids.map((seriesId) => ({ seriesId, reason: "", expiresAt: undefined }));
}

function storedIds(fixture: ControlFixture, id: string): string[] {
  return fixture.catalog.peek(`blocked/${id}`).map(({ key }) => key);
}

/** What another server uses when its earlier view is too old. */
async function blockedLater(fixture: ControlFixture, other: ControlProcess): Promise<string[]> {
  await fixture.clock.advance(VIEW_MAX_AGE_MS);
  return [...(await other.views.get("plays")).blocked.keys()];
}

for (const what of ["block", "unblock"] as const) {
  test(`a process that dies anywhere in a change (${what}) leaves nothing stored that others do not see`, async () => {
    let dyings = 0;
    for (let died = true; died; dyings++) {
      const { fixture, id, other } = await start();
      const { namespaces } = fixture.start();
      if (what === "unblock") {
        await namespaces.blockIds("plays", requestsOf("a", "b", "c"));
        equal((await blockedLater(fixture, other)).length, 3);
      }
      fixture.crashAt(dyings);
      const change =
        what === "block"
          ? namespaces.blockIds("plays", requestsOf("a", "b", "c"))
          : namespaces.unblockIds("plays", ["a", "b", "c"]);
      died = await change.then(
        () => false,
        () => true,
      );
      fixture.recover();
      deepEqual(await blockedLater(fixture, other), storedIds(fixture, id), `dying ${dyings}`);

      for (let passed = 0; passed <= 60_000; passed += 5_000) {
        await other.reconciler.runOnce(never);
        await fixture.clock.advance(5_000);
      }
      deepEqual((await readNamespace(fixture.catalog, "plays"))?.blockedChanging, []);
      deepEqual(await blockedLater(fixture, other), storedIds(fixture, id), `dying ${dyings}`);
    }
    ok(dyings > 8);
  });
}

test("a change that fails halfway is counted before its caller gets the error", async () => {
  const { fixture, other } = await start();
  const { namespaces, views } = fixture.start();
  fixture.catalog.before = (call, space, key) => {
    if (call === "write" && space.startsWith("blocked/") && key === "b") throw new Error("refused");
  };
  await rejects(namespaces.blockIds("plays", requestsOf("a", "b")), /refused/);
  const record = await readNamespace(fixture.catalog, "plays");
  deepEqual(record?.blockedChanging, []);
  // Two instead of one: the write that failed may have been stored.
  equal(record?.blockedCount, 2);
  deepEqual([...(await views.get("plays")).blocked.keys()], ["a"]);
  deepEqual(await blockedLater(fixture, other), ["a"]);
});

test("one change that ends does not hide another that continues and dies", async () => {
  const { fixture, id, other } = await start();
  const { namespaces } = fixture.start();
  const dies = fixture.start();
  const held = Promise.withResolvers<void>();
  fixture.catalog.before = (call, space, key) =>
    call === "write" && space.startsWith("blocked/") && key === "b" ? held.promise : undefined;
  const dying = dies.namespaces.blockIds("plays", requestsOf("a", "b"));
  await namespaces.blockIds("plays", requestsOf("z"));
  deepEqual((await blockedLater(fixture, other)).toSorted(), ["a", "z"]);
  // It stores one more, and dies before it counts it.
  fixture.catalog.before = (_, space) => {
    if (space === "namespaces") throw new Error("crashed");
  };
  held.resolve();
  await rejects(dying, /crashed/);
  fixture.recover();
  deepEqual((await blockedLater(fixture, other)).toSorted(), storedIds(fixture, id).toSorted());
  equal(storedIds(fixture, id).length, 3);
});

test("many ids are several changes, and all of them are counted", async () => {
  const { fixture, other } = await start();
  const ids = Array.from({ length: 1_200 }, (_, i) => `id ${i}`);
  const { namespaces } = fixture.start();
  equal((await namespaces.blockIds("plays", requestsOf(...ids))).length, ids.length);
  equal((await readNamespace(fixture.catalog, "plays"))?.blockedCount, ids.length);
  equal((await blockedLater(fixture, other)).length, ids.length);
  equal(await namespaces.unblockIds("plays", [...ids, "nobody"]), ids.length);
  equal((await readNamespace(fixture.catalog, "plays"))?.blockedCount, 0);
  deepEqual(await blockedLater(fixture, other), []);
});
