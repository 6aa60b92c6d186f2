import assert from "node:assert/strict";
import { test } from "node:test";
import { MemoryCatalog } from "../../tests/support/memory-catalog.ts";
import { joinedSlices, staticView, viewSource } from "../../tests/support/static-view.ts";
import { VirtualClock } from "../../tests/support/virtual-clock.ts";
import { utf8 } from "../lib/bytes.ts";
import { ServiceError } from "../lib/errors.ts";
import { writeNamespace } from "../metadata/namespace-records.ts";
import { listSplits } from "../metadata/split-records.ts";
import type { SplitRecord } from "../metadata/split-records.ts";
import { detectionKey, encodeDetection } from "../model/detection.ts";
import type { Detection } from "../model/detection.ts";
import { DEFAULT_NAMESPACE_CONFIG } from "../model/namespace-config.ts";
import type { NamespaceView } from "../model/namespace.ts";
import { recordDetection } from "./record-detection.ts";

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

class World {
  readonly catalog = new MemoryCatalog();
  readonly clock = new VirtualClock(START + 5);
  readonly outcomes: string[] = [];
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

  async records(): Promise<SplitRecord[]> {
    const found: SplitRecord[] = [];
    const slice = { namespaceId: "plays-1", slice: "data_20260328" };
    for await (const record of listSplits(this.catalog, slice)) found.push(record);
    return found;
  }
}

test("a detection makes one record, however often it comes", async () => {
  const world = new World();
  assert.deepEqual(await world.handle(), { kind: "done" });
  await world.handle({ bytes: 12_000_000 });
  assert.deepEqual(world.outcomes, ["recorded", "known"]);
  const [record, ...others] = await world.records();
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
    state: "DETECTED",
    epoch: 1,
    bytes: 11_000_000,
    events: 4_321,
    immutable: true,
    detectedAt: START + 1,
    history: [
      {
        at: START + 5,
        by: "worker-1",
        from: null,
        to: "DETECTED",
        reason: "a read saw 11000000 bytes in 4321 events",
      },
    ],
  });
});

test("of two at once one makes the record, and both are done", async () => {
  const world = new World();
  await Promise.all([world.handle(), world.handle()]);
  assert.deepEqual(world.outcomes.toSorted(), ["known", "recorded"]);
  assert.equal((await world.records()).length, 1);
});

test("what cannot be decoded is malformed, and nothing else is", async () => {
  const world = new World();
  const handled = await world.handleBytes("{}");
  assert.equal(handled.kind, "malformed");
  assert.match(handled.why, /namespace: /);
  assert.deepEqual(world.outcomes, []);
});

test("what no longer applies does nothing, and is done", async () => {
  const world = new World();
  await world.handle({ epoch: 0 });
  await world.handle({ timeSlice: "data_20260327" });
  await world.handle({ timeBucket: 24 });
  const block = { seriesId: "profile:123", reason: "", expiresAt: undefined, blockedAt: 0 };
  const open = world.view;
  world.view = { ...open, blocked: new Map([["profile:123", { ...block, source: "API" }]]) };
  await world.handle();
  world.view = { ...open, namespace: { ...open.namespace, createdAt: DETECTION.detectedAt + 1 } };
  await world.handle();
  world.viewError = new ServiceError("NAMESPACE_NOT_FOUND", "gone");
  await world.handle();
  assert.deepEqual(world.outcomes, [
    "other epoch",
    "slice gone",
    "no such partition",
    "blocked",
    "namespace gone",
    "namespace gone",
  ]);
  assert.deepEqual(world.catalog.dump(), []);
});

test("an epoch ahead of the view is right if the catalog has it", async () => {
  const world = new World();
  await world.handle({ epoch: 2 });
  const { namespace } = world.view;
  await writeNamespace(world.catalog, {
    ...namespace,
    epoch: 2,
    phase: "READY",
    reopening: null,
    slicesChange: 0,
    changing: null,
    blockedChange: 0,
    blockedChanging: [],
    blockedCount: 0,
    version: 0,
  });
  await world.handle({ epoch: 2 });
  await world.handle({ epoch: 3 });
  assert.deepEqual(world.outcomes, ["other epoch", "recorded", "other epoch"]);
});

test("while the catalog fails the message comes again, and then is recorded", async () => {
  const world = new World();
  let failing = true;
  world.catalog.before = () => {
    if (failing) throw new ServiceError("STORAGE_UNAVAILABLE", "away");
  };
  await assert.rejects(world.handle(), { code: "STORAGE_UNAVAILABLE" });
  world.viewError = new ServiceError("STORAGE_UNAVAILABLE", "away");
  await assert.rejects(world.handle(), { code: "STORAGE_UNAVAILABLE" });
  failing = false;
  world.viewError = undefined;
  await world.handle();
  assert.deepEqual(world.outcomes, ["recorded"]);
});
