import { deepEqual, equal, match } from "node:assert/strict";
import { test } from "node:test";
import type { DeadDetection, QueueStatus } from "../../../client/connect.ts";
import { outcomeText, replayText, valueOf, verdictOf } from "./dead-letters.ts";

const STATUS: QueueStatus = {
  queue: "kafka",
  waiting: "0",
  inFlight: "0",
  buffered: "0",
  partitions: [],
  deadLetters: "0",
  process: "server-1",
};
const LETTER: DeadDetection = {
  position: "0:17",
  reason: "version: must be a whole number",
  time: "2026-11-15T09:58:00Z",
  key: "plays|data_20261115|profile:123|9|0",
  value: btoa('{"version":-1}'),
  valueBytes: "14",
  kept: true,
  origin: "",
};
const NOW = Date.parse("2026-11-15T10:00:00Z");

test("the sentence names dead letters first, then detections that wait too long", () => {
  equal(verdictOf(STATUS, NOW).tone, "ok");
  const waiting = { ...STATUS, waiting: "3", oldestTime: "2026-11-15T09:59:58Z" };
  deepEqual(verdictOf(waiting, NOW), { tone: "ok", sentence: "3 detections not handled yet." });
  const late = { ...waiting, oldestTime: "2026-11-15T09:50:00Z" };
  match(verdictOf(late, NOW).sentence, /the oldest for 10 min: check that a worker runs/);
  match(verdictOf({ ...late, deadLetters: "2" }, NOW).sentence, /^2 detections could not be dec/);
});

test("a letter says whether a replay can help, and shows its value as text or hex", () => {
  match(replayText(LETTER), /a replay fails again/);
  match(replayText({ ...LETTER, kept: false }), /cannot be replayed/);
  equal(valueOf(LETTER), '{"version":-1}');
  equal(
    valueOf({ ...LETTER, value: btoa("\u00ff\u0000"), valueBytes: "5000" }),
    "ff 00 … and 4,998 bytes more",
  );
});

test("the outcome names what was missing, what was not kept, and that there are more", () => {
  const answer = { count: "1", missing: ["0:3"], notKept: [], more: false };
  equal(outcomeText(answer, "dropped"), "1 dead letter was dropped; not there any more: 0:3.");
  const all = { count: "2", missing: [], notKept: ["0:4"], more: true };
  match(outcomeText(all, "replayed"), /were replayed; too large.*: 0:4; there are more/);
});
