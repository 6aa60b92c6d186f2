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
const NAMESPACE: TriageInput["namespace"] = {
  ...staticView({ slices: [] }).namespace,
  reopening: null,
};

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

test("time that is not sealed waits, in the same state", () => {
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

test("in another epoch no copy is used", () => {
  const later: Namespace & { reopening: null } = { ...NAMESPACE, epoch: 2, reopening: null };
  const fresh = lookAt(recordWith(), { namespace: later });
  assert.ok(fresh.kind === "move" && fresh.to === "DETECTED" && fresh.changes.epoch === 2);
  const copied = lookAt(recordWith({ segments: [segmentWith()] }), { namespace: later });
  assert.ok(copied.kind === "move" && copied.to === "INVALIDATED");
  assert.deepEqual(copied.changes, { epoch: 2, segments: [] });
  // While time is re-opened, the steps of the re-opening update the records.
  const namespace = { ...later, reopening: { acceptLimitMicros: 1 } };
  assert.equal(toOf(lookAt(recordWith(), { namespace })), "leave");
  assert.equal(toOf(lookAt(recordWith({ epoch: 5 }), { namespace: later })), "leave");
});
