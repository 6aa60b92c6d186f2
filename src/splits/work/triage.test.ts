import assert from "node:assert/strict";
import { test } from "node:test";
import type { Namespace } from "../../model/namespace.ts";
import { newSplit } from "../../model/split-moves.ts";
import type { Segment, SplitRecord } from "../../model/split.ts";
import { staticView } from "../../../tests/support/static-view.ts";
import { triage, nextStep } from "./triage.ts";
import type { Triage, TriageInput } from "./triage.ts";

const SECOND = 1_000_000;
const BUCKET = { start: 1_000 * SECOND, end: 4_600 * SECOND };
const NOW = 10_000 * SECOND;
const NAMESPACE: Namespace = staticView({ slices: [] }).namespace;

function recordWith(changes: Partial<SplitRecord> = {}): SplitRecord {
  const partition = { namespaceId: "n", slice: "s", seriesId: "a", timeBucket: 0, eventBucket: 0 };
  const seen = { bytes: 9, events: 1, immutable: false, detectedAt: NOW };
  const split = { partition, namespace: "plays", epoch: 1, ...seen };
  return { ...newSplit(split, { at: NOW, by: "w", cause: "detection", reason: "" }), ...changes };
}

function segmentWith(changes: Partial<Segment> = {}): Segment {
  return {
    from: BUCKET.start,
    to: BUCKET.end,
    epoch: 1,
    state: "COMPLETED",
    generation: 0,
    layout: "PACKED",
    strategy: "EVENT_BUCKETS",
    why: "",
    partBytes: 8,
    partsPlanned: 0,
    partRanges: [],
    copiedTo: BUCKET.start,
    bytes: 1,
    events: 1,
    checksum: "",
    confirmedAt: 1,
    ...changes,
  };
}

function lookAt(record: SplitRecord, changes: Partial<TriageInput> = {}): Triage {
  return triage({
    record,
    namespace: NAMESPACE,
    bucket: BUCKET,
    settledFloor: BUCKET.end,
    lagMicros: 21 * SECOND,
    nowMicros: NOW,
    ...changes,
  });
}

function toOf(look: Triage): string {
  return look.kind === "leave" ? "leave" : `${look.kind} ${look.to}`;
}

test("the newest segment decides the next step", () => {
  const steps = (["PLANNED", "SPLITTING", "VALIDATING", "COMPLETED", "FAILED"] as const).map(
    (state) => nextStep(recordWith({ segments: [segmentWith({ state })] })),
  );
  assert.deepEqual(steps, ["copy", "copy", "validate", "plan", "plan"]);
  assert.equal(nextStep(recordWith()), "plan");
  const unconfirmed = [segmentWith({ confirmedAt: null })];
  assert.equal(nextStep(recordWith({ segments: unconfirmed })), "confirm");
});

test("unfinished work continues, whatever the settled floor", () => {
  const at = (state: Segment["state"]): string =>
    toOf(
      lookAt(recordWith({ state: "PARKED", segments: [segmentWith({ state })] }), {
        settledFloor: 0,
      }),
    );
  assert.equal(at("PLANNED"), "claim SPLITTING");
  assert.equal(at("SPLITTING"), "claim SPLITTING");
  assert.equal(at("VALIDATING"), "claim VALIDATING");
  const unconfirmed = recordWith({ segments: [segmentWith({ confirmedAt: null })] });
  assert.equal(toOf(lookAt(unconfirmed, { settledFloor: 0 })), "claim COMPLETED");
});

test("sealed time that is not covered is planned; a split that has segments stays completed", () => {
  assert.equal(toOf(lookAt(recordWith())), "claim PLANNING");
  assert.equal(toOf(lookAt(recordWith({ state: "INVALIDATED" }))), "claim PLANNING");
  const half = segmentWith({ to: 2_000 * SECOND });
  const record = recordWith({ state: "COMPLETED", segments: [half] });
  assert.equal(toOf(lookAt(record)), "claim COMPLETED");
  const failed = [half, segmentWith({ from: half.to, state: "FAILED" })];
  assert.equal(toOf(lookAt(recordWith({ state: "FAILED", segments: failed }))), "claim PLANNING");
});

test("P4: time that is not sealed waits, in the same state", () => {
  const settledFloor = BUCKET.start;
  assert.equal(toOf(lookAt(recordWith(), { settledFloor })), "move PARKED");
  assert.equal(
    toOf(lookAt(recordWith({ state: "INVALIDATED" }), { settledFloor })),
    "move INVALIDATED",
  );
  const half = segmentWith({ to: 2_000 * SECOND });
  const record = recordWith({ state: "COMPLETED", segments: [half] });
  const look = lookAt(record, { settledFloor: half.to });
  assert.equal(toOf(look), "move COMPLETED");
  assert.ok(look.kind === "move" && (look.changes.dueAt ?? 0) > NOW);
  // A namespace of an older version has no settled floor yet.
  assert.equal(toOf(lookAt(recordWith(), { settledFloor: 0 })), "move PARKED");
});

test("a bucket that is covered is done", () => {
  const look = lookAt(recordWith({ segments: [segmentWith()] }));
  assert.equal(toOf(look), "move COMPLETED");
  assert.ok(look.kind === "move" && look.changes.dueAt === null);
});

test("a pause leaves every split unchanged and due", () => {
  const splitsPaused = { at: 1, by: "ada", cause: "detection", reason: "busy" };
  const namespace = { ...NAMESPACE, splitsPaused };
  assert.equal(toOf(lookAt(recordWith(), { namespace })), "leave");
  const segments = [segmentWith({ state: "SPLITTING" })];
  assert.equal(toOf(lookAt(recordWith({ segments }), { namespace })), "leave");
});

/** A later epoch began with that floor. */
function openedFrom(floor: number, changes: Partial<Namespace> = {}): Namespace {
  return { ...NAMESPACE, epoch: 2, epochStarts: [{ epoch: 2, floor }], ...changes };
}

const HALF = 2_000 * SECOND;
const HALVES = [
  segmentWith({ to: HALF }),
  segmentWith({ from: HALF, state: "SPLITTING", confirmedAt: null }),
];

test("C3: an epoch that opens none of a split's time changes nothing", () => {
  const namespace = openedFrom(BUCKET.end);
  const record = recordWith({ state: "SPLITTING", segments: HALVES });
  assert.equal(toOf(lookAt(record, { namespace })), "claim SPLITTING");
  const copied = recordWith({ segments: [segmentWith()] });
  assert.equal(toOf(lookAt(copied, { namespace })), "move COMPLETED");
  const inIt = recordWith({ segments: [segmentWith({ epoch: 2 })] });
  assert.equal(toOf(lookAt(inIt, { namespace: openedFrom(0) })), "move COMPLETED");
});

test("C17: what was opened again is detected again when it is sealed, and keeps what stayed sealed", () => {
  const namespace = openedFrom(BUCKET.end - 1);
  const record = recordWith({ state: "PARKED", segments: HALVES, askedBy: "ada" });
  const look = lookAt(record, { namespace });
  assert.ok(look.kind === "move" && look.to === "DETECTED" && look.cause === "reopened");
  const { epoch, segments, dueAt, askedBy } = look.changes;
  assert.deepEqual([epoch, segments, dueAt, askedBy], [2, HALVES.slice(0, 1), NOW, "ada"]);
});

test("C3: what was opened again waits until it is sealed, in the same state", () => {
  const namespace = openedFrom(HALF);
  const settledFloor = BUCKET.end - 1;
  const looks = (
    [
      ["COMPLETED", [segmentWith()]],
      ["SPLITTING", HALVES],
      ["FAILED", [segmentWith({ state: "FAILED" })]],
      ["DETECTED", [segmentWith({ confirmedAt: null })]],
    ] as const
  ).map(([state, segments]) =>
    lookAt(recordWith({ state, segments }), { namespace, settledFloor }),
  );
  assert.deepEqual(looks.map(toOf), [
    "move COMPLETED",
    "move PARKED",
    "move PARKED",
    "move COMPLETED",
  ]);
  for (const look of looks) {
    assert.ok(look.kind === "move" && (look.changes.dueAt ?? 0) > NOW);
    assert.equal(look.changes.segments, undefined);
  }
});

test("while time is being opened again, nothing that it touches moves", () => {
  const record = recordWith({ segments: [segmentWith()] });
  const reopening = { acceptLimitMicros: 1, sealedBelow: BUCKET.end };
  assert.equal(toOf(lookAt(record, { namespace: openedFrom(HALF, { reopening }) })), "leave");
});
