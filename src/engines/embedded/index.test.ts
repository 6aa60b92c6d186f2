import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { catalogSuite } from "../../../tests/conformance/catalog.ts";
import { eventStoreSuite, placed } from "../../../tests/conformance/event-store.ts";
import { systemClock } from "../../lib/clock.ts";
import { ServiceError } from "../../lib/errors.ts";
import { openEmbeddedEngine } from "./index.ts";
import type { EmbeddedEngine } from "./index.ts";

async function freshDirectory(): Promise<string> {
  return mkdtemp(join(tmpdir(), "braid-embedded-"));
}

async function underTest(): Promise<{
  engine: EmbeddedEngine;
  reopen: () => Promise<EmbeddedEngine>;
  dispose: () => Promise<void>;
}> {
  const directory = await freshDirectory();
  let engine = await openEmbeddedEngine({ directory, clock: systemClock });
  return {
    engine,
    reopen: async () => {
      await engine.close();
      engine = await openEmbeddedEngine({ directory, clock: systemClock });
      return engine;
    },
    dispose: async () => {
      await engine.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

eventStoreSuite("embedded", async () => {
  const { engine, reopen, dispose } = await underTest();
  return { store: engine.store, reopen: async () => (await reopen()).store, dispose };
});

catalogSuite("embedded", async () => {
  const { engine, reopen, dispose } = await underTest();
  return { catalog: engine.catalog, reopen: async () => (await reopen()).catalog, dispose };
});

test("a directory has one owner at a time, and the error names both", async () => {
  const directory = await freshDirectory();
  const engine = await openEmbeddedEngine({ directory, clock: systemClock });
  await assert.rejects(
    openEmbeddedEngine({ directory, clock: systemClock }),
    (error) =>
      error instanceof ServiceError &&
      error.code === "STORAGE_UNAVAILABLE" &&
      error.message.includes(directory) &&
      error.message.includes(`process ${process.pid}`),
  );
  await engine.close();
  await (await openEmbeddedEngine({ directory, clock: systemClock })).close();
  await rm(directory, { recursive: true });
});

test("a directory of a newer format is refused", async () => {
  const directory = await freshDirectory();
  await (await openEmbeddedEngine({ directory, clock: systemClock })).close();
  // The checksum belongs to the text, so this is what a later version would write.
  await writeFile(join(directory, "format"), "braid embedded 2 6a9869b1\n");
  await assert.rejects(
    openEmbeddedEngine({ directory, clock: systemClock }),
    (error) => error instanceof ServiceError && error.code === "CONFIG_INVALID",
  );
  await rm(directory, { recursive: true });
});

test("more slices than may be open at once are all served", async () => {
  const directory = await freshDirectory();
  const sizes: number[] = [];
  const engine = await openEmbeddedEngine({
    directory,
    clock: systemClock,
    openStoresMax: 2,
    observer: { committed: () => undefined, openStoresChanged: (open) => sizes.push(open) },
  });
  const slices = [0, 1, 2, 3, 4].map((i) => ({ namespaceId: "n", slice: `data_${i}` }));
  for (const slice of slices) await engine.store.createSlice(slice);
  for (let round = 0; round < 3; round++) {
    for (const slice of slices) await engine.store.append(slice, [placed("a", round + 1, "e")]);
  }
  for (const slice of slices) assert.equal((await engine.store.sliceStats(slice)).events, 3);
  assert.ok(Math.max(...sizes) <= 2);
  await engine.close();
  await rm(directory, { recursive: true });
});
