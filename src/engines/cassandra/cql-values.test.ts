import { equal } from "node:assert/strict";
import { test } from "node:test";
import { int64, writeInt64 } from "./cql-values.ts";

test("times are written as Cassandra's 64-bit numbers", () => {
  const bytes = Buffer.alloc(8);
  for (const time of [0, 1, 0xffff_ffff, 0x1_0000_0000, 1_774_656_000_000_001, 2 ** 53 - 1]) {
    writeInt64(bytes, 0, time);
    equal(bytes.readBigInt64BE(0), BigInt(time));
    equal(int64(time).readBigInt64BE(0), BigInt(time));
  }
});
