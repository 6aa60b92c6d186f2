import assert from "node:assert/strict";
import { test } from "node:test";
import { MemoryCatalog } from "../../../tests/support/memory-catalog.ts";
import { readyRecord } from "../../../tests/support/ready-record.ts";
import { joinedSlices, staticView, viewSource } from "../../../tests/support/static-view.ts";
import { VirtualClock } from "../../../tests/support/virtual-clock.ts";
import { utf8 } from "../../lib/bytes.ts";
import { ServiceError } from "../../lib/errors.ts";
import { writeNamespace } from "../../records/namespace-records.ts";
import { moveSplit } from "../record/move-split.ts";
import { listSplits } from "../../records/split-records.ts";
import { detectionKey, encodeDetection } from "../../model/detection.ts";
import type { Detection } from "../../model/detection.ts";
import { DEFAULT_NAMESPACE_CONFIG } from "../../model/namespace-config.ts";
import type { NamespaceView } from "../../model/namespace.ts";
import { FIRST_READ_MODE } from "../../model/read-mode.ts";
import { NO_LATENCY } from "../../model/split.ts";
import type { Segment, SplitRecord, SplitState } from "../../model/split.ts";
import { recordDetection } from "./record-detection.ts";
import { inState } from "../../../tests/support/split-in-state.ts";

const START = Date.UTC(2026, 2, 28) * 1000;

const DETECTION: Detection = {
  namespace: "plays",
  timeSlice: "data_20260328",
  timeSeriesId: "profile:123",
  timeBucket: 7,
  eventBucket: 0,
  immutable: true,
  epoch: 1,
  bytes: 11_000_000,
  events: 4_321,
  detectedAt: START + 1,
};

class Fixture {
  readonly catalog = new MemoryCatalog();
  readonly clock = new VirtualClock(START + 5);
  readonly outcomes: string[] = [];
  readonly nudged: string[] = [];
  readonly signal = new AbortController().signal;
  view: NamespaceView;
  viewError: Error | undefined;
  readonly #handler;

  constructor() {
    const [slice] = joinedSlices(START, [DEFAULT_NAMESPACE_CONFIG.timePartition]);
    assert.ok(slice);
    this.view = staticView({ slices: [{ ...slice, name: "data_20260328" }] });
    this.#handler = recordDetection({
      catalog: this.catalog,
      clock: this.clock,
      by: "worker-1",
      nudge: ({ seriesId, timeBucket }) => void this.nudged.push(`${seriesId}/${timeBucket}`),
      observe: (_, outcome) => void this.outcomes.push(outcome),
      views: viewSource(() => {
        if (this.viewError !== undefined) throw this.viewError;
        return this.view;
      }),
    });
  }

  handle(change: Partial<Detection> = {}) {
    const detection = { ...DETECTION, ...change };
    const message = { key: detectionKey(detection), value: encodeDetection(detection) };
    return this.#handler(message, this.signal);
  }

  handleBytes(text: string) {
    return this.#handler({ key: "k", value: utf8(text) }, this.signal);
  }

  /** The record of the detection, as other processes left it. */
  async leave(state: SplitState, change: Partial<SplitRecord> = {}): Promise<SplitRecord> {
    const [before] = await this.records();
    assert.ok(before);
    const after = inState(before, state, { dueAt: null, ...change }, this.clock.nowMicros());
    const moved = await moveSplit(this.catalog, this.clock, before, after);
    assert.ok(moved);
    return moved;
  }

  async records(): Promise<SplitRecord[]> {
    const found: SplitRecord[] = [];
    const slice = { namespaceId: "plays-1", slice: "data_20260328" };
    for await (const record of listSplits(this.catalog, slice)) found.push(record);
    return found;
  }
}

test("DE1, Q1, Q5: a detection makes one record, however often it is delivered", async () => {
  const fixture = new Fixture();
  assert.deepEqual(await fixture.handle(), { kind: "done" });
  await fixture.handle({ bytes: 12_000_000 });
  assert.deepEqual(fixture.outcomes, ["recorded", "known"]);
  const [record, ...others] = await fixture.records();
  assert.deepEqual(others, []);
  assert.ok(record);
  const { version, ...rest } = record;
  assert.ok(version > 0);
  assert.deepEqual(rest, {
    partition: {
      namespaceId: "plays-1",
      slice: "data_20260328",
      seriesId: "profile:123",
      timeBucket: 7,
      eventBucket: 0,
    },
    namespace: "plays",
    state: "DETECTED",
    askedBy: null,
    epoch: 1,
    bytes: 11_000_000,
    events: 4_321,
    immutable: true,
    detectedAt: START + 1,
    segments: [],
    fence: 0,
    owner: null,
    nextPart: 0,
    nextGeneration: 0,
    failures: 0,
    dueAt: START + 5,
    heldBy: null,
    latency: { before: NO_LATENCY, after: NO_LATENCY },
    history: [
      {
        at: START + 5,
        by: "worker-1",
        from: null,
        to: "DETECTED",
        cause: "detection",
        times: 1,
        reason: "a read saw 11,000,000 bytes in 4,321 events",
      },
    ],
  });
  assert.deepEqual(fixture.nudged, ["profile:123/7"]);
});

test("DE1, Q1: of two detections at once one makes the record, and both are done", async () => {
  const fixture = new Fixture();
  await Promise.all([fixture.handle(), fixture.handle()]);
  assert.deepEqual(fixture.outcomes.toSorted(), ["known", "recorded"]);
  assert.equal((await fixture.records()).length, 1);
});

test("Q4: only a message that cannot be decoded is malformed", async () => {
  const fixture = new Fixture();
  const handled = await fixture.handleBytes("{}");
  assert.equal(handled.kind, "malformed");
  assert.match(handled.why, /namespace: /);
  assert.deepEqual(fixture.outcomes, []);
});

test("DE5, DE6, Q2, Q12: a detection that no longer applies does nothing, and is done", async () => {
  const fixture = new Fixture();
  await fixture.handle({ epoch: 0 });
  await fixture.handle({ timeSlice: "data_20260327" });
  await fixture.handle({ timeBucket: 24 });
  const block = { seriesId: "profile:123", reason: "", expiresAt: undefined, blockedAt: 0 };
  const open = fixture.view;
  fixture.view = { ...open, blocked: new Map([["profile:123", { ...block, source: "API" }]]) };
  await fixture.handle();
  fixture.view = { ...open, namespace: { ...open.namespace, createdAt: DETECTION.detectedAt + 1 } };
  await fixture.handle();
  fixture.viewError = new ServiceError("NAMESPACE_NOT_FOUND", "gone");
  await fixture.handle();
  assert.deepEqual(fixture.outcomes, [
    "other_epoch",
    "slice_gone",
    "no_such_partition",
    "blocked",
    "namespace_gone",
    "namespace_gone",
  ]);
  assert.deepEqual(fixture.catalog.dump(), []);
});

test("an epoch ahead of the view is right if the catalog has it", async () => {
  const fixture = new Fixture();
  await fixture.handle({ epoch: 2 });
  const { namespace } = fixture.view;
  const readMode = { ...FIRST_READ_MODE, since: 0 };
  await writeNamespace(fixture.catalog, readyRecord({ ...namespace, epoch: 2, readMode }));
  await fixture.handle({ epoch: 2 });
  await fixture.handle({ epoch: 3 });
  assert.deepEqual(fixture.outcomes, ["other_epoch", "recorded", "other_epoch"]);
});

test("Q7: while the catalog fails the message is delivered again, and then recorded", async () => {
  const fixture = new Fixture();
  let failing = true;
  fixture.catalog.before = () => {
    if (failing) throw new ServiceError("STORAGE_UNAVAILABLE", "away");
  };
  await assert.rejects(fixture.handle(), { code: "STORAGE_UNAVAILABLE" });
  fixture.viewError = new ServiceError("STORAGE_UNAVAILABLE", "away");
  await assert.rejects(fixture.handle(), { code: "STORAGE_UNAVAILABLE" });
  failing = false;
  fixture.viewError = undefined;
  await fixture.handle();
  assert.deepEqual(fixture.outcomes, ["recorded"]);
});

const HOUR = 3_600_000_000;
const BUCKET = START + 7 * HOUR;

function segmentTo(to: number): Segment {
  return {
    from: BUCKET,
    to,
    epoch: 1,
    state: "COMPLETED",
    generation: 0,
    layout: "PACKED",
    strategy: "EVENT_BUCKETS",
    why: "",
    partBytes: 1,
    partsPlanned: 0,
    partRanges: [],
    copiedTo: BUCKET,
    bytes: 0,
    events: 0,
    checksum: "",
    confirmedAt: null,
  };
}

test("DE6: a split that is in work, waits or is held is left alone", async () => {
  const held = { heldBy: "operator" };
  const table: [SplitState, Partial<SplitRecord>][] = [
    ["DETECTED", {}],
    ["SPLITTING", { dueAt: START }],
    ["PARKED", { dueAt: START + 9 * HOUR }],
    ["FAILED", {}],
    ["INVALIDATED", held],
    ["REFUSED", held],
    ["COMPLETED", { ...held, segments: [segmentTo(BUCKET + 1)] }],
    // All of its bucket is split: a read of the original sees nothing new.
    ["COMPLETED", { segments: [segmentTo(BUCKET + HOUR)] }],
    // It is due soon in any case.
    ["COMPLETED", { segments: [segmentTo(BUCKET + 1)], dueAt: START + 50_000_000 }],
  ];
  for (const [state, change] of table) {
    const fixture = new Fixture();
    await fixture.handle();
    const left = await fixture.leave(state, change);
    fixture.clock.stepWall(2 * (state === "REFUSED" ? HOUR : 1));
    await fixture.handle({ bytes: 99_000_000 });
    assert.deepEqual(fixture.outcomes, ["recorded", "known"], state);
    assert.deepEqual(await fixture.records(), [left], state);
    assert.equal(fixture.nudged.length, 1);
  }
});

test("a split is due again when a read sees more outside of it", async () => {
  for (const dueAt of [null, START + HOUR]) {
    const fixture = new Fixture();
    await fixture.handle();
    const left = await fixture.leave("COMPLETED", { segments: [segmentTo(BUCKET + 1)], dueAt });
    await fixture.handle({ bytes: 12_000_000 });
    const [record] = await fixture.records();
    assert.ok(record);
    assert.deepEqual([record.state, record.dueAt], ["COMPLETED", START + 5]);
    assert.deepEqual([record.bytes, record.segments], [12_000_000, left.segments]);
    assert.equal(record.history.at(-1)?.cause, "detection");
    assert.deepEqual(fixture.outcomes, ["recorded", "again"]);
    assert.equal(fixture.nudged.length, 2);
  }
});

test("DE6: a refused split is detected again after an hour, or at twice the size", async () => {
  const fixture = new Fixture();
  await fixture.handle();
  await fixture.leave("REFUSED");
  await fixture.handle({ bytes: 21_999_999 });
  await fixture.handle({ bytes: 22_000_000 });
  const [record] = await fixture.records();
  assert.deepEqual(
    [record?.state, record?.dueAt, record?.bytes],
    ["DETECTED", START + 5, 22_000_000],
  );
  await fixture.leave("REFUSED");
  await fixture.handle({ events: 8_642, bytes: 1 });
  await fixture.leave("REFUSED");
  fixture.clock.stepWall(HOUR);
  await fixture.handle({ bytes: 1, events: 1 });
  fixture.clock.stepWall(1);
  await fixture.handle({ bytes: 1, events: 1 });
  assert.deepEqual(fixture.outcomes, ["recorded", "known", "again", "again", "known", "again"]);
});
