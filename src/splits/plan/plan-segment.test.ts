import assert from "node:assert/strict";
import { test } from "node:test";
import { joinedSlices } from "../../../tests/support/static-view.ts";
import { DEFAULT_NAMESPACE_CONFIG } from "../../model/namespace-config.ts";
import type { NamespaceConfig } from "../../model/namespace-config.ts";
import { NO_LATENCY } from "../../model/split.ts";
import type { Segment, SplitRecord } from "../../model/split.ts";
import type { TimeSlice } from "../../model/time-slice.ts";
import type { RefusalCause } from "../../model/move-cause.ts";
import type { Fragments } from "../../ports/fragments.ts";
import { planSegment, surveyLimits } from "./plan-segment.ts";
import type { PlanInput, SplitPlan, Survey } from "./plan-segment.ts";

const START = Date.UTC(2026, 2, 28) * 1000;
const HOUR = 3_600_000_000;
const SECOND = 1_000_000;
const WIDE = DEFAULT_NAMESPACE_CONFIG.widePartition;
const MIB = 1024 ** 2;

function sliceOf(): TimeSlice {
  const [slice] = joinedSlices(START, [DEFAULT_NAMESPACE_CONFIG.timePartition]);
  assert.ok(slice);
  return slice;
}

function configOf(change: Partial<typeof WIDE>): NamespaceConfig {
  return { ...DEFAULT_NAMESPACE_CONFIG, widePartition: { ...WIDE, ...change } };
}

function recordOf(change: Partial<SplitRecord> = {}): SplitRecord {
  return {
    partition: {
      namespaceId: "plays-1",
      slice: "data_0",
      seriesId: "profile:123",
      timeBucket: 7,
      eventBucket: 0,
    },
    namespace: "plays",
    state: "PLANNING",
    epoch: 1,
    bytes: 11_000_000,
    events: 4_321,
    immutable: true,
    detectedAt: START,
    segments: [],
    fence: 1,
    owner: null,
    nextPart: 0,
    nextGeneration: 3,
    failures: 0,
    dueAt: null,
    heldBy: null,
    askedBy: null,
    latency: { before: NO_LATENCY, after: NO_LATENCY },
    history: [],
    version: 1,
    ...change,
  };
}

const DONE: Segment = {
  from: START + 7 * HOUR,
  to: START + 7.5 * HOUR,
  epoch: 1,
  state: "COMPLETED",
  generation: 1,
  layout: "PACKED",
  strategy: "EVENT_BUCKETS",
  why: "",
  partBytes: 8 * MIB,
  partsPlanned: 0,
  partRanges: [{ start: 0, count: 3 }],
  copiedTo: START + 7 * HOUR,
  bytes: 20 * MIB,
  events: 100,
  checksum: "x",
  confirmedAt: null,
};

const MUCH: Survey = {
  bytes: 20 * MIB,
  events: 5_000,
  whole: true,
  millis: 900,
  largestEventBytes: 1_000,
  fragments: undefined,
};

/** In the words of one engine. */
function filesOf(files: number): Fragments {
  return { files, fileWord: "SSTable", compactCommand: "nodetool compact plays data_0" };
}

function planWith(change: Partial<PlanInput> = {}, survey: Partial<Survey> = {}): SplitPlan {
  const bucket = { start: START + 7 * HOUR, end: START + 8 * HOUR };
  return planSegment({
    config: DEFAULT_NAMESPACE_CONFIG,
    slice: sliceOf(),
    record: recordOf(),
    bucket,
    epoch: 1,
    from: bucket.start,
    to: bucket.end,
    closed: true,
    blocked: false,
    nowMicros: START + 9 * HOUR,
    byOperator: false,
    ...change,
    survey: { ...MUCH, ...survey },
  });
}

function segmentFrom(plan: SplitPlan): Segment {
  assert.equal(plan.kind, "segment", JSON.stringify(plan));
  assert.ok(plan.kind === "segment");
  return plan.segment;
}

const SMALL = { bytes: 3_211, events: 40 };
const MANY_TINY = { bytes: 5 * MIB, events: 200_000 };

test("P3, P14: each refusal has its cause, and a reason with the numbers behind it", () => {
  const closesAt = sliceOf().end + DEFAULT_NAMESPACE_CONFIG.retention.closeAfterMicros;
  const dropped = { slice: { ...sliceOf(), state: "DROPPED" } } as const;
  const table: [RefusalCause, Partial<PlanInput>, Partial<Survey>, string[]][] = [
    ["closed-slice", dropped, {}, ["data_0", "dropped"]],
    ["blocked", { blocked: true }, {}, ['"profile:123"']],
    ["detect-off", { config: configOf({ detect: false }) }, {}, ["widePartition.detect"]],
    ["expiring", { nowMicros: closesAt - HOUR }, {}, ["data_0", "3,600 s"]],
    ["empty", { from: START + 8 * HOUR }, {}, []],
    ["empty", {}, { bytes: 0, events: 0 }, []],
    ["too-small", {}, SMALL, ["3,211", "40", "10,485,760", "100,000"]],
    ["no-impact", {}, { ...MANY_TINY, millis: 499.6 }, ["5,242,880", "8,388,608", "500 ms"]],
    [
      "fragmented",
      {},
      { ...MANY_TINY, fragments: filesOf(12) },
      ["5,242,880", "200,000", "12 SSTables", "nodetool compact plays data_0"],
    ],
  ];
  for (const [cause, change, survey, numbers] of table) {
    const plan = planWith(change, survey);
    assert.ok(plan.kind === "refused", cause);
    assert.equal(plan.cause, cause);
    for (const number of numbers) assert.ok(plan.reason.includes(number), plan.reason);
  }
});

test("an apparent reason to refuse does not refuse", () => {
  const closesAt = sliceOf().end + DEFAULT_NAMESPACE_CONFIG.retention.closeAfterMicros;
  const slowOnce = { before: { reads: 3, meanMs: 100, maxMs: 700 }, after: NO_LATENCY };
  const table: [string, Partial<PlanInput>, Partial<Survey>][] = [
    ["wide and fast", {}, { millis: 1 }],
    ["just not expiring", { nowMicros: closesAt - HOUR - 1 }, {}],
    [
      "an operator asks although detection is off",
      { config: configOf({ detect: false }), byOperator: true },
      {},
    ],
    [
      "an operator asks although nothing suffers",
      { byOperator: true },
      { ...MANY_TINY, millis: 1 },
    ],
    [
      "an operator asks although compacting would do",
      { byOperator: true },
      { ...MANY_TINY, fragments: filesOf(40) },
    ],
    [
      "fast now, but callers have waited",
      { record: recordOf({ latency: slowOnce }) },
      { ...MANY_TINY, millis: 1 },
    ],
    ["slow, and in few files", {}, { ...MANY_TINY, fragments: filesOf(2) }],
    ["a survey that stopped early", {}, { ...SMALL, whole: false }],
    [
      "the rest of a bucket that is split already, however small",
      { record: recordOf({ segments: [DONE] }), from: DONE.to },
      SMALL,
    ],
  ];
  for (const [name, change, survey] of table) {
    assert.equal(planWith(change, survey).kind, "segment", name);
  }
});

test("an operator too gets an error when it is too small, empty or blocked", () => {
  assert.equal(planWith({ byOperator: true }, SMALL).kind, "refused");
  assert.equal(planWith({ byOperator: true }, { bytes: 0, events: 0 }).kind, "refused");
  assert.equal(planWith({ byOperator: true, blocked: true }).kind, "refused");
});

test("a forced request is planned although it is small, but not if it is empty or blocked", () => {
  const record = recordOf({ askedBy: "alice", forced: true });
  assert.equal(planWith({ byOperator: true, record }, SMALL).kind, "segment");
  const empty = { bytes: 0, events: 0 };
  assert.equal(planWith({ byOperator: true, record }, empty).kind, "refused");
  assert.equal(planWith({ byOperator: true, record, blocked: true }, SMALL).kind, "refused");
});

test("a failed segment leaves nothing begun: the size is measured again", () => {
  const record = recordOf({ segments: [{ ...DONE, state: "FAILED" }] });
  assert.equal(planWith({ record }, SMALL).kind, "refused");
});

test("the plan freezes the range and begins with nothing copied", () => {
  const segment = segmentFrom(planWith());
  const { why, ...rest } = segment;
  assert.deepEqual(rest, {
    from: START + 7 * HOUR,
    to: START + 8 * HOUR,
    epoch: 1,
    state: "PLANNED",
    generation: 3,
    layout: "PACKED",
    strategy: "EVENT_BUCKETS",
    partBytes: 8 * MIB,
    partsPlanned: 0,
    expected: { bytes: 20_971_520, events: 5_000, exact: true },
    partRanges: [],
    copiedTo: START + 8 * HOUR,
    bytes: 0,
    events: 0,
    checksum: "",
    confirmedAt: null,
  });
  assert.match(why, /^reads found it wide: 20,971,520 bytes in 5,000 events, the bucket is closed/);
  assert.match(why, /TIME_BUCKETS costs .*; HASH costs /);
});

test("P5: if maxParts limits the number of parts they grow, and the plan says so", () => {
  const grown = segmentFrom(planWith({ config: configOf({ maxParts: 2 }) }, { bytes: 40 * MIB }));
  assert.equal(grown.partBytes, 20 * MIB);
  assert.match(grown.why, /grow from 8,388,608 to 20,971,520 bytes, because maxParts is 2$/);
  // A detection may have seen what the survey has not.
  const config = configOf({ maxParts: 4 });
  const record = recordOf({ bytes: 100 * MIB });
  const told = segmentFrom(planWith({ config, record }, { bytes: 0, events: 0, whole: false }));
  assert.equal(told.partBytes, 25 * MIB);
  assert.match(told.why, /at least 104,857,600 bytes in 4,321 events/);
  // Existing parts count.
  const begun = recordOf({ segments: [DONE] });
  const rest = segmentFrom(planWith({ config, record: begun, from: DONE.to }, { bytes: 40 * MIB }));
  assert.equal(rest.partBytes, 40 * MIB);
  assert.match(rest.why, /1 part is left \(maxParts is 4/);
});

test("the plan says how many files hold a partition of several parts, and what compaction would do", () => {
  const whyIn = (files: number | undefined, bytes = 20 * MIB): string => {
    const fragments = files === undefined ? undefined : filesOf(files);
    return segmentFrom(planWith({ byOperator: true }, { bytes, events: 200_000, fragments })).why;
  };
  assert.match(
    whyIn(12),
    /; it lies in 12 SSTables: compacting the slice \(nodetool compact plays data_0\) would help pages as well, but not whole ranges$/,
  );
  assert.match(whyIn(7), /; it lies in 7 SSTables$/);
  assert.match(whyIn(1), /; it lies in 1 SSTable$/);
  for (const why of [whyIn(undefined), whyIn(12, 5 * MIB)]) assert.doesNotMatch(why, /SSTable/);
  // Without a survey, the size that a read has seen counts.
  const seen = planWith({}, { bytes: 0, events: 0, whole: false, fragments: filesOf(9) });
  assert.match(segmentFrom(seen).why, /; it lies in 9 SSTables: compacting/);
});

test("strategies that need the whole size get the planned number of parts", () => {
  const time = segmentFrom(planWith({ config: configOf({ strategy: "TIME_BUCKETS" }) }));
  assert.deepEqual([time.strategy, time.partsPlanned], ["TIME_BUCKETS", 3]);
  assert.match(time.why, /the namespace asks for TIME_BUCKETS$/);
  const hash = configOf({ strategy: "HASH" });
  const large = segmentFrom(planWith({ config: hash }, { bytes: 8 * MIB * 1_000 }));
  assert.deepEqual([large.strategy, large.partsPlanned], ["HASH", 64]);
  assert.match(large.why, /of HASH at most 64/);
  const unmeasured = segmentFrom(planWith({ config: hash }, { whole: false }));
  assert.deepEqual([unmeasured.strategy, unmeasured.partsPlanned], ["EVENT_BUCKETS", 0]);
  assert.match(unmeasured.why, /EVENT_BUCKETS instead/);
});

test("P4: an open bucket waits until enough for a part is sealed, and no longer", () => {
  const open = { closed: false, to: START + 7 * HOUR + 600 * SECOND };
  const now = START + 9 * HOUR;
  const recheckAt = (survey: Partial<Survey>, change: Partial<PlanInput> = {}): number => {
    const record = recordOf({ bytes: 1 });
    const plan = planWith({ ...open, record, ...change }, survey);
    assert.ok(plan.kind === "parked", JSON.stringify(plan));
    assert.equal(plan.cause, "waiting");
    return (plan.recheckMicros - now) / SECOND;
  };
  assert.equal(planWith(open, { bytes: 8 * MIB, whole: false }).kind, "segment");
  // Four in ten minutes: the other four take ten more, which is also the longest wait.
  assert.equal(recheckAt({ bytes: 4 * MIB }), 600);
  assert.equal(recheckAt({ bytes: 6 * MIB }), 200);
  assert.equal(recheckAt({ bytes: 8 * MIB - 1 }), 10);
  assert.equal(recheckAt({ bytes: 0, events: 0 }), 600);
  // What a read has seen is sealed when it is old enough and the floor has followed.
  const config = { ...DEFAULT_NAMESPACE_CONFIG, acceptLimitMicros: 100 * SECOND };
  const seen = { config, record: recordOf({ detectedAt: now - 20 * SECOND }) };
  assert.equal(recheckAt({ bytes: 0, events: 0 }, seen), 80 + 30);
  // The bucket closes earlier.
  assert.equal(recheckAt({ bytes: 1 }, { to: START + 8 * HOUR - 30 * SECOND }), 30);
  // Nothing new is sealed.
  assert.equal(recheckAt({ bytes: 0, events: 0 }, { from: open.to }), 600);
});

test("a survey reads no more than the decision needs", () => {
  const none = { bytes: 0, events: 0 };
  const table: [string, Partial<SplitRecord>, boolean, number][] = [
    ["seen to be wide in bytes", {}, true, 0],
    ["seen to be wide in events", { bytes: 5_000, events: 100_001 }, true, WIDE.targetBytes + 1],
    ["wide in events, more than a part", { bytes: 9 * MIB, events: 100_001 }, true, 0],
    ["asked for", none, true, WIDE.bytesMax + 1],
    ["the rest of a split", { ...none, segments: [DONE] }, true, 0],
    ["open", {}, false, WIDE.targetBytes],
  ];
  for (const [name, change, closed, bytes] of table) {
    assert.equal(
      surveyLimits(DEFAULT_NAMESPACE_CONFIG, recordOf(change), closed).bytes,
      bytes,
      name,
    );
  }
  for (const strategy of ["TIME_BUCKETS", "HASH"]) {
    const all = surveyLimits(configOf({ strategy }), recordOf(), true).bytes;
    assert.equal(all, Number.MAX_SAFE_INTEGER, strategy);
  }
});

test("with whenHarmless LEAVE a partition is left alone while its reads meet their target", () => {
  const config = configOf({ whenHarmless: "LEAVE" });
  const { targetMs } = config.slos.read;
  const fast = { reads: 6, meanMs: 5, maxMs: targetMs };
  const record = recordOf({ latency: { before: fast, after: NO_LATENCY } });
  const survey = { ...MUCH, whole: true, millis: targetMs };
  const left = planWith({ config, record }, survey);
  assert.ok(left.kind === "parked");
  assert.equal(left.cause, "harmless");
  assert.ok(left.recheckMicros > START + 9 * HOUR);
  const slowPage = {
    ...record,
    latency: { before: { ...fast, maxMs: targetMs + 1 }, after: NO_LATENCY },
  };
  const harmful: [string, Partial<PlanInput>, Partial<Survey>?][] = [
    ["SPLIT is the default", { config: configOf({}) }],
    ["a slow page", { record: slowPage }],
    ["no page was read", { record: recordOf() }],
    ["a slow range", {}, { millis: targetMs + 1 }],
    ["a range that was not read to its end", {}, { whole: false }],
    ["an operator asked", { record: { ...record, askedBy: "ada" }, byOperator: true }],
    ["it is begun", { record: { ...record, segments: [DONE] } }],
  ];
  for (const [name, change, measured] of harmful) {
    const plan = planWith({ config, record, ...change }, { ...survey, ...measured });
    assert.equal(plan.kind, "segment", name);
  }
  assert.deepEqual(surveyLimits(config, recordOf(), true), { bytes: 0, millis: targetMs });
  assert.equal(surveyLimits(config, recordOf({ askedBy: "ada" }), true).millis, 0);
  assert.equal(surveyLimits(configOf({}), recordOf(), true).millis, 0);
});
