import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { bytesSchema, durationSchema, formatBytes, formatDurationMs } from "./units.ts";
import { parseBytes, parseDurationMs } from "./units.ts";

test("sizes and durations are read with their units", () => {
  deepEqual(["10MiB", "512 KiB", "100", "1.5GiB", "1TiB", "2MB", "0"].map(parseBytes), [
    10_485_760,
    524_288,
    100,
    1_610_612_736,
    2 ** 40,
    2_000_000,
    0,
  ]);
  deepEqual(
    ["10s", "250ms", "1.5h", "2d", "1m"].map(parseDurationMs),
    [10_000, 250, 5_400_000, 172_800_000, 60_000],
  );
});

test("other text is neither a size nor a duration", () => {
  const bad = ["", "MiB", "-1MiB", "1e9", "10 apples", "0x10", "1.5", "NaN", "__proto__"];
  for (const text of bad) equal(parseBytes(text), undefined, text);
  for (const text of ["", "10", "s", "-1s", "1y", "1s2", "toString"]) {
    equal(parseDurationMs(text), undefined, text);
  }
});

test("sizes and durations are written with the unit a person would choose", () => {
  deepEqual([0, 1023, 1024, 10_485_760, 1_610_612_736].map(formatBytes), [
    "0B",
    "1023B",
    "1KiB",
    "10MiB",
    "1.5GiB",
  ]);
  deepEqual([250, 1000, 1500, 90_000, 3_600_000, 172_800_000].map(formatDurationMs), [
    "250ms",
    "1s",
    "1.5s",
    "90s",
    "1h",
    "2d",
  ]);
});

test("a schema names the problem and the valid range", () => {
  const size = bytesSchema({ min: "1KiB", max: "1MiB" });
  equal(size.parse("4KiB"), 4096);
  equal(size.safeParse("1B").error?.issues[0]?.message, "1B is outside 1KiB to 1MiB");
  equal(
    durationSchema({ min: "1s", max: "1h" }).safeParse("soon").error?.issues[0]?.message,
    '"soon" is not a duration such as 10s',
  );
});
