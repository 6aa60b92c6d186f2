import assert from "node:assert/strict";
import { test } from "node:test";
import { addSegment } from "../../../tests/property/split-building.ts";
import { ControlFixture, HOUR, NOON } from "../../../tests/support/control-fixture.ts";
import { moveSplit } from "../record/move-split.ts";
import { readReadyNamespace } from "../../records/namespace-records.ts";
import { readRoute } from "../../records/route-records.ts";
import { readSlice, writeSlice } from "../../records/slice-records.ts";
import { keyOf, spaceOf } from "../../records/split-spaces.ts";
import { readSplit } from "../../records/split-records.ts";
import { listDue } from "../../records/split-work.ts";
import type { PartitionKey } from "../../model/partition.ts";
import type { SplitLocation } from "../use-cases.ts";
import type { SplitRecord, SplitState } from "../../model/split.ts";
import { splitTableOf } from "../../model/split.ts";
import { splitIdOf } from "../../records/split-ids.ts";
import { writeKillSwitch } from "../record/kill-switch.ts";
import { Splits } from "./splits.ts";
import { inState } from "../../../tests/support/split-in-state.ts";

const SLICE = "data_20260328";
const BUCKET = NOON - HOUR;
const OPERATOR_REQUEST = { by: "alice", reason: "too slow" };

class Fixture {
  readonly control = new ControlFixture();
  readonly catalog = this.control.catalog;
  readonly clock = this.control.clock;
  readonly store = this.control.store;
  readonly nudged: string[] = [];
  readonly changed: string[] = [];
  readonly skipped: string[] = [];
  readonly splits = new Splits({
    catalog: this.catalog,
    clock: this.clock,
    nudge: ({ seriesId }) => void this.nudged.push(seriesId),
    unreadable: ({ key }) => void this.skipped.push(key),
    changed: ({ seriesId }) => void this.changed.push(seriesId),
    namespaceChanged: async (name) => void this.changed.push(name),
  });
  namespaceId = "";

  static async open(): Promise<Fixture> {
    const fixture = new Fixture();
    const { id } = await fixture.control.start().namespaces.create("plays", {});
    fixture.namespaceId = id;
    await fixture.store.createSlice(splitTableOf(fixture.partition()));
    return fixture;
  }

  location(change: Partial<SplitLocation> = {}): SplitLocation {
    const location = { namespace: "plays", timeSlice: SLICE, seriesId: "wide" };
    return { ...location, timeBucket: 11, eventBucket: 0, ...change };
  }

  partition(seriesId = "wide", slice = SLICE): PartitionKey {
    return { namespaceId: this.namespaceId, slice, seriesId, timeBucket: 11, eventBucket: 0 };
  }

  async record(seriesId = "wide"): Promise<SplitRecord> {
    const record = await readSplit(this.catalog, this.partition(seriesId));
    assert.ok(record);
    return record;
  }

  /** As other processes left it. */
  async leave(
    state: SplitState,
    change: Partial<SplitRecord> = {},
    seriesId = "wide",
  ): Promise<SplitRecord> {
    const before = await this.record(seriesId);
    const after = inState(before, state, { dueAt: null, ...change }, this.clock.nowMicros());
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

test("a request makes a record that a worker finds, with the operator and the reason", async () => {
  const fixture = await Fixture.open();
  const { record, parts } = await fixture.splits.request(fixture.location(), OPERATOR_REQUEST);
  const { state, bytes, events, epoch, dueAt, history, immutable } = record;
  const now = fixture.clock.nowMicros();
  assert.deepEqual(
    [state, bytes, events, epoch, dueAt, immutable],
    ["DETECTED", 0, 0, 0, now, false],
  );
  assert.deepEqual(history, [
    {
      at: now,
      by: "alice",
      from: null,
      to: "DETECTED",
      cause: "operator",
      reason: "requested: too slow",
      times: 1,
    },
  ]);
  assert.deepEqual(parts, []);
  assert.deepEqual([fixture.nudged, fixture.changed], [["wide"], ["wide"]]);
  const { due } = await listDue(fixture.catalog, "split-work", now, 10);
  assert.deepEqual(
    due.map(({ partition }) => partition),
    [fixture.partition()],
  );
  assert.deepEqual((await fixture.splits.get(fixture.location())).record, record);
});

test("a request for an impossible partition is refused", async () => {
  const fixture = await Fixture.open();
  const table: [Partial<SplitLocation>, string][] = [
    [{ namespace: "other" }, "NAMESPACE_NOT_FOUND"],
    [{ timeSlice: "data_19990101" }, "TIME_SLICE_NOT_FOUND"],
    [{ timeBucket: 24 }, "REQUEST_INVALID"],
    [{ timeBucket: -1 }, "REQUEST_INVALID"],
    [{ eventBucket: 1_024 }, "REQUEST_INVALID"],
    [{ eventBucket: 0.5 }, "REQUEST_INVALID"],
  ];
  for (const [change, code] of table) {
    await assert.rejects(fixture.splits.request(fixture.location(change), OPERATOR_REQUEST), {
      code,
    });
  }
  const slice = await readSlice(fixture.catalog, fixture.namespaceId, SLICE);
  assert.ok(slice);
  await writeSlice(fixture.catalog, fixture.namespaceId, { ...slice, state: "CLOSED" });
  await assert.rejects(fixture.splits.request(fixture.location(), OPERATOR_REQUEST), {
    code: "TIME_SLICE_NOT_FOUND",
  });
  for (const operatorRequest of ["get", "retry", "rollback"] as const) {
    await assert.rejects(fixture.splits[operatorRequest](fixture.location(), OPERATOR_REQUEST), {
      code: "SPLIT_NOT_FOUND",
    });
  }
});

const UNDER_WAY = ["DETECTED", "PLANNING", "PLANNED", "SPLITTING", "VALIDATING"] as const;

test("a request for an existing split makes it due, unless a worker has it", async () => {
  const owner = { by: "worker", heartbeat: 3 };
  for (const state of UNDER_WAY) {
    const fixture = await Fixture.open();
    await fixture.splits.request(fixture.location(), OPERATOR_REQUEST);
    const left = await fixture.leave(state, { owner });
    assert.deepEqual(
      (await fixture.splits.request(fixture.location(), OPERATOR_REQUEST)).record,
      left,
    );
    assert.deepEqual(
      (await fixture.splits.retry(fixture.location(), OPERATOR_REQUEST)).record,
      left,
    );
  }
  const confirming = await Fixture.open();
  await confirming.splits.request(confirming.location(), OPERATOR_REQUEST);
  const confirmed = await confirming.leave("COMPLETED", { owner });
  assert.deepEqual(
    (await confirming.splits.request(confirming.location(), OPERATOR_REQUEST)).record,
    confirmed,
  );
  for (const state of ["PARKED", "REFUSED", "FAILED", "INVALIDATED", "COMPLETED"] as const) {
    const fixture = await Fixture.open();
    await fixture.splits.request(fixture.location(), OPERATOR_REQUEST);
    await fixture.leave(state, { failures: 3, dueAt: NOON + HOUR });
    const { record } = await fixture.splits.request(fixture.location(), OPERATOR_REQUEST);
    assert.deepEqual([record.state, record.failures, record.dueAt], ["DETECTED", 0, NOON], state);
    assert.equal(record.history.at(-1)?.from, state);
  }
});

test("a split is served while more of it is requested", async () => {
  const fixture = await Fixture.open();
  await fixture.complete("wide", BUCKET + 10);
  const { record, parts } = await fixture.splits.request(fixture.location(), OPERATOR_REQUEST);
  assert.deepEqual([record.state, record.segments.length], ["DETECTED", 1]);
  assert.deepEqual(
    parts.map((listed) => listed.length),
    [2],
  );
  assert.equal((await readRoute(fixture.catalog, fixture.partition()))?.segments.length, 1);
  const whole = await fixture.complete("whole");
  const asked = await fixture.splits.request(
    fixture.location({ seriesId: "whole" }),
    OPERATOR_REQUEST,
  );
  assert.deepEqual(asked.record, whole);
});

test("K2, K4: a roll-back removes everything from use until a retry", async () => {
  const fixture = await Fixture.open();
  await fixture.complete();
  const left = await fixture.leave("COMPLETED", {
    owner: { by: "worker", heartbeat: 1 },
    dueAt: NOON,
  });
  const { record } = await fixture.splits.rollback(fixture.location(), OPERATOR_REQUEST);
  assert.deepEqual(
    [record.state, record.segments, record.owner, record.heldBy, record.dueAt, record.fence],
    ["INVALIDATED", [], null, "alice", null, left.fence + 1],
  );
  const { cause, by } = record.history.at(-1) ?? {};
  assert.deepEqual([cause, by], ["operator", "alice"]);
  assert.deepEqual((await readRoute(fixture.catalog, fixture.partition()))?.segments, []);
  assert.deepEqual((await listDue(fixture.catalog, "split-work", NOON + HOUR, 10)).due, []);
  assert.deepEqual(
    (await fixture.splits.rollback(fixture.location(), OPERATOR_REQUEST)).record,
    record,
  );
  const asked = fixture.splits.request(fixture.location(), OPERATOR_REQUEST);
  await assert.rejects(asked, { code: "REQUEST_INVALID" });
  const { record: again } = await fixture.splits.retry(fixture.location(), OPERATOR_REQUEST);
  assert.deepEqual([again.state, again.heldBy, again.dueAt], ["DETECTED", null, NOON]);
  assert.ok(again.nextPart >= left.nextPart && again.nextGeneration >= left.nextGeneration);
});

test("K3, C23: a roll-back is acknowledged only once its route is published, also when it is repeated", async () => {
  const fixture = await Fixture.open();
  await fixture.complete();
  const published = async (): Promise<number | undefined> =>
    (await readRoute(fixture.catalog, fixture.partition()))?.segments.length;
  fixture.catalog.before = (call, space) => {
    if (call === "write" && space.startsWith("routes/")) throw new Error("away");
  };
  for (let attempts = 0; attempts < 2; attempts++) {
    await assert.rejects(fixture.splits.rollback(fixture.location(), OPERATOR_REQUEST));
    assert.deepEqual([(await fixture.record()).state, await published()], ["INVALIDATED", 1]);
  }
  fixture.catalog.before = () => undefined;
  fixture.changed.length = 0;
  await fixture.splits.rollback(fixture.location(), OPERATOR_REQUEST);
  assert.deepEqual([await published(), fixture.changed], [0, ["wide"]]);
});

test("C23: a retry publishes the route that the roll-back before it could not", async () => {
  const fixture = await Fixture.open();
  await fixture.complete();
  fixture.catalog.before = (call, space) => {
    if (call === "write" && space.startsWith("routes/")) throw new Error("away");
  };
  await assert.rejects(fixture.splits.rollback(fixture.location(), OPERATOR_REQUEST));
  fixture.catalog.before = () => undefined;
  await fixture.splits.retry(fixture.location(), OPERATOR_REQUEST);
  assert.deepEqual((await readRoute(fixture.catalog, fixture.partition()))?.segments, []);
});

test("a retry restarts a split that stopped, and no other", async () => {
  for (const state of ["FAILED", "REFUSED", "PARKED", "INVALIDATED"] as const) {
    const fixture = await Fixture.open();
    await fixture.splits.request(fixture.location(), OPERATOR_REQUEST);
    const left = await fixture.leave(state, { failures: 3, heldBy: "bob" });
    const { record } = await fixture.splits.retry(fixture.location(), { by: "alice", reason: "" });
    assert.deepEqual([record.state, record.failures, record.heldBy], ["DETECTED", 0, null]);
    assert.deepEqual([record.dueAt, record.fence], [NOON, left.fence + 1]);
    assert.equal(record.history.at(-1)?.cause, "operator");
  }
  const fixture = await Fixture.open();
  await fixture.complete();
  const retry = fixture.splits.retry(fixture.location(), OPERATOR_REQUEST);
  await assert.rejects(retry, { code: "REQUEST_INVALID" });
});

test("K6, N8, S24: a worker that writes at the same time does not overwrite the operator's request", async () => {
  const fixture = await Fixture.open();
  await fixture.splits.request(fixture.location(), OPERATOR_REQUEST);
  await fixture.leave("SPLITTING", { owner: { by: "worker", heartbeat: 0 } });
  let heartbeats = 3;
  fixture.catalog.before = async (call, space) => {
    if (call !== "write" || !space.startsWith("splits/") || heartbeats-- <= 0) return;
    const { catalog } = fixture;
    const before = catalog.before;
    catalog.before = () => undefined;
    const record = await fixture.record();
    const owner = { by: "worker", heartbeat: 9 - heartbeats };
    await moveSplit(catalog, fixture.clock, record, { ...record, owner });
    catalog.before = before;
  };
  const { record } = await fixture.splits.rollback(fixture.location(), OPERATOR_REQUEST);
  assert.deepEqual([record.state, record.owner], ["INVALIDATED", null]);
  assert.equal(heartbeats, -1);
});

test("C28: a record that cannot be decoded is left out of lists and reported, and a request for it fails", async () => {
  const fixture = await Fixture.open();
  for (const seriesId of ["a", "b", "c", "wide"]) {
    await fixture.splits.request(fixture.location({ seriesId }), OPERATOR_REQUEST);
  }
  const { catalog } = fixture;
  const [space, key] = [spaceOf("splits", fixture.partition()), keyOf(fixture.partition())];
  await catalog.write(space, key, "{", (await fixture.record()).version);
  for (const pageSize of [1, 2, 10]) {
    for (const states of [undefined, new Set(["DETECTED"] as const)]) {
      const listed: string[] = [];
      let unreadable = 0;
      for (let pageToken = ""; ;) {
        const page = await fixture.splits.list("plays", { states, pageSize, pageToken });
        listed.push(...page.splits.map(({ record }) => record.partition.seriesId));
        unreadable += page.unreadable;
        if (page.nextPageToken === "") break;
        pageToken = page.nextPageToken;
      }
      assert.deepEqual(listed.toSorted(), ["a", "b", "c"]);
      assert.equal(unreadable, 1, `pages of ${pageSize}`);
    }
  }
  assert.deepEqual(
    fixture.skipped,
    Array.from({ length: 6 }, () => key),
  );
  const all = { states: undefined, pageSize: 10, pageToken: "" };
  await catalog.write("namespaces", "other", "{", 0);
  assert.equal((await fixture.splits.list("", all)).unreadable, 2);
  await assert.rejects(fixture.splits.get(fixture.location()), { code: "DATA_LOSS" });
});

test("the newest list begins with the split that moved last, over all namespaces, in some states", async () => {
  const fixture = await Fixture.open();
  for (const seriesId of ["a", "b", "c"]) {
    await fixture.clock.advance(1_000);
    await fixture.splits.request(fixture.location({ seriesId }), OPERATOR_REQUEST);
  }
  await fixture.leave("REFUSED", {}, "b");
  const newest = async (states: ReadonlySet<SplitState> | undefined, pageSize: number) => {
    const page = await fixture.splits.newest("", { states, pageSize });
    assert.deepEqual([page.nextPageToken, page.examinedAll], ["", true]);
    return page.splits.map(({ record, bucket }) => {
      assert.equal(record.namespace, "plays");
      assert.ok(bucket);
      return record.partition.seriesId;
    });
  };
  assert.deepEqual(await newest(new Set(["DETECTED"]), 10), ["c", "a"]);
  assert.deepEqual(await newest(new Set(["DETECTED"]), 1), ["c"]);
  assert.deepEqual(await newest(new Set(["REFUSED", "FAILED"]), 10), ["b"]);
  assert.equal((await newest(undefined, 10)).length, 3);
  await assert.rejects(fixture.splits.newest("nowhere", { states: undefined, pageSize: 1 }), {
    code: "NAMESPACE_NOT_FOUND",
  });
});

test("the newest list leaves out and counts a record that cannot be decoded", async () => {
  const fixture = await Fixture.open();
  for (const seriesId of ["a", "wide"]) {
    await fixture.splits.request(fixture.location({ seriesId }), OPERATOR_REQUEST);
  }
  const [space, key] = [spaceOf("splits", fixture.partition()), keyOf(fixture.partition())];
  await fixture.catalog.write(space, key, "{", (await fixture.record()).version);
  const page = await fixture.splits.newest("plays", { states: undefined, pageSize: 10 });
  assert.deepEqual([page.splits.length, page.unreadable], [1, 1]);
  assert.deepEqual(fixture.skipped, [key]);
});

test("N7: lists are paged over slices, and by state", async () => {
  const fixture = await Fixture.open();
  const other = "data_20260329";
  const ids = Array.from({ length: 7 }, (_, nth) => `id-${nth}`);
  for (const seriesId of ids)
    await fixture.splits.request(fixture.location({ seriesId }), OPERATOR_REQUEST);
  for (const seriesId of ["x", "y"]) {
    await fixture.splits.request(
      fixture.location({ seriesId, timeSlice: other }),
      OPERATOR_REQUEST,
    );
  }
  await fixture.leave("REFUSED", {}, "id-2");
  await fixture.leave("REFUSED", {}, "id-5");
  const all = async (state: SplitState | undefined, pageSize: number): Promise<string[]> => {
    const found: string[] = [];
    let pageToken = "";
    do {
      const states = state && new Set([state]);
      const page = await fixture.splits.list("plays", { states, pageSize, pageToken });
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
  const options = { states: undefined, pageSize: 1 };
  for (const pageToken of ["x", "%%%", Buffer.from("no bar").toString("base64url")]) {
    const page = fixture.splits.list("plays", { ...options, pageToken });
    await assert.rejects(page, { code: "PAGE_TOKEN_INVALID" });
  }
});

test("the splits of all namespaces are listed page by page, except those of a namespace deleted meanwhile", async () => {
  const fixture = await Fixture.open();
  const { namespaces } = fixture.control.start();
  await namespaces.create("ads", {});
  await namespaces.create("clicks", {});
  await namespaces.create("zones", {});
  const wanted: string[] = [];
  for (const namespace of ["ads", "plays", "zones"]) {
    for (const timeSlice of [SLICE, "data_20260329"]) {
      for (const seriesId of ["a", "b"]) {
        await fixture.splits.request(
          fixture.location({ namespace, timeSlice, seriesId }),
          OPERATOR_REQUEST,
        );
        wanted.push(`${namespace} ${timeSlice} ${seriesId}`);
      }
    }
  }
  await fixture.splits.pause("zones", OPERATOR_REQUEST);
  await writeKillSwitch(fixture.catalog, { on: true, at: NOON, ...OPERATOR_REQUEST });
  for (const pageSize of [1, 2, 3, 5, 100]) {
    const found: string[] = [];
    const paused = new Set<string>();
    let pageToken = "";
    do {
      const page = await fixture.splits.list("", { states: undefined, pageSize, pageToken });
      assert.equal(page.killSwitch.on, true);
      for (const { namespace } of page.paused) paused.add(namespace);
      for (const { record, bucket } of page.splits) {
        const { slice, seriesId } = record.partition;
        found.push(`${record.namespace} ${slice} ${seriesId}`);
        const start = slice === SLICE ? BUCKET : BUCKET + 24 * HOUR;
        assert.deepEqual(bucket, { start, end: start + HOUR });
      }
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
    assert.deepEqual(found.toSorted(), wanted.toSorted());
    assert.deepEqual(
      found.map((text) => text.split(" ", 1)[0]),
      wanted.map((text) => text.split(" ", 1)[0]),
    );
    assert.deepEqual([...paused], ["zones"]);
  }
  // A token of a namespace that was deleted continues with the next one.
  const options = { states: undefined, pageSize: 1 };
  const { nextPageToken } = await fixture.splits.list("", { ...options, pageToken: "" });
  await namespaces.delete("ads");
  const { splits } = await fixture.splits.list("", { ...options, pageToken: nextPageToken });
  assert.equal(splits[0]?.record.namespace, "plays");
  // It is not valid for another list.
  const other = fixture.splits.list("plays", { ...options, pageToken: nextPageToken });
  await assert.rejects(other, { code: "PAGE_TOKEN_INVALID" });
});

test("a split is found by its id, and an unknown id is not", async () => {
  const fixture = await Fixture.open();
  for (const seriesId of ["wide", "a", "b"]) {
    await fixture.splits.request(fixture.location({ seriesId }), OPERATOR_REQUEST);
  }
  const splitId = splitIdOf(fixture.partition());
  assert.deepEqual(await fixture.splits.locate("plays", splitId), fixture.location());
  await assert.rejects(fixture.splits.locate("plays", "zzzzzzzzzz"), { code: "SPLIT_NOT_FOUND" });
  await assert.rejects(fixture.splits.locate("other", splitId), { code: "NAMESPACE_NOT_FOUND" });
});

test("a request for a partition without events makes no record", async () => {
  const fixture = await Fixture.open();
  const asked: string[] = [];
  const splits = new Splits({
    catalog: fixture.catalog,
    clock: fixture.clock,
    holdsEvents: async ({ seriesId }) => {
      asked.push(seriesId);
      return seriesId === "wide";
    },
  });
  await assert.rejects(splits.request(fixture.location({ seriesId: "wdie" }), OPERATOR_REQUEST), {
    code: "PARTITION_NOT_FOUND",
  });
  const { splits: listed } = await splits.list("", {
    states: undefined,
    pageSize: 9,
    pageToken: "",
  });
  assert.deepEqual(listed, []);
  await splits.request(fixture.location(), { ...OPERATOR_REQUEST, force: true });
  assert.equal((await fixture.record()).forced, true);
  // A partition with a record was checked before.
  await splits.request(fixture.location(), OPERATOR_REQUEST);
  assert.deepEqual(asked, ["wdie", "wide"]);
});

test("a namespace is paused for a reason, once, and continues when it is resumed", async () => {
  const fixture = await Fixture.open();
  const paused = async () => (await readReadyNamespace(fixture.catalog, "plays")).splitsPaused;
  const pause = { namespace: "plays", at: NOON, ...OPERATOR_REQUEST };
  const first = await fixture.splits.pause("plays", OPERATOR_REQUEST);
  assert.deepEqual(first, { pause, wasPaused: false });
  await fixture.clock.advance(1_000);
  const second = await fixture.splits.pause("plays", { by: "bob", reason: "another" });
  assert.deepEqual(second, { pause, wasPaused: true });
  assert.deepEqual(await paused(), { at: NOON, ...OPERATOR_REQUEST });
  const options = { states: undefined, pageSize: 1, pageToken: "" };
  assert.deepEqual((await fixture.splits.list("plays", options)).paused, [pause]);
  assert.equal(await fixture.splits.resume("plays"), true);
  assert.equal(await paused(), null);
  assert.deepEqual(fixture.changed, ["plays", "plays", "plays"]);
  await assert.rejects(fixture.splits.pause("other", OPERATOR_REQUEST), {
    code: "NAMESPACE_NOT_FOUND",
  });
});
