import assert from "node:assert/strict";
import { test } from "node:test";
import { joinedSlices, staticView } from "../../../tests/support/static-view.ts";
import { VirtualClock } from "../../../tests/support/virtual-clock.ts";
import { decodeDetection } from "../../model/detection.ts";
import { DEFAULT_NAMESPACE_CONFIG } from "../../model/namespace-config.ts";
import type { NamespaceView } from "../../model/namespace.ts";
import type { PublishOutcome, QueueMessage } from "../../ports/work-queue.ts";
import { detectWide } from "./detect-wide.ts";
import type { ReadWidth } from "./detect-wide.ts";
import { DetectionEmitter } from "./detection-emitter.ts";

const START = Date.UTC(2026, 2, 28) * 1000;
const HOUR = 3_600_000_000;
const { widePartition, retention } = DEFAULT_NAMESPACE_CONFIG;

function viewWith(options: Partial<Parameters<typeof staticView>[0]> = {}): NamespaceView {
  const [slice] = joinedSlices(START, [DEFAULT_NAMESPACE_CONFIG.timePartition]);
  assert.ok(slice);
  return staticView({ slices: [{ ...slice, name: "data_20260328" }], ...options });
}

function readOf(seriesId: string, bytes: number, events = 1): ReadWidth {
  const partition = { namespaceId: "plays-1", slice: "data_20260328", timeBucket: 7 };
  return { partition: { ...partition, seriesId, eventBucket: 0 }, bytes, events };
}

const WIDE = readOf("wide", widePartition.bytesMax + 1);

test("a partition is wide above the limit in bytes or in events, not at it", () => {
  const view = viewWith();
  const { bytesMax, eventsMax } = widePartition;
  assert.equal(detectWide(readOf("id", bytesMax, eventsMax), view, START), "narrow");
  assert.equal(typeof detectWide(readOf("id", bytesMax + 1, 1), view, START), "object");
  assert.equal(typeof detectWide(readOf("id", 1, eventsMax + 1), view, START), "object");
});

test("it is immutable when the floor has passed the end of its bucket", () => {
  const bucketEnd = START + 8 * HOUR;
  for (const [floor, immutable] of [
    [bucketEnd, true],
    [bucketEnd - 1, false],
  ] as const) {
    const found = detectWide(WIDE, viewWith({ floor }), START);
    assert.ok(typeof found === "object");
    assert.equal(found.immutable, immutable);
    assert.equal(found.epoch, 1);
  }
});

test("DE5, DE9: a partition that is not worth a split is not reported, and the reason is counted", () => {
  const off = { widePartition: { ...widePartition, detect: false } };
  assert.equal(detectWide(WIDE, viewWith({ config: off }), START), "off");
  assert.equal(detectWide(WIDE, viewWith({ slices: [] }), START), "gone");
  const closesAt = START + 24 * HOUR + retention.closeAfterMicros;
  assert.equal(detectWide(WIDE, viewWith(), closesAt - HOUR), "expiring");
  assert.equal(typeof detectWide(WIDE, viewWith(), closesAt - HOUR - 1), "object");
  const block = { seriesId: "wide", reason: "", blockedAt: 0, source: "API" as const };
  const until = { ...block, expiresAt: START + 1 };
  assert.equal(detectWide(WIDE, viewWith({ blocked: [until] }), START), "blocked");
  assert.equal(typeof detectWide(WIDE, viewWith({ blocked: [until] }), START + 1), "object");
});

test("DE9: a slice with a short life counts as expiring for only a share of it", () => {
  const short = { ...retention, closeAfterMicros: HOUR };
  const view = viewWith({ config: { retention: short } });
  const closesAt = START + 24 * HOUR + HOUR;
  assert.equal(detectWide(WIDE, view, closesAt - HOUR / 10), "expiring");
  assert.equal(typeof detectWide(WIDE, view, closesAt - HOUR / 10 - 1), "object");
});

class EmitterFixture {
  readonly clock = new VirtualClock(START);
  readonly published: QueueMessage[] = [];
  readonly outcomes: string[] = [];
  answer: PublishOutcome = "accepted";

  emitter(rememberedMax = 10): DetectionEmitter {
    return new DetectionEmitter({
      clock: this.clock,
      publish: (message) => {
        this.published.push(message);
        return this.answer;
      },
      observe: (namespace, outcome) => {
        assert.equal(namespace, "plays");
        this.outcomes.push(outcome);
      },
      rememberedMax,
    });
  }
}

test("DE1: a partition is emitted once in a window, and again in the next", async () => {
  const fixture = new EmitterFixture();
  const emitter = fixture.emitter();
  emitter.note(WIDE, viewWith());
  emitter.note(WIDE, viewWith());
  await fixture.clock.advance(600_000 - 1);
  emitter.note(WIDE, viewWith());
  await fixture.clock.advance(1);
  emitter.note(WIDE, viewWith());
  assert.deepEqual(fixture.outcomes, ["emitted", "repeated", "repeated", "emitted"]);
  const [message] = fixture.published;
  assert.ok(message);
  assert.equal(message.key, "plays|data_20260328|wide|7|0");
  const decoded = decodeDetection(message.value);
  assert.equal(decoded.kind, "detection");
});

test("another epoch and another namespace of the same name start over", () => {
  const fixture = new EmitterFixture();
  const emitter = fixture.emitter();
  const view = viewWith();
  emitter.note(WIDE, view);
  emitter.note(WIDE, { ...view, namespace: { ...view.namespace, epoch: 2 } });
  emitter.note(WIDE, { ...view, namespace: { ...view.namespace, id: "plays-2" } });
  assert.deepEqual(fixture.outcomes, ["emitted", "emitted", "emitted"]);
});

test("DE2, Q3: the next read repeats a dropped detection", () => {
  const fixture = new EmitterFixture();
  const emitter = fixture.emitter();
  fixture.answer = "dropped";
  emitter.note(WIDE, viewWith());
  fixture.answer = "accepted";
  emitter.note(WIDE, viewWith());
  assert.deepEqual(fixture.outcomes, ["dropped", "emitted"]);
});

test("the memory of detections is bounded: the oldest is forgotten", () => {
  const fixture = new EmitterFixture();
  const emitter = fixture.emitter(2);
  for (const id of ["a", "b", "c", "b", "a"]) {
    emitter.note(readOf(id, widePartition.bytesMax + 1), viewWith());
  }
  assert.deepEqual(fixture.outcomes, ["emitted", "emitted", "emitted", "repeated", "emitted"]);
});

test("a narrow partition is neither published nor counted, and a refused one is counted", () => {
  const fixture = new EmitterFixture();
  const emitter = fixture.emitter();
  emitter.note(readOf("id", 1), viewWith());
  emitter.note(WIDE, viewWith({ slices: [] }));
  assert.deepEqual(fixture.published, []);
  assert.deepEqual(fixture.outcomes, ["gone"]);
});
