import { equal } from "node:assert/strict";
import { test } from "node:test";
import { count, duration, itemText, millis, printable, size } from "./print.ts";

test("sizes and durations carry the largest unit that says them well", () => {
  equal(size(0), "0 B");
  equal(size("1536"), "1.5 KiB");
  equal(size(10_485_760), "10 MiB");
  equal(duration("600s"), "10m");
  equal(duration("0.05s"), "50ms");
  equal(duration("1296000s"), "15d");
  equal(millis(5_400_000), "90m");
  equal(millis(1_234), "1.2s");
  equal(millis(1.25), "1.3ms");
  equal(count("1234567"), "1,234,567");
});

test("what is not text is shown as bytes, what is too long is cut, what a terminal obeys is spelled", () => {
  equal(itemText(new Uint8Array([0xff, 0x00]), 60), "0xff00");
  equal(itemText(Buffer.from("abcdef"), 4), "abc…");
  equal(printable("a\nb\u001b[31m\u202e"), "a\\x0ab\\x1b[31m\\u202e");
});
