/**
 * What can fail in the middle of a copy, besides its worker: see `docs/specs/faults.md`.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  HOUR,
  MIDNIGHT,
  NAME,
  SplitScenario,
  TARGET_BYTES,
} from "../../../tests/scenarios/split-scenario.ts";
import { ServiceError } from "../../lib/errors.ts";
import { moveSplit } from "../record/move-split.ts";
import { readRoute } from "../../records/route-records.ts";
import { readSlices } from "../../records/slice-records.ts";
import { listDue } from "../../records/split-work.ts";
import type { NamespaceConfigPatch } from "../../model/merge-config.ts";
import type { PartitionKey } from "../../model/partition.ts";
import { splitTableOf } from "../../model/split.ts";
import type { SplitRecord, SplitState } from "../../model/split.ts";
import { inState } from "../../../tests/support/split-in-state.ts";

const TEN = MIDNIGHT + 10 * HOUR;
const EVENTS = 600;

function rests({ state, owner, dueAt }: SplitRecord): boolean {
  return state === "COMPLETED" && owner === null && dueAt === null;
}

interface Copying {
  readonly fixture: SplitScenario;
  readonly partition: PartitionKey;
  readonly record: SplitRecord;
}

/** In the middle of a copy: some parts are listed, others are not. */
async function copying(
  patch: NamespaceConfigPatch = {},
  options: { dropGraceMs?: number } = {},
): Promise<Copying> {
  const fixture = await SplitScenario.open(patch, options);
  await fixture.write({ events: EVENTS, bytes: 2_000, from: TEN, to: TEN + HOUR });
  const partition = await fixture.partitionAt(TEN);
  fixture.startWorker({ gate: () => fixture.clock.sleep(10) });
  await fixture.clock.advance(25_000);
  await fixture.detect(partition);
  for (let steps = 0; steps < 1_000; steps++) {
    const record = await fixture.record(partition);
    if ((record?.segments[0]?.events ?? 0) > EVENTS / 3 && record?.state === "SPLITTING") {
      return { fixture, partition, record };
    }
    await fixture.clock.advance(50);
  }
  throw new Error("it was never in the middle of a copy");
}

async function assertServed({ fixture, partition }: Copying): Promise<SplitRecord> {
  const record = await fixture.until(partition, rests, 900);
  // The route follows the record.
  await fixture.clock.advance(1_000);
  const { same, events } = await fixture.compare(partition);
  assert.deepEqual({ same, events }, { same: true, events: EVENTS });
  return record;
}

test("Q8, S12: a repeated detection, during the copy and after it, starts nothing", async () => {
  const there = await copying();
  const { fixture, partition, record } = there;
  for (let times = 0; times < 3; times++) await fixture.detect(partition);
  const during = await fixture.record(partition);
  assert.deepEqual([during?.fence, during?.state], [record.fence, "SPLITTING"]);
  const { nextGeneration, fence } = await assertServed(there);
  assert.deepEqual([nextGeneration, fence], [1, 1]);
  await fixture.detect(partition);
  await fixture.clock.advance(60_000);
  const { nextGeneration: later, segments } = await assertServed(there);
  assert.deepEqual([later, segments.length], [1, 1]);
  await fixture.close();
});

test("S16: a wall clock that steps by hours, either way, in the middle of a copy moves no range and no lease", async () => {
  for (const step of [3 * HOUR, -3 * HOUR]) {
    const there = await copying();
    const { fixture, partition, record } = there;
    fixture.clock.stepWall(step);
    await fixture.clock.advance(1_000);
    assert.equal((await fixture.record(partition))?.fence, record.fence);
    fixture.clock.stepWall(-step);
    const { segments, fence } = await assertServed(there);
    const [from, to] = [record.segments[0]?.from, record.segments[0]?.to];
    assert.deepEqual([segments[0]?.from, segments[0]?.to], [from, to]);
    assert.equal(fence, record.fence);
    await fixture.close();
  }
});

test("CP9, S17, C16: a full disk while parts are written parks the split, however often, and does not count as a failure", async () => {
  const there = await copying();
  const { fixture, partition } = there;
  fixture.store.before = (call, { slice }) => {
    if (call.startsWith("append") && slice.startsWith("wide_")) {
      throw new ServiceError("STORAGE_UNAVAILABLE", "no space left on device");
    }
  };
  const parked = await fixture.until(partition, ({ state }) => state === "PARKED");
  const { cause, reason = "" } = parked.history.at(-1) ?? {};
  assert.equal(cause, "outage");
  assert.ok(reason.includes("no space left on device"), reason);
  await fixture.clock.advance(1_800_000);
  const still = await fixture.record(partition);
  assert.deepEqual([still?.state, still?.failures], ["PARKED", 0]);
  assert.ok((still?.history.filter(({ to }) => to === "PARKED").length ?? 0) > 3);
  assert.equal((await readRoute(fixture.catalog, partition))?.segments.length ?? 0, 0);
  fixture.store.before = () => undefined;
  const { nextGeneration } = await assertServed(there);
  // The parts listed before the disk was full are part of it.
  assert.equal(nextGeneration, 1);
  await fixture.close();
});

test("CP12, S18: a pause in the middle of a copy keeps what is listed, and the copy continues from there", async () => {
  const there = await copying();
  const { fixture, partition } = there;
  await fixture.splits.pause(NAME, { by: "ada", reason: "busy" });
  const paused = await fixture.until(partition, ({ state }) => state === "PARKED");
  await fixture.clock.advance(60_000);
  assert.deepEqual((await fixture.record(partition))?.segments, paused.segments);
  await fixture.splits.resume(NAME);
  const { segments, nextGeneration } = await assertServed(there);
  const kept = paused.segments[0]?.partRanges[0];
  assert.ok(kept !== undefined && kept.count > 0);
  assert.deepEqual(segments[0]?.partRanges[0], kept);
  assert.equal(nextGeneration, 1);
  await fixture.close();
});

test("P11: a copy keeps its plan when part size and strategy change, and the next copy has the new ones", async () => {
  const there = await copying();
  const { fixture, record } = there;
  const widePartition = { targetBytes: 4 * TARGET_BYTES, bytesMax: 4 * TARGET_BYTES };
  const { namespaces } = fixture.control;
  await namespaces.update(NAME, { widePartition: { ...widePartition, strategy: "HASH" } }, []);
  const { segments } = await assertServed(there);
  const [planned] = record.segments;
  assert.deepEqual(
    segments.map(({ strategy, partBytes }) => [strategy, partBytes]),
    [[planned?.strategy, planned?.partBytes]],
  );
  const location = await fixture.placeAt(TEN);
  await fixture.splits.rollback(location, { by: "ada", reason: "" });
  await fixture.splits.retry(location, { by: "ada", reason: "" });
  const [again] = (await assertServed(there)).segments;
  assert.deepEqual([again?.strategy, again?.partBytes], ["HASH", 4 * TARGET_BYTES]);
  await fixture.close();
});

test("Q16: forged detections of what is small, or not there, cost one copy each and change no read", async () => {
  const fixture = await SplitScenario.open();
  await fixture.write({ events: 9, bytes: 100, from: TEN, to: TEN + HOUR });
  fixture.startWorker();
  const forged = { bytes: Number.MAX_SAFE_INTEGER, events: Number.MAX_SAFE_INTEGER };
  for (const [series, expected] of [
    [undefined, { events: 9, parts: 1 }],
    ["nobody", { events: 0, parts: 0 }],
  ] as const) {
    const partition = await fixture.partitionAt(TEN, series);
    for (let times = 0; times < 3; times++) await fixture.detect(partition, { forged });
    await fixture.until(partition, rests);
    await fixture.detect(partition, { forged });
    await fixture.clock.advance(60_000);
    const { nextGeneration, fence } = await fixture.until(partition, rests);
    assert.deepEqual([nextGeneration, fence], [1, 1]);
    const { same, events, parts } = await fixture.compare(partition);
    assert.deepEqual({ same, events, parts }, { same: true, ...expected });
  }
  await fixture.close();
});

test("during a pause of hours nothing is written and splits are rarely read, and work resumes within seconds", async () => {
  const there = await copying();
  const { fixture, partition } = there;
  await fixture.splits.pause(NAME, { by: "ada", reason: "busy" });
  const paused = await fixture.until(partition, ({ state }) => state === "PARKED");
  // Also for a split that is detected during the pause.
  await fixture.write({ series: "other", events: 300, bytes: 2_000, from: TEN, to: TEN + HOUR });
  const other = await fixture.partitionAt(TEN, "other");
  await fixture.detect(other);
  await fixture.clock.advance(30_000);
  const calls = { read: 0, written: 0 };
  fixture.catalog.before = (call, space) => {
    const isWork = space.startsWith("split-work/");
    if (call === "read" && (isWork || space.startsWith("splits/"))) calls.read++;
    if (call !== "read" && call !== "list" && (isWork || space.startsWith("splits/"))) {
      calls.written++;
    }
  };
  await fixture.clock.advance(2 * 3_600_000);
  fixture.catalog.before = () => undefined;
  assert.equal(calls.written, 0);
  // Two splits, an entry and a record of each, once a minute.
  assert.ok(calls.read <= 4 * 125, `${calls.read} reads`);
  assert.equal((await fixture.record(partition))?.version, paused.version);
  await fixture.splits.resume(NAME);
  await fixture.until(other, ({ state }) => state !== "DETECTED", 15);
  await assertServed(there);
  await fixture.close();
});

test("a route that was not published when its split was rolled back is published during a pause", async () => {
  const there = await copying();
  const { fixture, partition } = there;
  await assertServed(there);
  await fixture.splits.pause(NAME, { by: "ada", reason: "" });
  await fixture.detect(await fixture.partitionAt(TEN, "other"));
  await fixture.clock.advance(30_000);
  // Paused splits have just been read, and are not read again for a while.
  let looked = false;
  fixture.catalog.before = (call, space) => {
    looked ||= call === "read" && space.startsWith("splits/");
  };
  for (let seconds = 0; !looked && seconds < 120; seconds++) await fixture.clock.advance(1_000);
  assert.ok(looked);
  fixture.catalog.before = (call, space) => {
    if (call === "write" && space.startsWith("routes/")) {
      throw new ServiceError("STORAGE_UNAVAILABLE", "away");
    }
  };
  const location = await fixture.placeAt(TEN);
  await assert.rejects(fixture.splits.rollback(location, { by: "ada", reason: "" }));
  fixture.catalog.before = () => undefined;
  assert.equal((await readRoute(fixture.catalog, partition))?.segments.length, 1);
  await fixture.clock.advance(10_000);
  assert.deepEqual((await readRoute(fixture.catalog, partition))?.segments, []);
  await fixture.close();
});

test("CO5, C16: while the second read fails the split keeps its state and waits longer each time", async () => {
  const there = await copying();
  const { fixture, partition } = there;
  let failing = false;
  fixture.catalog.changed = (space, _before, after) => {
    if (!space.startsWith("splits/") || after === undefined) return;
    failing ||= (JSON.parse(after.value) as SplitRecord).state === "COMPLETED";
  };
  fixture.store.before = (call, { slice }) => {
    if (failing && call === "scan" && slice === partition.slice) {
      throw new ServiceError("STORAGE_UNAVAILABLE", "away");
    }
  };
  await fixture.until(partition, ({ state }) => state === "COMPLETED");
  await fixture.clock.advance(3_600_000);
  const still = await fixture.record(partition);
  assert.deepEqual([still?.state, still?.failures], ["COMPLETED", 0]);
  const outages = still?.history.filter(({ cause }) => cause === "outage");
  // 5 s, 10 s and so on up to five minutes: six, and then twelve an hour.
  const count = outages?.length ?? 0;
  assert.ok(count > 10 && count < 25, `${count} outages`);
  fixture.store.before = () => undefined;
  await assertServed(there);
  await fixture.close();
});

test("C17: an operator request is kept however long the history gets", async () => {
  const fixture = await SplitScenario.open({ widePartition: { detect: false } });
  await fixture.write({ events: EVENTS, bytes: 2_000, from: TEN, to: TEN + HOUR });
  const partition = await fixture.partitionAt(TEN);
  const { catalog, clock } = fixture;
  const moveOften = async (to: SplitState): Promise<SplitRecord> => {
    for (let times = 0; ; times++) {
      const record = await fixture.record(partition);
      assert.ok(record !== undefined);
      if (times === 60) return record;
      await moveSplit(catalog, clock, record, inState(record, to, {}, clock.nowMicros()));
    }
  };
  fixture.startWorker();
  await fixture.detect(partition);
  await fixture.until(partition, ({ state }) => state === "REFUSED");
  await moveOften("REFUSED");
  await fixture.splits.pause(NAME, { by: "ada", reason: "" });
  await fixture.splits.retry(await fixture.placeAt(TEN), { by: "ada", reason: "" });
  const { history } = await moveOften("PARKED");
  assert.ok(history.every(({ cause }) => cause !== "operator"));
  await fixture.splits.resume(NAME);
  const { askedBy, segments } = await fixture.until(partition, rests);
  assert.deepEqual([askedBy, segments.length], ["ada", 1]);
  await fixture.close();
});

test("a split that is made after its slice was dropped is removed, and not read again", async () => {
  const retention = { closeAfterMicros: 2 * HOUR, deleteAfterMicros: 3 * HOUR };
  const timePartition = { secondsPerTimeSlice: 10_800, secondsPerTimeBucket: 3_600 };
  const { fixture, partition } = await copying({ retention, timePartition });
  const { catalog, clock } = fixture;
  const late = await fixture.record(partition);
  assert.ok(late !== undefined);
  for (let minutes = 0; minutes < 600; minutes++) {
    const slices = await readSlices(catalog, partition.namespaceId);
    const slice = slices.find(({ name }) => name === partition.slice);
    if (slice === undefined || slice.storeDropped) break;
    await clock.advance(60_000);
  }
  await clock.advance(60_000);
  const owner = { by: "somebody who died", heartbeat: 0 };
  const made = { ...late, owner, version: 0, dueAt: clock.nowMicros() };
  assert.ok(await moveSplit(catalog, clock, undefined, made));
  await clock.advance(60_000);
  const left = catalog
    .dump()
    .filter((path) => /^(?:splits|routes|parts|split-slices)\//.test(path));
  assert.deepEqual(left, []);
  assert.deepEqual((await listDue(catalog, "split-work", clock.nowMicros(), 100)).due, []);
  await fixture.close();
});

test("CP16, S19: a slice that is dropped in the middle of a copy takes the split with it", async () => {
  const retention = { closeAfterMicros: 2 * HOUR, deleteAfterMicros: 3 * HOUR };
  const timePartition = { secondsPerTimeSlice: 10_800, secondsPerTimeBucket: 3_600 };
  const { fixture, partition } = await copying({ retention, timePartition });
  // The storage hangs until the slice is dropped.
  let hanging = true;
  const gone = Promise.withResolvers<void>();
  fixture.store.before = (call, { slice }) =>
    hanging && call.startsWith("append") && slice.startsWith("wide_") ? gone.promise : undefined;
  for (let minutes = 0; minutes < 600; minutes++) {
    const slices = await readSlices(fixture.catalog, partition.namespaceId);
    const slice = slices.find(({ name }) => name === partition.slice);
    if (slice === undefined || slice.storeDropped) break;
    await fixture.clock.advance(60_000);
  }
  hanging = false;
  gone.resolve();
  await fixture.clock.advance(120_000);
  assert.equal(await fixture.record(partition), undefined);
  assert.equal(await readRoute(fixture.catalog, partition), undefined);
  await assert.rejects(fixture.store.createSlice(splitTableOf(partition)));
  const now = fixture.clock.nowMicros();
  const { due } = await listDue(fixture.catalog, "split-work", now, 100);
  assert.deepEqual(
    due.filter((each) => each.partition.slice === partition.slice),
    [],
  );
  await fixture.close();
});

test("C18: the first split of a slice copies nothing before the table for its parts is made, and fails at nothing else", async () => {
  const fixture = await SplitScenario.open();
  await fixture.write({ events: EVENTS, bytes: 2_000, from: TEN, to: TEN + HOUR });
  const partition = await fixture.partitionAt(TEN);
  let appended = 0;
  fixture.store.before = (call, { slice }) => {
    if (call === "createSlice" && slice.startsWith("wide_")) {
      throw new ServiceError("STORAGE_UNAVAILABLE", "the nodes do not agree on the schema");
    }
    if (call.startsWith("append") && slice.startsWith("wide_")) appended++;
  };
  fixture.startWorker();
  await fixture.clock.advance(25_000);
  await fixture.detect(partition);
  const parked = await fixture.until(partition, ({ state }) => state === "PARKED");
  const newest = parked.segments.at(-1);
  assert.deepEqual([newest?.state, parked.failures, appended], ["PLANNED", 0, 0]);
  assert.equal(parked.history.at(-1)?.cause, "outage");
  fixture.store.before = () => undefined;
  const there = { fixture, partition, record: parked };
  const { nextGeneration } = await assertServed(there);
  // The plan from before is copied.
  assert.equal(nextGeneration, 1);
  await fixture.close();
});

for (const asName of ["", "other"]) {
  const how = asName === "" ? "restored" : "restored under another name";
  test(`C26: a namespace that is deleted in the middle of a copy and ${how} has its split finished`, async () => {
    const there = await copying({}, { dropGraceMs: 86_400_000 });
    const { fixture, partition, record } = there;
    const { namespaces } = fixture.control;
    await fixture.passWhile(namespaces.delete(NAME));
    await fixture.clock.advance(1_800_000);
    const during = await fixture.record(partition);
    assert.deepEqual([during?.segments.length, during?.owner], [1, null]);
    assert.equal(during?.history.at(-1)?.reason, "the namespace is deleted");
    await fixture.passWhile(namespaces.undelete({ name: NAME }, asName));
    const name = asName === "" ? NAME : asName;
    const [listed] = (
      await fixture.splits.list(name, { states: undefined, pageSize: 1, pageToken: "" })
    ).splits;
    assert.equal(listed?.record.namespace, name);
    const finished = await fixture.until(partition, rests, 900);
    assert.equal(finished.namespace, name);
    assert.equal(finished.segments[0]?.events, EVENTS);
    // Parts listed before the deletion were not copied again.
    assert.equal(finished.segments[0].generation, record.segments[0]?.generation);
    await fixture.close();
  });
}

test("S20: a namespace that is deleted in the middle of a copy leaves nothing of its splits", async () => {
  const { fixture, partition } = await copying();
  await fixture.passWhile(fixture.control.namespaces.delete(NAME));
  await fixture.clock.advance(120_000);
  const left = fixture.catalog.dump().filter((name) => /^(?:splits|routes|parts)\//.test(name));
  assert.deepEqual(left, []);
  const now = fixture.clock.nowMicros();
  assert.deepEqual((await listDue(fixture.catalog, "split-work", now, 100)).due, []);
  assert.equal(await fixture.record(partition), undefined);
  await fixture.close();
});
