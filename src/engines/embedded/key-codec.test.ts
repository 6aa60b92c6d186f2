import { equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { utf8 } from "../../lib/bytes.ts";
import { encodeEvent } from "../../wire/event-record.ts";
import type { LevelBatch } from "./level.ts";
import {
  CHECKSUM_BYTES,
  partitionSeed,
  putBlock,
  putEvent,
  readBlockValue,
  readValue,
} from "./key-codec.ts";

const LOCATION = { timeBucket: 3, eventBucket: 5 };
const PARTITION = { namespaceId: "n", slice: "data_0", seriesId: "s", ...LOCATION };

interface Entry {
  readonly key: Buffer;
  readonly value: Buffer;
}

/** What `put` puts into a batch. */
function entryOf(put: (batch: LevelBatch) => unknown): Entry {
  const entries: Entry[] = [];
  const batch = {
    put: (key: Buffer, value: Buffer) =>
      void entries.push({ key: Buffer.from(key), value: Buffer.from(value) }),
  };
  // Nothing else of a batch is used.
  put(batch as unknown as LevelBatch);
  const [entry] = entries;
  ok(entry !== undefined);
  return entry;
}

/** The bytes with each of their bits turned, one at a time. */
function* flipped(bytes: Buffer): Generator<Buffer> {
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const copy = Buffer.from(bytes);
    copy.writeUInt8(copy.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
    yield copy;
  }
}

test("C22: an event with any bit flipped, or of another partition, is not taken for what was stored", () => {
  const event = encodeEvent(utf8("s"), 1_000, utf8("e"), [{ key: utf8("k"), value: utf8("v") }]);
  const { value } = entryOf((batch) => putEvent(batch, { event, ...LOCATION }));
  const read = (bytes: Buffer, seed = partitionSeed(LOCATION.timeBucket, LOCATION.eventBucket)) =>
    readValue(bytes, bytes.subarray(CHECKSUM_BYTES), seed);
  equal(read(value)?.time, 1_000);
  for (const bytes of flipped(value)) equal(read(bytes), undefined);
  for (let length = 0; length < value.length; length++) {
    equal(read(value.subarray(0, length)), undefined, `cut to ${length}`);
  }
  for (const [timeBucket, eventBucket] of [
    [3, 6],
    [4, 5],
    [5, 3],
  ] as const) {
    equal(read(value, partitionSeed(timeBucket, eventBucket)), undefined);
  }
});

test("C22: a block with any bit flipped, in its key or its value, is not taken for what was stored", () => {
  const block = { key: { time: 1_000, id: utf8("e") }, bytes: utf8("a block") };
  const { key, value } = entryOf((batch) => putBlock(batch, utf8("s"), PARTITION, block));
  equal(readBlockValue(key, value)?.toString(), "a block");
  for (const bytes of flipped(value)) equal(readBlockValue(key, bytes), undefined);
  for (const bytes of flipped(key)) equal(readBlockValue(bytes, value), undefined);
});
