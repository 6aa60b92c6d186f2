import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { floorLookMs, floorSettleTime, settledLag, timeMargins } from "./time-margins.ts";

test("each margin has both units, and settle is the sum of two of them", () => {
  deepEqual(timeMargins({ clockSkewMs: 1_000, viewMaxAgeMs: 10_000, writeMaxMs: 5_000 }), {
    clockSkew: { ms: 1_000, micros: 1_000_000 },
    viewMaxAge: { ms: 10_000, micros: 10_000_000 },
    writeMax: { ms: 5_000, micros: 5_000_000 },
    settle: { ms: 15_000, micros: 15_000_000 },
    pauseMax: { ms: 300_000, micros: 300_000_000 },
    believeMax: { ms: 86_400_000, micros: 86_400_000_000 },
    dropGrace: { ms: 86_400_000, micros: 86_400_000_000 },
  });
});

test("C24: a floor settles pause_max later where the catalog is shared, and is looked at meanwhile", () => {
  const times = { clockSkewMs: 1_000, viewMaxAgeMs: 10_000, writeMaxMs: 6_000 };
  const margins = timeMargins({ ...times, pauseMaxMs: 60_000 });
  const [own, shared] = [{ shared: false }, { shared: true }];
  equal(floorSettleTime(margins, own).ms, 16_000);
  equal(floorSettleTime(margins, shared).ms, 76_000);
  equal(settledLag(margins, shared), 77_000_000);
  deepEqual([floorLookMs(margins, own), floorLookMs(margins, shared)], [4_000, 5_000]);
});
