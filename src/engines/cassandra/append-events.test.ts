import { equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { insertsFor, writeInt64 } from "./append-events.ts";

test("twenty statements are enough for every number of events, and little is repeated", () => {
  const sizes = new Set<number>();
  for (let events = 1; events <= 64; events++) {
    const inserts = insertsFor(events);
    ok(inserts >= events && inserts <= Math.max(8, events * 1.25), `${events}: ${inserts}`);
    sizes.add(inserts);
  }
  equal(Math.max(...sizes), 64);
  ok(sizes.size <= 20, `${sizes.size}`);
  for (let events = 1; events <= 8; events++) equal(insertsFor(events), events);
});

test("times are written as Cassandra's 64-bit numbers", () => {
  const bytes = Buffer.alloc(8);
  for (const time of [0, 1, 0xffff_ffff, 0x1_0000_0000, 1_774_656_000_000_001, 2 ** 53 - 1]) {
    writeInt64(bytes, 0, time);
    equal(bytes.readBigInt64BE(0), BigInt(time));
  }
});
