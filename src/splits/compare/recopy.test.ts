import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { movedSplit, newSplit } from "../../model/split-moves.ts";
import type { Segment, SplitRecord } from "../../model/split.ts";
import type { Finding } from "./recheck-difference.ts";
import { recopied } from "./recopy.ts";
import { inState } from "../../../tests/support/split-in-state.ts";

const SECOND = 1_000_000;
const DAY = 86_400 * SECOND;
const DETECTED: SplitRecord = newSplit(
  {
    partition: { namespaceId: "p", slice: "s", seriesId: "i", timeBucket: 0, eventBucket: 0 },
    namespace: "plays",
    epoch: 1,
    bytes: 1,
    events: 1,
    immutable: true,
    detectedAt: 0,
  },
  { at: 0, by: "server-1", cause: "detection", reason: "a read saw it" },
);

function finding(verdict: Finding["verdict"]): Finding {
  return { verdict, detail: "missing block", namespace: "plays" };
}

/** As a worker leaves it: copied, confirmed, and so without failures. */
function copied(record: SplitRecord, at: number): SplitRecord {
  return inState(record, "COMPLETED", { failures: 0, dueAt: null }, at);
}

function unreadable(record: SplitRecord, at: number): SplitRecord {
  return recopied(copied(record, at), 0, finding("UNREADABLE"), "server-1", at);
}

test("CP14: a split that cannot be read is copied again after longer waits, and the third time rests", () => {
  const first = unreadable(DETECTED, 1);
  deepEqual([first.state, first.failures, first.dueAt], ["DETECTED", 1, 1 + 30 * SECOND]);
  const second = unreadable(first, 100 * SECOND);
  deepEqual([second.state, second.failures, second.dueAt], ["DETECTED", 2, 400 * SECOND]);
  const third = unreadable(second, 500 * SECOND);
  deepEqual([third.state, third.failures, third.dueAt], ["FAILED", 3, null]);
  equal(third.history.at(-1)?.cause, "unreadable");
  // An operator request restarts the count, and so does a day.
  const asked = { at: 600 * SECOND, by: "ada", cause: "operator", reason: "retried" } as const;
  const retried = movedSplit(third, "DETECTED", asked, { failures: 0, dueAt: asked.at });
  equal(unreadable(retried, 700 * SECOND).failures, 1);
  equal(unreadable(second, 500 * SECOND + DAY).failures, 1);
});

test("earlier mismatches count, too", () => {
  const failed = { ...DETECTED, failures: 2 };
  const { state, dueAt } = recopied(failed, 0, finding("UNREADABLE"), "server-1", 1);
  deepEqual([state, dueAt], ["FAILED", null]);
});

test("an event that surfaced in the original is copied at once; another soon after, only after a wait", () => {
  const surfaced = (record: SplitRecord, at: number): SplitRecord =>
    recopied(copied(record, at), 0, finding("ONLY_IN_ORIGINAL"), "server-1", at);
  const first = surfaced(DETECTED, 1);
  deepEqual([first.state, first.failures, first.dueAt], ["DETECTED", 0, 1]);
  const second = surfaced(first, 2);
  deepEqual([second.state, second.failures, second.dueAt], ["DETECTED", 0, 2 + 300 * SECOND]);
  equal(surfaced(second, 3 + DAY).dueAt, 3 + DAY);
});

test("a recopy of a requested split keeps the operator's request", () => {
  const asked = copied({ ...DETECTED, askedBy: "ada" }, 1);
  for (const verdict of ["ONLY_IN_ORIGINAL", "UNREADABLE"] as const) {
    const { state, askedBy } = recopied(asked, 0, finding(verdict), "server-1", 2);
    deepEqual([state, askedBy], ["DETECTED", "ada"], verdict);
  }
});

test("C14: the segment that differs and every later one are copied again; earlier ones stay", () => {
  const segments = [0, 10, 20].map((from) => segmentFrom(from));
  const record = copied({ ...DETECTED, segments }, 1);
  for (const verdict of ["ONLY_IN_ORIGINAL", "UNREADABLE"] as const) {
    for (const nth of [0, 1, 2]) {
      const { segments: kept } = recopied(record, nth, finding(verdict), "server-1", 2);
      deepEqual(kept, segments.slice(0, nth), `${verdict} ${nth}`);
    }
  }
});

function segmentFrom(from: number): Segment {
  return {
    from,
    to: from + 10,
    epoch: 1,
    state: "COMPLETED",
    generation: from,
    layout: "PACKED",
    strategy: "EVENT_BUCKETS",
    why: "",
    partBytes: 1,
    partsPlanned: 0,
    partRanges: [],
    copiedTo: from,
    bytes: 0,
    events: 0,
    checksum: "",
    confirmedAt: 1,
  };
}
