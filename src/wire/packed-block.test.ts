import { deepEqual, equal, ok, throws } from "node:assert/strict";
import { test } from "node:test";
import { crc32c } from "@node-rs/crc32";
import fc from "fast-check";
import { utf8 } from "../lib/bytes.ts";
import { bindingOf, encodeBlock, frameEnd, readBlock } from "./packed-block.ts";
import type { BlockContext, BlockFields } from "./packed-block.ts";

const LOCATION = { namespaceId: "n", slice: "wide_data_0", seriesId: "s", timeBucket: 3 };
const CONTEXT: BlockContext = { binding: bindingOf(LOCATION), generation: 2, part: (1 << 30) - 1 };
const FIELDS: BlockFields = {
  sequence: 1,
  count: 2,
  first: { time: 9, id: utf8("b") },
  last: { time: 8, id: utf8("aa") },
  before: { time: 2 ** 53 - 1, id: utf8("c") },
};
const FRAMES = [Uint8Array.of(0x0a, 1, 7), Uint8Array.of(0x0a, 2, 8, 9)];

const anyId = fc.uint8Array({ minLength: 1, maxLength: 300 });

test("a block returns what was put in", () => {
  fc.assert(
    fc.property(
      fc.tuple(anyId, anyId, anyId),
      fc.tuple(fc.nat(2 ** 31 - 1), fc.nat(1_000), fc.nat(1_000)),
      fc.integer({ min: 1, max: 2 ** 32 - 1 }),
      fc.array(fc.uint8Array({ minLength: 1 }), { minLength: 1 }),
      ([a, b, c], [x, y, z], count, frames) => {
        const last = { time: x * 2 ** 21, id: a };
        const first = { time: last.time + 1 + y, id: b };
        const before = z === 0 ? undefined : { time: first.time + z, id: c };
        const fields = { sequence: z, count, first, last, before };
        const block = encodeBlock(CONTEXT, fields, frames);
        const head = readBlock(CONTEXT, block);
        ok(head !== undefined);
        const { framesStart, framesEnd, ...read } = head;
        deepEqual(plain(read), plain(fields));
        deepEqual(block.subarray(framesStart, framesEnd), Buffer.concat(frames));
      },
    ),
  );
});

test("V9: the bytes of a block are those of the specification, for ever", () => {
  const block = encodeBlock(CONTEXT, FIELDS, FRAMES).toString("hex");
  const fields = [
    "01",
    "1323559c35849073",
    "00000002",
    "3fffffff",
    "00000001",
    "00000002",
    "0000000000000009000162",
    "000000000000000800026161",
    "001fffffffffffff000163",
    "0a0107",
    "0a020809",
  ];
  // Programs other than this one computed both checksums.
  equal(block, `40f4a3cd${fields.join("")}`);
});

test("P12: a block of another version is not read, although its checksum is right", () => {
  const block = encodeBlock(CONTEXT, FIELDS, FRAMES);
  for (const version of [0, 2, 255]) {
    const other = Buffer.from(block);
    other[4] = version;
    other.writeUInt32BE(crc32c(other.subarray(4)));
    equal(readBlock(CONTEXT, other), undefined);
    // The checksum is computed as the block's own is.
    other[4] = block[4] as number;
    other.writeUInt32BE(crc32c(other.subarray(4)));
    deepEqual(other, block);
  }
});

test("no flipped bit, no missing and no additional byte goes unnoticed", () => {
  const block = encodeBlock(CONTEXT, FIELDS, FRAMES);
  for (let bit = 0; bit < 8 * block.length; bit++) {
    const damaged = Buffer.from(block);
    damaged[bit >>> 3] = (damaged[bit >>> 3] as number) ^ (1 << (bit & 7));
    equal(readBlock(CONTEXT, damaged), undefined, `bit ${bit}`);
  }
  for (let length = 0; length < block.length; length++) {
    equal(readBlock(CONTEXT, block.subarray(0, length)), undefined, `${length} bytes`);
  }
  equal(readBlock(CONTEXT, Buffer.concat([block, Buffer.alloc(1)])), undefined);
});

test("X13: a sound block of another location is not accepted here", () => {
  const block = encodeBlock(CONTEXT, FIELDS, FRAMES);
  ok(readBlock(CONTEXT, block) !== undefined);
  const others: BlockContext[] = [
    { ...CONTEXT, generation: 3 },
    { ...CONTEXT, part: CONTEXT.part - 1 },
    { ...CONTEXT, binding: bindingOf({ ...LOCATION, namespaceId: "m" }) },
    { ...CONTEXT, binding: bindingOf({ ...LOCATION, slice: "wide_data_1" }) },
    { ...CONTEXT, binding: bindingOf({ ...LOCATION, seriesId: "t" }) },
    { ...CONTEXT, binding: bindingOf({ ...LOCATION, timeBucket: 4 }) },
  ];
  for (const other of others) equal(readBlock(other, block), undefined);
});

test("locations whose joined texts are equal have different bindings", () => {
  const one = bindingOf({ ...LOCATION, timeBucket: 1, seriesId: "2\0s" });
  const other = bindingOf({ ...LOCATION, timeBucket: 12, seriesId: "\0s" });
  equal(one.length, 8);
  ok(Buffer.compare(one, other) !== 0);
});

test("an impossible block is neither written nor read", () => {
  throws(() => encodeBlock(CONTEXT, { ...FIELDS, before: undefined }, FRAMES), /before/);
  throws(() => encodeBlock({ ...CONTEXT, part: 2 ** 32 }, FIELDS, FRAMES), /four bytes/);
  const odd: Partial<BlockFields>[] = [
    { count: 0 },
    { first: FIELDS.last, last: FIELDS.first },
    { before: FIELDS.first },
  ];
  for (const change of odd) {
    equal(readBlock(CONTEXT, encodeBlock(CONTEXT, { ...FIELDS, ...change }, FRAMES)), undefined);
  }
  equal(readBlock(CONTEXT, encodeBlock(CONTEXT, FIELDS, [])), undefined);
});

test("the end of a whole frame is found, and of half a frame it is not", () => {
  const bytes = Uint8Array.of(0x0a, 2, 1, 1, 0x0a, 0, 0x0b, 0, 0x0a, 5);
  equal(frameEnd(bytes, 0, bytes.length), 4);
  equal(frameEnd(bytes, 4, bytes.length), 6);
  equal(frameEnd(bytes, 6, bytes.length), -1);
  equal(frameEnd(bytes, 8, bytes.length), -1);
  equal(frameEnd(bytes, 0, 3), -1);
});

/** Ids as text, so that views and copies compare equal. */
function plain({ first, last, before, ...rest }: BlockFields): unknown {
  const positions = [first, last, before].map(
    (position) => position && [position.time, Buffer.from(position.id).toString("hex")],
  );
  return { ...rest, positions };
}
