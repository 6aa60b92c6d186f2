/**
 * Damages every file of a small data directory, byte by byte, and accepts two answers: exactly the
 * data that was acknowledged, or DATA_LOSS. Fewer events without an error is the failure looked
 * for.
 */
import assert from "node:assert/strict";
import { cp, mkdir, mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { openEmbeddedEngine } from "../../../src/engines/embedded/index.ts";
import { MarkFile } from "../../../src/engines/embedded/mark-file.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { ServiceError } from "../../../src/lib/errors.ts";
import { partKey, splitTableOf } from "../../../src/model/split.ts";
import type { EventStore, StoredBlock } from "../../../src/ports/event-store.ts";
import { SLICE, WRITERS, eventOf, readNumbers, smallLevel } from "./numbered-events.ts";

const EVENTS_EACH = 130;
const SLICE_PATH = join("events", SLICE.namespaceId, SLICE.slice);
const OTHER = { ...SLICE, slice: "data_20260329" };
/** Blocks of a split lie in a table of their own. */
const PART = partKey({ ...SLICE, seriesId: "ann", timeBucket: 0, eventBucket: 0 }, 0);
const PART_PATH = join("events", PART.namespaceId, PART.slice);
const BLOCKS = Array.from({ length: 60 }, (_, i) => ({
  key: { time: 1 + i, id: Buffer.from(`e${i}`) },
  bytes: Buffer.from(`block ${i} `.repeat(20)),
}));
/** How many flips for a directory; each file gets its share, and every file some. */
const FLIPS = Number(process.env["BRAID_FLIPS"] ?? 100);
const SEED = Number(process.env["BRAID_SEED"] ?? 20260328);

type Files = ReadonlyMap<string, Buffer>;
type Answer = "exact" | "DATA_LOSS";

let base = "";
let closed: Files = new Map();
let crashed: Files = new Map();

before(async () => {
  base = await mkdtemp(join(tmpdir(), "braid-flip-"));
  const directory = join(base, "origin");
  const engine = await openEmbeddedEngine({ directory, clock: systemClock, level: smallLevel });
  await engine.catalog.write("space", "kept", "value", 0);
  await engine.store.createSlice(SLICE);
  await engine.store.createSlice(OTHER);
  await engine.store.append(OTHER, [eventOf("ann", 0)]);
  await engine.store.createSlice(splitTableOf(SLICE));
  for (const block of BLOCKS) await engine.store.appendBlocks(PART, [block]);
  for (let number = 0; number < EVENTS_EACH; number++) {
    await engine.store.append(
      SLICE,
      WRITERS.map((writer) => eventOf(writer, number)),
    );
  }
  // Until the mark has caught up a damaged tail looks like a crash: the test skips that range.
  await markReaches(join(directory, SLICE_PATH, "mark"), EVENTS_EACH);
  await markReaches(join(directory, PART_PATH, "mark"), BLOCKS.length);
  await cp(directory, join(base, "crashed"), { recursive: true });
  await engine.close();
  closed = await load(directory);
  crashed = await load(join(base, "crashed"));
});

after(async () => {
  await rm(base, { recursive: true, force: true });
});

test("what was closed, and what a crash leaves, reads back exactly", async () => {
  for (const files of [closed, crashed]) {
    assert.ok(
      [...files.keys()].some((name) => name.endsWith(".ldb")),
      "there are tables",
    );
    assert.ok(
      [...files.keys()].some((name) => name.endsWith(".log")),
      "there are logs",
    );
    assert.equal(await answerTo(files), "exact");
  }
});

for (const state of ["closed", "crashed"] as const) {
  test(`W18: a flipped bit in what was ${state} gives exact data or DATA_LOSS`, async () => {
    const files = state === "closed" ? closed : crashed;
    const total = [...files.values()].reduce((sum, bytes) => sum + bytes.length, 0);
    let random = SEED;
    const answers: Record<Answer, number> = { exact: 0, DATA_LOSS: 0 };
    for (const [name, bytes] of files) {
      if (bytes.length === 0) continue;
      const flips = Math.min(bytes.length, Math.max(3, Math.round((FLIPS * bytes.length) / total)));
      for (let flip = 0; flip < flips; flip++) {
        random = (Math.imul(random, 1_103_515_245) + 12_345) >>> 0;
        const stride = bytes.length / flips;
        const at = Math.floor(flip * stride + ((random >>> 8) / (1 << 24)) * stride);
        const flipped = Buffer.from(bytes);
        flipped[at] = (flipped[at] as number) ^ (1 << (random & 7));
        const where = `bit ${random & 7} of byte ${at} of ${name}, seed ${SEED}`;
        answers[await answerTo(new Map([...files, [name, flipped]]), where)]++;
      }
    }
    assert.ok(answers.DATA_LOSS > 0, "some flips hit data");
  });

  test(`W18: a file cut short or gone in what was ${state} gives exact data or DATA_LOSS`, async () => {
    const files = state === "closed" ? closed : crashed;
    for (const [name, bytes] of files) {
      const lengths = new Set([
        0,
        bytes.length >> 1,
        bytes.length - 1,
        Math.min(32_768, bytes.length),
      ]);
      for (const length of lengths) {
        if (length < 0 || length === bytes.length) continue;
        const cut = new Map([...files, [name, bytes.subarray(0, length)]]);
        await answerTo(cut, `${name} cut to ${length}`);
      }
      const gone = new Map(files);
      gone.delete(name);
      const answer = await answerTo(gone, `${name} gone`);
      const isTable = name.startsWith(SLICE_PATH) && name.endsWith(".ldb");
      if (isTable) assert.equal(answer, "DATA_LOSS", `${name} gone`);
    }
  });
}

test("W18: a slice whose directory is gone is DATA_LOSS, and the others are served", async () => {
  const gone = new Map([...closed].filter(([name]) => !name.startsWith(SLICE_PATH)));
  assert.equal(await answerTo(gone), "DATA_LOSS");
});

test("W18: damage in one slice leaves the others alone", async () => {
  const table = [...closed.keys()].find(
    (name) => name.startsWith(SLICE_PATH) && name.endsWith(".ldb"),
  );
  assert.ok(table !== undefined);
  const flipped = Buffer.from(closed.get(table) ?? []);
  flipped[100] = (flipped[100] as number) ^ 1;
  assert.equal(await answerTo(new Map([...closed, [table, flipped]])), "DATA_LOSS");
});

/** Opens, reads everything, and says which of the two answers came; any other fails the test. */
async function answerTo(files: Files, where = ""): Promise<Answer> {
  const directory = await mkdtemp(join(base, "trial-"));
  await Promise.all(
    [...files].map(async ([name, bytes]) => {
      await mkdir(dirname(join(directory, name)), { recursive: true });
      await writeFile(join(directory, name), bytes);
    }),
  );
  try {
    const engine = await openEmbeddedEngine({ directory, clock: systemClock, level: smallLevel });
    try {
      assert.equal((await engine.catalog.read("space", "kept"))?.value, "value", where);
      // Whatever befell one slice, the other must be served unless it was hit itself.
      await readOther(engine.store, where);
      for (const writer of WRITERS) {
        const numbers = await readNumbers(engine.store, writer);
        assert.deepEqual(
          numbers,
          Array.from({ length: EVENTS_EACH }, (_, i) => i),
          where,
        );
      }
      assert.deepEqual(await readBlocks(engine.store), BLOCKS, where);
      return "exact";
    } finally {
      await engine.close();
    }
  } catch (error) {
    if (error instanceof ServiceError && error.code === "DATA_LOSS") return "DATA_LOSS";
    if (error instanceof Error) error.message += ` (${where})`;
    throw error;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function readBlocks(store: EventStore): Promise<StoredBlock[]> {
  const range = { order: "OLDEST_FIRST", at: undefined, until: undefined } as const;
  const limits = { firstBlocks: 4, fetchBytesMax: 4_000, blockBytesMax: 1_000 };
  const signal = new AbortController().signal;
  const fetched = await Array.fromAsync(store.scanBlocks(PART, { ...range, ...limits }, signal));
  return fetched.flat().map(({ key, bytes }) => ({ key, bytes }));
}

async function readOther(store: Parameters<typeof readNumbers>[0], where: string): Promise<void> {
  try {
    assert.deepEqual(await readNumbers(store, "ann", OTHER), [0], where);
  } catch (error) {
    const hit = where.includes(OTHER.slice) || where.includes("catalog");
    if (!hit || !(error instanceof ServiceError && error.code === "DATA_LOSS")) throw error;
  }
}

async function markReaches(path: string, commits: number): Promise<void> {
  for (;;) {
    const mark = await MarkFile.open(path);
    await mark.close();
    if (mark.last.sequence >= commits) return;
    await nextTurn();
  }
}

async function load(directory: string): Promise<Files> {
  const files = new Map<string, Buffer>();
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    files.set(path.slice(directory.length + 1), await readFile(path));
  }
  return files;
}
