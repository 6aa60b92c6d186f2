import { deepEqual, rejects } from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { utf8 } from "../../lib/bytes.ts";
import { systemClock } from "../../lib/clock.ts";
import type { PartitionKey } from "../../model/partition.ts";
import type { Order, StoredBlock } from "../../ports/event-store.ts";
import { CheckedLevel } from "./checked-level.ts";
import { placeKey, putBlock } from "./key-codec.ts";
import { LEVEL_OPTIONS } from "./level-options.ts";
import { scanBlocks } from "./scan-blocks.ts";

const PART: PartitionKey = {
  namespaceId: "n",
  slice: "wide_data_20260328_0",
  seriesId: "a",
  timeBucket: 0,
  eventBucket: 1,
};
const OTHER: PartitionKey = { ...PART, eventBucket: 2 };
const SERIES = utf8("a");
const ID = utf8("e");
const BLOCKS: readonly StoredBlock[] = [1, 2, 3].map((time) => ({
  key: { time, id: ID },
  bytes: Buffer.alloc(100, time),
}));

async function open() {
  const directory = await mkdtemp(join(tmpdir(), "braid-blocks-"));
  await CheckedLevel.create(directory, LEVEL_OPTIONS);
  const options = { directory, what: "slice n/wide", clock: systemClock, tuning: LEVEL_OPTIONS };
  const level = await CheckedLevel.open(options);
  await level.write(0, (batch) => {
    for (const part of [PART, OTHER]) {
      for (const block of BLOCKS) putBlock(batch, SERIES, part, block);
    }
    return 1;
  });
  return {
    level,
    async [Symbol.asyncDispose]() {
      await level.close();
      await rm(directory, { recursive: true });
    },
  };
}

async function timesOf(level: CheckedLevel, part: PartitionKey, order: Order): Promise<number[]> {
  const limits = { firstBlocks: 2, fetchBytesMax: 150, blockBytesMax: 100 };
  const range = { order, at: undefined, until: undefined, ...limits };
  const fetches = await Array.fromAsync(
    scanBlocks(level, part, range, new AbortController().signal),
  );
  return fetches.flat().map(({ key }) => key.time);
}

/** Puts a value as it is in the place of the middle block. */
async function replaceMiddle(
  level: CheckedLevel,
  change: (value: Buffer) => Buffer | Promise<Buffer>,
): Promise<void> {
  const key = placeKey(SERIES, PART, 2, ID);
  const value = await change((await level.get(key)) ?? Buffer.alloc(0));
  await level.write(0, (batch) => {
    batch.put(key, value);
    return value.length;
  });
}

const DAMAGES: Readonly<Record<string, (level: CheckedLevel, value: Buffer) => unknown>> = {
  "a bit is flipped": (_, value) => value.writeUInt8(value.readUInt8(50) ^ 1, 50),
  "the checksum is another": (_, value) => value.writeUInt8(value.readUInt8(0) ^ 1, 0),
  "the end is cut off": (_, value) => value.subarray(0, 99),
  "nothing is left": () => Buffer.alloc(0),
  "the bytes are those of its neighbour": (level) => level.get(placeKey(SERIES, PART, 1, ID)),
  "the bytes are those of the same place of another part": (level) =>
    level.get(placeKey(SERIES, OTHER, 2, ID)),
};

for (const [name, damage] of Object.entries(DAMAGES)) {
  test(`a block of which ${name} is DATA_LOSS, and other parts are served`, async () => {
    await using fixture = await open();
    const { level } = fixture;
    await replaceMiddle(level, async (value) => {
      const result = await damage(level, value);
      return Buffer.isBuffer(result) ? result : value;
    });
    for (const order of ["NEWEST_FIRST", "OLDEST_FIRST"] as const) {
      await rejects(timesOf(level, PART, order), { code: "DATA_LOSS", message: /checksum/ });
    }
    deepEqual(await timesOf(level, OTHER, "NEWEST_FIRST"), [3, 2, 1]);
    deepEqual(await timesOf(level, OTHER, "OLDEST_FIRST"), [1, 2, 3]);
  });
}
