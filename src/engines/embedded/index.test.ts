import assert from "node:assert/strict";
import { cp, mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { ClassicLevel } from "classic-level";
import { catalogSuite } from "../../../tests/conformance/catalog.ts";
import { eventStoreSuite, placed } from "../../../tests/conformance/event-store.ts";
import { until } from "../../../tests/support/conditions.ts";
import { systemClock } from "../../lib/clock.ts";
import { ServiceError } from "../../lib/errors.ts";
import { openEmbeddedEngine } from "./index.ts";
import { MarkFile } from "./mark-file.ts";
import { MARKERS_END, markerKey } from "./system-keys.ts";
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

/** These tests do not wait for the background verification. */
const UNVERIFIED = { tableVerified: () => undefined, tableDamaged: () => undefined };

test("U1: a directory has one owner at a time, and the error names both", async () => {
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

test("M2: a directory of a newer format is refused", async () => {
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
    observer: {
      ...UNVERIFIED,
      committed: () => undefined,
      openStoresChanged: (open) => sizes.push(open),
    },
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

test("more slices than may be in use at once wait for a place, and all are served", async () => {
  const directory = await freshDirectory();
  let most = 0;
  const observer = {
    ...UNVERIFIED,
    committed: () => undefined,
    openStoresChanged: (open: number) => void (most = Math.max(most, open)),
  };
  const options = { directory, clock: systemClock, openStoresMax: 2, observer };
  const engine = await openEmbeddedEngine(options);
  const slices = Array.from({ length: 20 }, (_, i) => ({ namespaceId: "n", slice: `data_${i}` }));
  for (const slice of slices) await engine.store.createSlice(slice);
  await Promise.all(slices.map((slice) => engine.store.append(slice, [placed("a", 1, "e")])));
  assert.ok(most > 0 && most <= 4, `${most} were open at once`);
  for (const slice of slices) assert.equal((await engine.store.sliceStats(slice)).events, 1);
  await engine.close();
  await rm(directory, { recursive: true });
});

test("rot in a slice that was closed for others is met when it is opened again", async () => {
  const directory = await freshDirectory();
  const engine = await openEmbeddedEngine({ directory, clock: systemClock, openStoresMax: 1 });
  const [slice, other] = ["data_1", "data_2"].map((name) => ({ namespaceId: "n", slice: name }));
  assert.ok(slice !== undefined && other !== undefined);
  await engine.store.createSlice(slice);
  await engine.store.createSlice(other);
  for (let i = 0; i < 3; i++) await engine.store.append(slice, [placed("a", 1 + i, "e")]);
  await engine.store.append(other, [placed("a", 1, "e")]);
  const level = join(directory, "events/n/data_1/level");
  await until(async () => {
    const mark = await MarkFile.open(join(directory, "events/n/data_1/mark"));
    await mark.close();
    return mark.last.seal !== undefined;
  });
  const log = (await readdir(level)).find((name) => name.endsWith(".log"));
  assert.ok(log !== undefined);
  const bytes = await readFile(join(level, log));
  bytes.writeUInt8(bytes.readUInt8(bytes.length - 1) ^ 1, bytes.length - 1);
  await writeFile(join(level, log), bytes);
  await assert.rejects(
    engine.store.append(slice, [placed("a", 9, "e")]),
    (error) =>
      error instanceof ServiceError &&
      error.code === "DATA_LOSS" &&
      error.message.includes("is not as it was closed"),
  );
  await engine.close();
  await rm(directory, { recursive: true });
});

test("markers are trimmed once their commits are out of the logs, and the rest is whole", async () => {
  const directory = await freshDirectory();
  const slice = { namespaceId: "n", slice: "data_1" };
  const payload = "x".repeat(1 << 20);
  const commits = 90;
  let engine = await openEmbeddedEngine({ directory, clock: systemClock });
  await engine.store.createSlice(slice);
  for (let i = 0; i < commits; i++) {
    await engine.store.append(slice, [placed("a", 1 + i, "e", payload)]);
  }
  await engine.close();
  const level = new ClassicLevel<Buffer, Buffer>(join(directory, "events/n/data_1/level"), {
    keyEncoding: "buffer",
    valueEncoding: "buffer",
  });
  const markers = await level.keys({ gte: markerKey(0), lt: MARKERS_END }).all();
  await level.close();
  assert.ok(markers.length > 0 && markers.length < commits, `${markers.length} markers`);
  assert.deepEqual(markers.at(-1), markerKey(commits));
  // Opening by hand changed the sealed files; the engine reports that too.
  engine = await openEmbeddedEngine({ directory, clock: systemClock });
  const partition = { ...slice, seriesId: "a", timeBucket: 0, eventBucket: 0 };
  const range = { from: 0, to: 1000, order: "OLDEST_FIRST", after: undefined } as const;
  const scan = engine.store.scan(
    partition,
    { ...range, runEventsMax: 10, runBytesMax: 1 << 20 },
    new AbortController().signal,
  );
  await assert.rejects(
    Array.fromAsync(scan),
    (error) => error instanceof ServiceError && error.code === "DATA_LOSS",
  );
  await engine.close();
  await rm(directory, { recursive: true });
});

test("a slow writer's markers are trimmed while its slice stays open, and after it was opened", async () => {
  const directory = await freshDirectory();
  const slice = { namespaceId: "n", slice: "data_1" };
  const commits = 6_000;
  let engine = await openEmbeddedEngine({ directory, clock: systemClock });
  await engine.store.createSlice(slice);
  const write = (n: number) => engine.store.append(slice, [placed("a", n, "e")]);
  for (let n = 1; n <= commits; n++) await write(n);
  await engine.close();
  const markers = async (): Promise<number> => {
    const copy = await freshDirectory();
    await cp(join(directory, "events/n/data_1/level"), copy, { recursive: true });
    const level = new ClassicLevel<Buffer, Buffer>(copy, {
      keyEncoding: "buffer",
      valueEncoding: "buffer",
    });
    const found = await level.keys({ gte: markerKey(0), lt: MARKERS_END }).all();
    await level.close();
    await rm(copy, { recursive: true });
    return found.length;
  };
  const whileOpen = await markers();
  assert.ok(whileOpen < 4_500, `${whileOpen} markers`);
  engine = await openEmbeddedEngine({ directory, clock: systemClock });
  for (let n = 1; n <= 4; n++) await write(commits + n);
  assert.equal((await engine.store.sliceStats(slice)).events, commits + 4);
  await engine.close();
  const afterOpening = await markers();
  assert.ok(afterOpening <= 5, `${afterOpening} markers`);
  await rm(directory, { recursive: true });
});

test("a slice that was never written is read without opening it, also after a restart", async () => {
  const directory = await freshDirectory();
  const slice = { namespaceId: "n", slice: "data_1" };
  const partition = { ...slice, seriesId: "a", timeBucket: 0, eventBucket: 0 };
  const range = { from: 0, to: 1_000, order: "OLDEST_FIRST", after: undefined } as const;
  const limits = { runEventsMax: 10, runBytesMax: 1 << 20 };
  let opened = 0;
  const observer = {
    ...UNVERIFIED,
    committed: () => undefined,
    openStoresChanged: (open: number) => void (opened = Math.max(opened, open)),
  };
  for (const round of ["created", "restarted"]) {
    const engine = await openEmbeddedEngine({ directory, clock: systemClock, observer });
    await engine.store.createSlice(slice);
    const read = async (): Promise<number> => {
      const { signal } = new AbortController();
      return (await Array.fromAsync(engine.store.scan(partition, { ...range, ...limits }, signal)))
        .length;
    };
    assert.equal(await read(), 0);
    assert.equal(opened, 0, round);
    if (round === "restarted") {
      await engine.store.append(slice, [placed("a", 1, "e")]);
      assert.equal(await read(), 1);
      assert.equal(opened, 1);
    }
    await engine.close();
  }
  await rm(directory, { recursive: true });
});
