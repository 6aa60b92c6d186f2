import assert from "node:assert/strict";
import { test } from "node:test";
import { addSegment } from "../../../tests/property/split-building.ts";
import { ControlWorld, HOUR, NOON } from "../../../tests/support/control-world.ts";
import { moveSplit } from "../record/move-split.ts";
import { readReadyNamespace } from "../../records/namespace-records.ts";
import { readRoute } from "../../records/route-records.ts";
import { readSlice, writeSlice } from "../../records/slice-records.ts";
import { readSplit } from "../../records/split-records.ts";
import { listDue } from "../../records/split-work.ts";
import type { PartitionKey } from "../../model/partition.ts";
import type { SplitPlace } from "../use-cases.ts";
import { movedSplit } from "../../model/split-moves.ts";
import type { SplitRecord, SplitState } from "../../model/split.ts";
import { splitTableOf } from "../../model/split.ts";
import { Splits } from "./splits.ts";

const SLICE = "data_20260328";
const BUCKET = NOON - HOUR;
const WISH = { by: "alice", reason: "too slow" };

class World {
  readonly control = new ControlWorld();
  readonly catalog = this.control.catalog;
  readonly clock = this.control.clock;
  readonly store = this.control.store;
  readonly nudged: string[] = [];
  readonly changed: string[] = [];
  readonly splits = new Splits({
    catalog: this.catalog,
    clock: this.clock,
    nudge: ({ seriesId }) => void this.nudged.push(seriesId),
    changed: ({ seriesId }) => void this.changed.push(seriesId),
    namespaceChanged: async (name) => void this.changed.push(name),
  });
  namespaceId = "";

  static async open(): Promise<World> {
    const world = new World();
    const { id } = await world.control.start().namespaces.create("plays", {});
    world.namespaceId = id;
    await world.store.createSlice(splitTableOf(world.partition()));
    return world;
  }

  place(change: Partial<SplitPlace> = {}): SplitPlace {
    const place = { namespace: "plays", timeSlice: SLICE, seriesId: "wide" };
    return { ...place, timeBucket: 11, eventBucket: 0, ...change };
  }

  partition(seriesId = "wide", slice = SLICE): PartitionKey {
    return { namespaceId: this.namespaceId, slice, seriesId, timeBucket: 11, eventBucket: 0 };
  }

  async record(seriesId = "wide"): Promise<SplitRecord> {
    const record = await readSplit(this.catalog, this.partition(seriesId));
    assert.ok(record);
    return record;
  }

  /** As others have left it. */
  async leave(
    state: SplitState,
    change: Partial<SplitRecord> = {},
    seriesId = "wide",
  ): Promise<SplitRecord> {
    const before = await this.record(seriesId);
    const why = { at: this.clock.nowMicros(), by: "worker", reason: "a test" };
    const after = movedSplit(before, state, why, { dueAt: null, ...change });
    const moved = await moveSplit(this.catalog, this.clock, before, after);
    assert.ok(moved);
    return moved;
  }

  complete(seriesId = "wide", to = BUCKET + HOUR): Promise<SplitRecord> {
    const shape = { from: BUCKET, to, cuts: [BUCKET + 5], hashParts: 0, confirmed: true };
    const layout = "PACKED" as const;
    return addSegment(this, this.partition(seriesId), { ...shape, layout }, 0);
  }
}

test("a request makes a record that a worker finds, and says who and why", async () => {
  const world = await World.open();
  const { record, parts } = await world.splits.request(world.place(), WISH);
  const { state, bytes, events, epoch, dueAt, history, immutable } = record;
  const now = world.clock.nowMicros();
  assert.deepEqual(
    [state, bytes, events, epoch, dueAt, immutable],
    ["DETECTED", 0, 0, 0, now, false],
  );
  assert.deepEqual(history, [
    { at: now, by: "alice", from: null, to: "DETECTED", reason: "requested: too slow" },
  ]);
  assert.deepEqual(parts, []);
  assert.deepEqual([world.nudged, world.changed], [["wide"], ["wide"]]);
  const due = await listDue(world.catalog, now, 10);
  assert.deepEqual(
    due.map(({ partition }) => partition),
    [world.partition()],
  );
  assert.deepEqual((await world.splits.get(world.place())).record, record);
});

test("a request for what cannot be is refused", async () => {
  const world = await World.open();
  const table: [Partial<SplitPlace>, string][] = [
    [{ namespace: "other" }, "NAMESPACE_NOT_FOUND"],
    [{ timeSlice: "data_19990101" }, "TIME_SLICE_NOT_FOUND"],
    [{ timeBucket: 24 }, "REQUEST_INVALID"],
    [{ timeBucket: -1 }, "REQUEST_INVALID"],
    [{ eventBucket: 1_024 }, "REQUEST_INVALID"],
    [{ eventBucket: 0.5 }, "REQUEST_INVALID"],
  ];
  for (const [change, code] of table) {
    await assert.rejects(world.splits.request(world.place(change), WISH), { code });
  }
  const slice = await readSlice(world.catalog, world.namespaceId, SLICE);
  assert.ok(slice);
  await writeSlice(world.catalog, world.namespaceId, { ...slice, state: "CLOSED" });
  await assert.rejects(world.splits.request(world.place(), WISH), { code: "TIME_SLICE_NOT_FOUND" });
  for (const wish of ["get", "retry", "rollback"] as const) {
    await assert.rejects(world.splits[wish](world.place(), WISH), { code: "SPLIT_NOT_FOUND" });
  }
});

const UNDER_WAY = ["DETECTED", "PLANNING", "PLANNED", "SPLITTING", "VALIDATING"] as const;

test("a request for what is there looks at it again, unless somebody is at it", async () => {
  const owner = { by: "worker", beat: 3 };
  for (const state of UNDER_WAY) {
    const world = await World.open();
    await world.splits.request(world.place(), WISH);
    const left = await world.leave(state, { owner });
    assert.deepEqual((await world.splits.request(world.place(), WISH)).record, left);
    assert.deepEqual((await world.splits.retry(world.place(), WISH)).record, left);
  }
  const confirming = await World.open();
  await confirming.splits.request(confirming.place(), WISH);
  const confirmed = await confirming.leave("COMPLETED", { owner });
  assert.deepEqual((await confirming.splits.request(confirming.place(), WISH)).record, confirmed);
  for (const state of ["PARKED", "REFUSED", "FAILED", "INVALIDATED", "COMPLETED"] as const) {
    const world = await World.open();
    await world.splits.request(world.place(), WISH);
    await world.leave(state, { failures: 3, dueAt: NOON + HOUR });
    const { record } = await world.splits.request(world.place(), WISH);
    assert.deepEqual([record.state, record.failures, record.dueAt], ["DETECTED", 0, NOON], state);
    assert.equal(record.history.at(-1)?.from, state);
  }
});

test("what is split goes on being served while more of it is asked for", async () => {
  const world = await World.open();
  await world.complete("wide", BUCKET + 10);
  const { record, parts } = await world.splits.request(world.place(), WISH);
  assert.deepEqual([record.state, record.segments.length], ["DETECTED", 1]);
  assert.deepEqual(
    parts.map((listed) => listed.length),
    [2],
  );
  assert.equal((await readRoute(world.catalog, world.partition()))?.segments.length, 1);
  const whole = await world.complete("whole");
  const asked = await world.splits.request(world.place({ seriesId: "whole" }), WISH);
  assert.deepEqual(asked.record, whole);
});

test("a roll-back takes everything back and stays until a retry", async () => {
  const world = await World.open();
  await world.complete();
  const left = await world.leave("COMPLETED", { owner: { by: "worker", beat: 1 }, dueAt: NOON });
  const { record } = await world.splits.rollback(world.place(), WISH);
  assert.deepEqual(
    [record.state, record.segments, record.owner, record.heldBy, record.dueAt, record.fence],
    ["INVALIDATED", [], null, "alice", null, left.fence + 1],
  );
  assert.equal(record.history.at(-1)?.reason, "rolled back: too slow");
  assert.deepEqual((await readRoute(world.catalog, world.partition()))?.segments, []);
  assert.deepEqual(await listDue(world.catalog, NOON + HOUR, 10), []);
  assert.deepEqual((await world.splits.rollback(world.place(), WISH)).record, record);
  const asked = world.splits.request(world.place(), WISH);
  await assert.rejects(asked, {
    code: "REQUEST_INVALID",
    message: /held \(alice\) until it is retried/,
  });
  const { record: again } = await world.splits.retry(world.place(), WISH);
  assert.deepEqual([again.state, again.heldBy, again.dueAt], ["DETECTED", null, NOON]);
  assert.ok(again.nextPart >= left.nextPart && again.nextGeneration >= left.nextGeneration);
});

test("a retry lets what came to a stop begin anew, and nothing else", async () => {
  for (const state of ["FAILED", "REFUSED", "PARKED", "INVALIDATED"] as const) {
    const world = await World.open();
    await world.splits.request(world.place(), WISH);
    const left = await world.leave(state, { failures: 3, heldBy: "bob" });
    const { record } = await world.splits.retry(world.place(), { by: "alice", reason: "" });
    assert.deepEqual([record.state, record.failures, record.heldBy], ["DETECTED", 0, null]);
    assert.deepEqual([record.dueAt, record.fence], [NOON, left.fence + 1]);
    assert.equal(record.history.at(-1)?.reason, "retried");
  }
  const world = await World.open();
  await world.complete();
  const retry = world.splits.retry(world.place(), WISH);
  await assert.rejects(retry, { code: "REQUEST_INVALID", message: /nothing to retry/ });
});

test("S24: a worker that writes at the same time does not lose the operator's word", async () => {
  const world = await World.open();
  await world.splits.request(world.place(), WISH);
  await world.leave("SPLITTING", { owner: { by: "worker", beat: 0 } });
  let beats = 3;
  world.catalog.before = async (call, space) => {
    if (call !== "write" || !space.startsWith("splits/") || beats-- <= 0) return;
    const { catalog } = world;
    const before = catalog.before;
    catalog.before = () => undefined;
    const record = await world.record();
    const owner = { by: "worker", beat: 9 - beats };
    await moveSplit(catalog, world.clock, record, { ...record, owner });
    catalog.before = before;
  };
  const { record } = await world.splits.rollback(world.place(), WISH);
  assert.deepEqual([record.state, record.owner], ["INVALIDATED", null]);
  assert.equal(beats, -1);
});

test("lists are paged over slices, and by state", async () => {
  const world = await World.open();
  const other = "data_20260329";
  const ids = Array.from({ length: 7 }, (_, nth) => `id-${nth}`);
  for (const seriesId of ids) await world.splits.request(world.place({ seriesId }), WISH);
  for (const seriesId of ["x", "y"]) {
    await world.splits.request(world.place({ seriesId, timeSlice: other }), WISH);
  }
  await world.leave("REFUSED", {}, "id-2");
  await world.leave("REFUSED", {}, "id-5");
  const all = async (state: SplitState | undefined, pageSize: number): Promise<string[]> => {
    const found: string[] = [];
    let pageToken = "";
    do {
      const page = await world.splits.list("plays", { state, pageSize, pageToken });
      assert.ok(page.splits.length <= pageSize);
      found.push(...page.splits.map(({ record }) => record.partition.seriesId));
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
    return found;
  };
  for (const pageSize of [1, 3, 100]) {
    const found = await all(undefined, pageSize);
    assert.deepEqual(found.slice(0, 7).toSorted(), ids);
    assert.deepEqual(found.slice(7).toSorted(), ["x", "y"]);
    assert.deepEqual((await all("REFUSED", pageSize)).toSorted(), ["id-2", "id-5"]);
    assert.deepEqual(await all("FAILED", pageSize), []);
  }
  const options = { state: undefined, pageSize: 1 };
  for (const pageToken of ["x", "%%%", Buffer.from("no bar").toString("base64url")]) {
    const page = world.splits.list("plays", { ...options, pageToken });
    await assert.rejects(page, { code: "PAGE_TOKEN_INVALID" });
  }
});

test("a namespace is paused for a reason, once, and goes on when told", async () => {
  const world = await World.open();
  const paused = async () => (await readReadyNamespace(world.catalog, "plays")).splitsPaused;
  await world.splits.pause("plays", WISH);
  await world.splits.pause("plays", { by: "bob", reason: "another" });
  assert.deepEqual(await paused(), { at: NOON, ...WISH });
  await world.splits.resume("plays");
  assert.equal(await paused(), null);
  assert.deepEqual(world.changed, ["plays", "plays", "plays"]);
  await assert.rejects(world.splits.pause("other", WISH), { code: "NAMESPACE_NOT_FOUND" });
});
