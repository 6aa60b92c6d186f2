import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import {
  GENERATION,
  newestFirst,
  ORIGINAL,
  PART,
  storedBlocks,
  testEvent,
  writeEvents,
} from "../../../tests/support/part-events.ts";
import { partKey } from "../../model/split.ts";
import { Damage, decodeBlock, decodeFrames } from "./plain-decoder.ts";

const LOCATION = partKey(ORIGINAL, PART);

const EVENTS = newestFirst([
  testEvent(1_001, "a", 10),
  testEvent(1_001, "é", 0),
  testEvent(1_002, "b", 300),
  testEvent(1_050, "c", 20),
]);

async function onlyBlock(): Promise<Uint8Array> {
  const { store } = await writeEvents(EVENTS, "PACKED");
  const [block, ...others] = await storedBlocks(store);
  assert.equal(others.length, 0);
  assert.ok(block);
  return block.bytes;
}

test("V8: it reads what the writer of parts has written", async () => {
  const block = decodeBlock(LOCATION, GENERATION, await onlyBlock());
  assert.equal(block.sequence, 0);
  assert.equal(block.before, undefined);
  assert.deepEqual(
    block.events.map(({ time, id }) => [time, id.toString()]),
    EVENTS.map(({ position }) => [position.time, Buffer.from(position.id).toString()]),
  );
  assert.deepEqual(
    block.events.map(({ frameBytes }) => frameBytes),
    EVENTS.map(({ frame }) => frame.length),
  );
});

test("no byte of a block can change unseen, and none can be missing", async () => {
  const bytes = await onlyBlock();
  for (let at = 0; at < bytes.length; at++) {
    const changed = Uint8Array.from(bytes);
    changed[at] = (changed[at] as number) ^ 1;
    assert.throws(() => decodeBlock(LOCATION, GENERATION, changed), Damage, `byte ${at}`);
    assert.throws(() => decodeBlock(LOCATION, GENERATION, bytes.subarray(0, at)), Damage);
  }
});

test("a block of another place or copy is refused", async () => {
  const bytes = await onlyBlock();
  const table: [string, Parameters<typeof decodeBlock>, RegExp][] = [
    ["copy", [LOCATION, GENERATION + 1, bytes], /generation 3 instead of 4/],
    ["part", [partKey(ORIGINAL, PART + 1), GENERATION, bytes], /part \d+ instead of/],
    ["series", [{ ...LOCATION, seriesId: "x" }, GENERATION, bytes], /another partition/],
    ["bucket", [{ ...LOCATION, timeBucket: 8 }, GENERATION, bytes], /another partition/],
    ["namespace", [{ ...LOCATION, namespaceId: "x" }, GENERATION, bytes], /another partition/],
  ];
  for (const [name, args, message] of table) {
    assert.throws(() => decodeBlock(...args), { name: "Damage", message }, name);
  }
});

test("a frame of another series is damage", () => {
  const frame = testEvent(1_001, "a", 10).frame;
  assert.equal(decodeFrames(frame, ORIGINAL.seriesId).length, 1);
  assert.throws(() => decodeFrames(frame, "profile:124"), Damage);
  assert.throws(() => decodeFrames(frame.subarray(0, 9), ORIGINAL.seriesId), Damage);
});

test("V8: the decoder shares no code with the readers and writers of parts", () => {
  const folder = new URL(".", import.meta.url);
  const shared = /from "\.\.\/(?:partition\/|wire\/packed-block|wire\/event-record|wire\/frames)/;
  const files = readdirSync(folder).filter((name) => !name.endsWith(".test.ts"));
  assert.ok(files.length >= 5);
  for (const name of files) {
    assert.doesNotMatch(readFileSync(new URL(name, folder), "utf8"), shared, name);
  }
});
