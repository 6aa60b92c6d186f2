import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { test } from "node:test";
import { ControlWorld, VIEW_MAX_AGE_MS, never } from "../../tests/support/control-world.ts";
import type { ControlProcess } from "../../tests/support/control-world.ts";
import { readNamespace } from "../records/namespace-records.ts";
import type { BlockRequest } from "./blocked-ids.ts";

async function start(): Promise<{ world: ControlWorld; id: string; other: ControlProcess }> {
  const world = new ControlWorld({ shared: true });
  const { id } = await world.start().namespaces.create("plays", {});
  const other = world.start();
  await other.views.get("plays");
  return { world, id, other };
}

function requestsOf(...ids: string[]): BlockRequest[] {
  return ids.map((seriesId) => ({ seriesId, reason: "", expiresAt: undefined }));
}

function storedIds(world: ControlWorld, id: string): string[] {
  return world.catalog.peek(`blocked/${id}`).map(({ key }) => key);
}

/** What another server goes by when its view from before is too old. */
async function blockedLater(world: ControlWorld, other: ControlProcess): Promise<string[]> {
  await world.clock.advance(VIEW_MAX_AGE_MS);
  return [...(await other.views.get("plays")).blocked.keys()];
}

for (const what of ["block", "unblock"] as const) {
  test(`who dies anywhere in a change (${what}) leaves nothing stored that others do not see`, async () => {
    let dyings = 0;
    for (let died = true; died; dyings++) {
      const { world, id, other } = await start();
      const { namespaces } = world.start();
      if (what === "unblock") {
        await namespaces.blockIds("plays", requestsOf("a", "b", "c"));
        equal((await blockedLater(world, other)).length, 3);
      }
      world.crashAt(dyings);
      const change =
        what === "block"
          ? namespaces.blockIds("plays", requestsOf("a", "b", "c"))
          : namespaces.unblockIds("plays", ["a", "b", "c"]);
      died = await change.then(
        () => false,
        () => true,
      );
      world.recover();
      deepEqual(await blockedLater(world, other), storedIds(world, id), `dying ${dyings}`);

      for (let passed = 0; passed <= 60_000; passed += 5_000) {
        await other.keeper.runOnce(never);
        await world.clock.advance(5_000);
      }
      deepEqual((await readNamespace(world.catalog, "plays"))?.blockedChanging, []);
      deepEqual(await blockedLater(world, other), storedIds(world, id), `dying ${dyings}`);
    }
    ok(dyings > 8);
  });
}

test("a change that fails halfway is counted before its caller is told", async () => {
  const { world, other } = await start();
  const { namespaces, views } = world.start();
  world.catalog.before = (call, space, key) => {
    if (call === "write" && space.startsWith("blocked/") && key === "b") throw new Error("refused");
  };
  await rejects(namespaces.blockIds("plays", requestsOf("a", "b")), /refused/);
  const record = await readNamespace(world.catalog, "plays");
  deepEqual(record?.blockedChanging, []);
  // Two and not one: the one that failed may have been stored.
  equal(record?.blockedCount, 2);
  deepEqual([...(await views.get("plays")).blocked.keys()], ["a"]);
  deepEqual(await blockedLater(world, other), ["a"]);
});

test("one change that ends does not hide another that goes on and dies", async () => {
  const { world, id, other } = await start();
  const { namespaces } = world.start();
  const dies = world.start();
  const held = Promise.withResolvers<void>();
  world.catalog.before = (call, space, key) =>
    call === "write" && space.startsWith("blocked/") && key === "b" ? held.promise : undefined;
  const dying = dies.namespaces.blockIds("plays", requestsOf("a", "b"));
  await namespaces.blockIds("plays", requestsOf("z"));
  deepEqual((await blockedLater(world, other)).toSorted(), ["a", "z"]);
  // It stores one more, and dies before it says so.
  world.catalog.before = (_, space) => {
    if (space === "namespaces") throw new Error("crashed");
  };
  held.resolve();
  await rejects(dying, /crashed/);
  world.recover();
  deepEqual((await blockedLater(world, other)).toSorted(), storedIds(world, id).toSorted());
  equal(storedIds(world, id).length, 3);
});

test("many ids are several changes, and all of them are counted", async () => {
  const { world, other } = await start();
  const ids = Array.from({ length: 1_200 }, (_, i) => `id ${i}`);
  const { namespaces } = world.start();
  equal((await namespaces.blockIds("plays", requestsOf(...ids))).length, ids.length);
  equal((await readNamespace(world.catalog, "plays"))?.blockedCount, ids.length);
  equal((await blockedLater(world, other)).length, ids.length);
  equal(await namespaces.unblockIds("plays", [...ids, "nobody"]), ids.length);
  equal((await readNamespace(world.catalog, "plays"))?.blockedCount, 0);
  deepEqual(await blockedLater(world, other), []);
});
