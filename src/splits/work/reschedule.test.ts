import assert from "node:assert/strict";
import { test } from "node:test";
import { DEFAULT_NAMESPACE_CONFIG } from "../../model/namespace-config.ts";
import { newSplit } from "../../model/split-moves.ts";
import { MOVE_CAUSES } from "../../model/move-cause.ts";
import type { MoveCause } from "../../model/move-cause.ts";
import type { Segment, SplitRecord } from "../../model/split.ts";
import { nextRangeAt, outageMicros, shortestRange } from "./reschedule.ts";
import { failedDueAt } from "../../model/split-waits.ts";

const SECOND = 1_000_000;
const HOUR = 3_600 * SECOND;
const DAY = 24 * HOUR;
const LAG_MICROS = 21 * SECOND;
const LAG = 600 * SECOND + LAG_MICROS;

function recordWith(changes: Partial<SplitRecord> = {}): SplitRecord {
  const partition = { namespaceId: "n", slice: "s", seriesId: "a", timeBucket: 0, eventBucket: 0 };
  const seen = { bytes: 0, events: 0, immutable: false, detectedAt: 0 };
  const split = { partition, namespace: "plays", epoch: 1, ...seen };
  return { ...newSplit(split, { at: 0, by: "w", cause: "detection", reason: "" }), ...changes };
}

function segmentOf(from: number, to: number, bytes: number): Segment {
  return {
    from,
    to,
    epoch: 1,
    state: "COMPLETED",
    generation: 0,
    layout: "PACKED",
    strategy: "EVENT_BUCKETS",
    why: "",
    partBytes: 8,
    partsPlanned: 0,
    partRanges: [],
    copiedTo: from,
    bytes,
    events: 1,
    checksum: "",
    confirmedAt: 1,
  };
}

function movedFor(...causes: readonly MoveCause[]): SplitRecord {
  const record = recordWith();
  const [first] = record.history;
  assert.ok(first);
  return { ...record, history: [first, ...causes.map((cause) => ({ ...first, cause }))] };
}

test("the wait after outages doubles up to a bound, and starts over after anything else", () => {
  assert.equal(outageMicros(movedFor("claim")), 5 * SECOND);
  assert.equal(outageMicros(movedFor("claim", "outage", "claim")), 10 * SECOND);
  assert.equal(outageMicros(movedFor("claim", "outage", "claim", "outage", "claim")), 20 * SECOND);
  const planned = ["claim", "plan", "copy", "copied"] as const;
  assert.equal(outageMicros(movedFor("outage", ...planned, "outage", "claim")), 20 * SECOND);
  const many = Array.from({ length: 40 }, () => ["claim", "outage"] as const).flat();
  assert.equal(outageMicros(movedFor(...many)), 300 * SECOND);
  const others = MOVE_CAUSES.filter((cause) => cause !== "outage" && !isOneOf(planned, cause));
  for (const cause of others) {
    assert.equal(outageMicros(movedFor("outage", cause, "claim")), 5 * SECOND, cause);
  }
});

function isOneOf(causes: readonly MoveCause[], cause: MoveCause): boolean {
  return causes.includes(cause);
}

test("V3, V6, S21: mismatches are tried again twice", () => {
  const waits = [1, 2, 3, 4].map((failures) => failedDueAt(failures, 7));
  assert.deepEqual(waits, [7 + 30 * SECOND, 7 + 300 * SECOND, null, null]);
});

test("a further range is due when it holds the target size, at the rate so far", () => {
  const config = DEFAULT_NAMESPACE_CONFIG;
  const { targetBytes } = config.widePartition;
  const bucket = { start: 0, end: DAY };
  const record = recordWith({ segments: [segmentOf(0, HOUR, 2 * targetBytes)] });
  const at = (now: number, other = record): number | null =>
    nextRangeAt({ record: other, bucket, config, lagMicros: LAG_MICROS, nowMicros: now });
  assert.equal(at(HOUR), 1.5 * HOUR + LAG);
  assert.equal(at(2 * HOUR), 2 * HOUR + 30 * SECOND, "never at once");
  const slow = recordWith({ segments: [segmentOf(0, HOUR, targetBytes / 1_000)] });
  assert.equal(at(HOUR, slow), DAY + LAG, "at the latest when all is sealed");
  const all = recordWith({ segments: [segmentOf(0, DAY, targetBytes)] });
  assert.equal(at(2 * DAY, all), null);
  // Nothing is split yet: the detection gives the rate.
  const detected = recordWith({ bytes: 4 * targetBytes, detectedAt: HOUR });
  assert.equal(at(0, detected), 0.25 * HOUR + LAG);
  assert.equal(
    at(0, recordWith()),
    LAG,
    "nobody has seen anything: when the first of it is sealed",
  );
});

test("segments of one bucket stay few, however long and busy it is", () => {
  const year = 365 * DAY;
  const segments: Segment[] = [];
  for (let to = 0; to < year;) {
    const from = to;
    const least = shortestRange(recordWith({ segments }), 0);
    to = Math.min(year, from + Math.max(30 * SECOND, least));
    segments.push(segmentOf(from, to, 1));
  }
  assert.ok(segments.length < 130, `${segments.length}`);
});
