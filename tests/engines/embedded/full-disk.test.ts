/**
 * The engine on a small disk that something else fills: events are refused in time, reads and
 * deletions continue, a restart succeeds, and writes work again when there is room.
 *
 * @needs tmpfs
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, open, rm, rmdir, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { freeBytesOf } from "../../../src/engines/embedded/disk-space.ts";
import { openEmbeddedEngine } from "../../../src/engines/embedded/index.ts";
import type { EmbeddedEngine } from "../../../src/engines/embedded/index.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { until } from "../../support/conditions.ts";
import { SLICE, eventOf, readNumbers, smallLevel } from "./numbered-events.ts";

const run = promisify(execFile);
const MIB = 1 << 20;
const FREE_MIN = 40 * MIB;
const UPCOMING = { ...SLICE, slice: "data_20260329" };
const OLD = { ...SLICE, slice: "data_20260320" };

async function onSmallDisk(work: (disk: string) => Promise<void>): Promise<void> {
  const disk = await mkdtemp(join(tmpdir(), "braid-small-"));
  await run("mount", ["-t", "tmpfs", "-o", "size=128m", "tmpfs", disk]);
  try {
    await work(disk);
  } finally {
    await run("umount", ["-l", disk]);
    await rmdir(disk);
  }
}

/** Fills the disk until so many bytes are left. */
async function fill(disk: string, left: number): Promise<void> {
  const file = await open(join(disk, "filler"), "a");
  try {
    for (;;) {
      const more = Math.min(MIB, (await freeBytesOf(disk)) - left);
      if (more <= 0) return;
      await file.write(Buffer.alloc(more));
    }
  } finally {
    await file.close();
  }
}

function openEngine(directory: string): Promise<EmbeddedEngine> {
  return openEmbeddedEngine({
    directory,
    clock: systemClock,
    level: smallLevel,
    freeBytesMin: FREE_MIN,
  });
}

async function readsContinue({ store }: EmbeddedEngine): Promise<void> {
  assert.deepEqual(await readNumbers(store, "one"), [1, 2]);
  assert.deepEqual(await readNumbers(store, "one", UPCOMING), []);
}

async function hasBallast(directory: string): Promise<boolean> {
  const { size } = await stat(join(directory, "ballast")).catch(() => ({ size: 0 }));
  return size === FREE_MIN / 4;
}

test("W15: on a full disk reads, deletions and a restart work, events are refused, and room ends it", async () => {
  await onSmallDisk(async (disk) => {
    const directory = join(disk, "data");
    let engine = await openEngine(directory);
    for (const slice of [OLD, SLICE, UPCOMING]) await engine.store.createSlice(slice);
    await engine.store.append(OLD, [eventOf("one", 1)]);
    for (const number of [1, 2]) await engine.store.append(SLICE, [eventOf("one", number)]);
    assert.equal((await stat(directory)).mode & 0o777, 0o700);
    await until(() => hasBallast(directory));

    // Something else takes the space, but some is left.
    await fill(disk, FREE_MIN / 2);
    await until(() => engine.readOnly() !== undefined);
    await assert.rejects(engine.store.append(SLICE, [eventOf("one", 3)]), {
      code: "STORAGE_UNAVAILABLE",
      message: /MiB free, less than 40 MiB \(server\.free_space_min\)/,
    });
    await readsContinue(engine);

    // And all of it, at once: the next change of the catalog meets a full disk.
    await fill(disk, 0);
    const version = await engine.catalog.write("space", "a", "x".repeat(100_000), 0);
    assert.ok(version !== undefined);
    await engine.store.dropSlice(OLD);
    await readsContinue(engine);
    // With room again the engine keeps its reserve for the next time.
    await rm(join(disk, "filler"));
    await until(() => hasBallast(directory));
    await engine.close();

    // A server that starts on a full disk has that reserve alone.
    await fill(disk, 0);
    engine = await openEngine(directory);
    await readsContinue(engine);
    assert.equal((await engine.catalog.read("space", "a"))?.version, version);
    assert.notEqual(engine.readOnly(), undefined);
    await engine.close();

    // Something took the reserve too: the error says what to do.
    await fill(disk, 0);
    await assert.rejects(openEngine(directory), { message: /is full; free at least 32 MiB/ });

    await rm(join(disk, "filler"));
    engine = await openEngine(directory);
    await until(() => engine.readOnly() === undefined);
    await engine.store.append(SLICE, [eventOf("one", 3)]);
    assert.deepEqual(await readNumbers(engine.store, "one"), [1, 2, 3]);
    await engine.close();
  });
});
