import { deepEqual, equal, match } from "node:assert/strict";
import { test } from "node:test";
import type { MetricsHistory, ReadMode } from "../../../client/connect.ts";
import { linesOf, sentenceOf } from "./evidence.ts";

// The sentence reads nothing else.
const MODE = {
  mode: "SHADOW",
  nextMode: "COMPARE",
  blockedBy: "2 more reads",
  evidence: [],
  killSwitch: { on: false },
} as unknown as ReadMode;

test("the sentence names what is missing for the next step", () => {
  match(sentenceOf(MODE).text, /^SHADOW becomes COMPARE when this is there: 2 more reads/);
  equal(sentenceOf({ ...MODE, blockedBy: "" }).tone, "busy");
});

test("one byte that differs, and the kill switch, come first", () => {
  const differs = { ...MODE, evidence: [{ bytesDiffered: "1" }] } as unknown as ReadMode;
  equal(sentenceOf(differs).tone, "bad");
  const killed = { ...differs, killSwitch: { on: true } } as unknown as ReadMode;
  match(sentenceOf(killed).text, /kill switch is on/);
});

test("series have a value for each time, and gaps where nothing is known", () => {
  const history = {
    startTime: "2026-11-18T00:00:00Z",
    samples: 3,
    step: "60s",
    series: [{ name: "compare_bytes.match", values: [5, null, 7] }],
  } as unknown as MetricsHistory;
  const lines = linesOf(history);
  equal((lines.times[2] ?? 0) - (lines.times[0] ?? 0), 120_000);
  deepEqual(lines.match, [5, null, 7]);
  // It compared, and found nothing that differs.
  deepEqual(lines.differ, [0, null, 0]);
});
