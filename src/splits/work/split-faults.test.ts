/** What can go wrong in the middle of a copy, beside the death of its worker: see `docs/specs/faults.md`. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { HOUR, MIDNIGHT, NAME, SplitWorld } from "../../../tests/scenarios/split-world.ts";
import { ServiceError } from "../../lib/errors.ts";
import { moveSplit } from "../record/move-split.ts";
import { readRoute } from "../../records/route-records.ts";
import { readSlices } from "../../records/slice-records.ts";
import { listDue } from "../../records/split-work.ts";
import type { NamespaceConfigPatch } from "../../model/merge-config.ts";
import type { PartitionKey } from "../../model/partition.ts";
import { movedSplit } from "../../model/split-moves.ts";
import { splitTableOf } from "../../model/split.ts";
import type { SplitRecord, SplitState } from "../../model/split.ts";

const TEN = MIDNIGHT + 10 * HOUR;
const EVENTS = 600;

function rests({ state, owner, dueAt }: SplitRecord): boolean {
  return state === "COMPLETED" && owner === null && dueAt === null;
}

interface Copying {
  readonly world: SplitWorld;
  readonly partition: PartitionKey;
  readonly record: SplitRecord;
}

/** In the middle of a copy: some parts are listed, others are not. */
async function copying(patch: NamespaceConfigPatch = {}): Promise<Copying> {
  const world = await SplitWorld.open(patch);
  await world.write({ events: EVENTS, bytes: 2_000, from: TEN, to: TEN + HOUR });
  const partition = await world.partitionAt(TEN);
  world.startWorker({ gate: () => world.clock.sleep(10) });
  await world.clock.advance(25_000);
  await world.detect(partition);
  for (let steps = 0; steps < 1_000; steps++) {
    const record = await world.record(partition);
    if ((record?.segments[0]?.events ?? 0) > EVENTS / 3 && record?.state === "SPLITTING") {
      return { world, partition, record };
    }
    await world.clock.advance(50);
  }
  throw new Error("it was never in the middle of a copy");
}

async function assertServed({ world, partition }: Copying): Promise<SplitRecord> {
  const record = await world.until(partition, rests, 900);
  // The route follows the record.
  await world.clock.advance(1_000);
  const { same, events } = await world.compare(partition);
  assert.deepEqual({ same, events }, { same: true, events: EVENTS });
  return record;
}

test("S12: a detection that comes again, during the copy and after it, begins nothing anew", async () => {
  const there = await copying();
  const { world, partition, record } = there;
  for (let times = 0; times < 3; times++) await world.detect(partition);
  const during = await world.record(partition);
  assert.deepEqual([during?.fence, during?.state], [record.fence, "SPLITTING"]);
  const { nextGeneration, fence } = await assertServed(there);
  assert.deepEqual([nextGeneration, fence], [1, 1]);
  await world.detect(partition);
  await world.clock.advance(60_000);
  const { nextGeneration: later, segments } = await assertServed(there);
  assert.deepEqual([later, segments.length], [1, 1]);
  await world.close();
});

test("S16: a wall clock that steps by hours, either way, in the middle of a copy moves no range and no lease", async () => {
  for (const step of [3 * HOUR, -3 * HOUR]) {
    const there = await copying();
    const { world, partition, record } = there;
    world.clock.stepWall(step);
    await world.clock.advance(1_000);
    assert.equal((await world.record(partition))?.fence, record.fence);
    world.clock.stepWall(-step);
    const { segments, fence } = await assertServed(there);
    const [from, to] = [record.segments[0]?.from, record.segments[0]?.to];
    assert.deepEqual([segments[0]?.from, segments[0]?.to], [from, to]);
    assert.equal(fence, record.fence);
    await world.close();
  }
});

test("S17, C16: a disk that is full while parts are written parks the split, as often as it takes, and counts as no failure", async () => {
  const there = await copying();
  const { world, partition } = there;
  world.store.before = (call, { slice }) => {
    if (call.startsWith("append") && slice.startsWith("wide_")) {
      throw new ServiceError("STORAGE_UNAVAILABLE", "no space left on device");
    }
  };
  const parked = await world.until(partition, ({ state }) => state === "PARKED");
  assert.match(parked.history.at(-1)?.reason ?? "", /^could not go on: .*no space left/);
  await world.clock.advance(1_800_000);
  const still = await world.record(partition);
  assert.deepEqual([still?.state, still?.failures], ["PARKED", 0]);
  assert.ok((still?.history.filter(({ to }) => to === "PARKED").length ?? 0) > 3);
  assert.equal((await readRoute(world.catalog, partition))?.segments.length ?? 0, 0);
  world.store.before = () => undefined;
  const { nextGeneration } = await assertServed(there);
  // What was listed before the disk was full is part of it.
  assert.equal(nextGeneration, 1);
  await world.close();
});

test("S18: a pause in the middle of a copy keeps what is listed, and the copy goes on from there", async () => {
  const there = await copying();
  const { world, partition } = there;
  await world.splits.pause(NAME, { by: "ada", reason: "busy" });
  const paused = await world.until(partition, ({ state }) => state === "PARKED");
  await world.clock.advance(60_000);
  assert.deepEqual((await world.record(partition))?.segments, paused.segments);
  await world.splits.resume(NAME);
  const { segments, nextGeneration } = await assertServed(there);
  const kept = paused.segments[0]?.runs[0];
  assert.ok(kept !== undefined && kept.count > 0);
  assert.deepEqual(segments[0]?.runs[0], kept);
  assert.equal(nextGeneration, 1);
  await world.close();
});

test("a pause of hours writes nothing, is looked at seldom, and is over within seconds", async () => {
  const there = await copying();
  const { world, partition } = there;
  await world.splits.pause(NAME, { by: "ada", reason: "busy" });
  const paused = await world.until(partition, ({ state }) => state === "PARKED");
  // Also for one that is found meanwhile.
  await world.write({ series: "other", events: 300, bytes: 2_000, from: TEN, to: TEN + HOUR });
  const other = await world.partitionAt(TEN, "other");
  await world.detect(other);
  await world.clock.advance(30_000);
  const calls = { read: 0, written: 0 };
  world.catalog.before = (call, space) => {
    const isWork = space.startsWith("split-work/");
    if (call === "read" && (isWork || space.startsWith("splits/"))) calls.read++;
    if (call !== "read" && call !== "list" && (isWork || space.startsWith("splits/"))) {
      calls.written++;
    }
  };
  await world.clock.advance(2 * 3_600_000);
  world.catalog.before = () => undefined;
  assert.equal(calls.written, 0);
  // Two splits, an entry and a record of each, once a minute.
  assert.ok(calls.read <= 4 * 125, `${calls.read} reads`);
  assert.equal((await world.record(partition))?.version, paused.version);
  await world.splits.resume(NAME);
  await world.until(other, ({ state }) => state !== "DETECTED", 15);
  await assertServed(there);
  await world.close();
});

test("a route that was not published when its split was rolled back is published during a pause", async () => {
  const there = await copying();
  const { world, partition } = there;
  await assertServed(there);
  await world.splits.pause(NAME, { by: "ada", reason: "" });
  await world.detect(await world.partitionAt(TEN, "other"));
  await world.clock.advance(30_000);
  // Those that are paused have just been looked at, and will not be for a while.
  let looked = false;
  world.catalog.before = (call, space) => {
    looked ||= call === "read" && space.startsWith("splits/");
  };
  for (let seconds = 0; !looked && seconds < 120; seconds++) await world.clock.advance(1_000);
  assert.ok(looked);
  world.catalog.before = (call, space) => {
    if (call === "write" && space.startsWith("routes/")) {
      throw new ServiceError("STORAGE_UNAVAILABLE", "away");
    }
  };
  const place = await world.placeAt(TEN);
  await assert.rejects(world.splits.rollback(place, { by: "ada", reason: "" }));
  world.catalog.before = () => undefined;
  assert.equal((await readRoute(world.catalog, partition))?.segments.length, 1);
  await world.clock.advance(10_000);
  assert.deepEqual((await readRoute(world.catalog, partition))?.segments, []);
  await world.close();
});

test("C16: while the second read fails the split waits longer each time, as what it is", async () => {
  const there = await copying();
  const { world, partition } = there;
  let failing = false;
  world.catalog.changed = (space, _before, after) => {
    if (!space.startsWith("splits/") || after === undefined) return;
    failing ||= (JSON.parse(after.value) as SplitRecord).state === "COMPLETED";
  };
  world.store.before = (call, { slice }) => {
    if (failing && call === "scan" && slice === partition.slice) {
      throw new ServiceError("STORAGE_UNAVAILABLE", "away");
    }
  };
  await world.until(partition, ({ state }) => state === "COMPLETED");
  await world.clock.advance(3_600_000);
  const still = await world.record(partition);
  assert.deepEqual([still?.state, still?.failures], ["COMPLETED", 0]);
  const outages = still?.history.filter(({ reason }) => reason.startsWith("could not go on"));
  // 5 s, 10 s and so on up to five minutes: six, and then twelve an hour.
  const count = outages?.length ?? 0;
  assert.ok(count > 10 && count < 25, `${count} outages`);
  world.store.before = () => undefined;
  await assertServed(there);
  await world.close();
});

test("C17: a wish is not forgotten however long the history gets", async () => {
  const world = await SplitWorld.open({ widePartition: { detect: false } });
  await world.write({ events: EVENTS, bytes: 2_000, from: TEN, to: TEN + HOUR });
  const partition = await world.partitionAt(TEN);
  const { catalog, clock } = world;
  const moveOften = async (to: SplitState): Promise<SplitRecord> => {
    for (let times = 0; ; times++) {
      const record = await world.record(partition);
      assert.ok(record !== undefined);
      if (times === 60) return record;
      const why = { at: clock.nowMicros(), by: "w", reason: `look ${times}` };
      await moveSplit(catalog, clock, record, movedSplit(record, to, why));
    }
  };
  world.startWorker();
  await world.detect(partition);
  await world.until(partition, ({ state }) => state === "REFUSED");
  await moveOften("REFUSED");
  await world.splits.pause(NAME, { by: "ada", reason: "" });
  await world.splits.retry(await world.placeAt(TEN), { by: "ada", reason: "" });
  const { history } = await moveOften("PARKED");
  assert.ok(history.every(({ reason }) => !reason.startsWith("retried")));
  await world.splits.resume(NAME);
  const { segments } = await world.until(partition, rests);
  assert.match(segments[0]?.why ?? "", /^an operator asked for it/);
  await world.close();
});

test("a split that somebody makes when its slice is gone already is removed, and looked at no more", async () => {
  const retention = { closeAfterMicros: 2 * HOUR, deleteAfterMicros: 3 * HOUR };
  const timePartition = { secondsPerTimeSlice: 10_800, secondsPerTimeBucket: 3_600 };
  const { world, partition } = await copying({ retention, timePartition });
  const { catalog, clock } = world;
  const late = await world.record(partition);
  assert.ok(late !== undefined);
  for (let minutes = 0; minutes < 600; minutes++) {
    const slices = await readSlices(catalog, partition.namespaceId);
    const slice = slices.find(({ name }) => name === partition.slice);
    if (slice === undefined || slice.storeDropped) break;
    await clock.advance(60_000);
  }
  await clock.advance(60_000);
  const owner = { by: "somebody who died", beat: 0 };
  const made = { ...late, owner, version: 0, dueAt: clock.nowMicros() };
  assert.ok(await moveSplit(catalog, clock, undefined, made));
  await clock.advance(60_000);
  const left = catalog
    .dump()
    .filter((path) => /^(?:splits|routes|parts|split-slices)\//.test(path));
  assert.deepEqual(left, []);
  assert.deepEqual(await listDue(catalog, clock.nowMicros(), 100), []);
  await world.close();
});

test("S19: a slice that is dropped in the middle of a copy takes the split with it", async () => {
  const retention = { closeAfterMicros: 2 * HOUR, deleteAfterMicros: 3 * HOUR };
  const timePartition = { secondsPerTimeSlice: 10_800, secondsPerTimeBucket: 3_600 };
  const { world, partition } = await copying({ retention, timePartition });
  // The storage hangs for as long as it takes until the slice is gone.
  let hanging = true;
  const gone = Promise.withResolvers<void>();
  world.store.before = (call, { slice }) =>
    hanging && call.startsWith("append") && slice.startsWith("wide_") ? gone.promise : undefined;
  for (let minutes = 0; minutes < 600; minutes++) {
    const slices = await readSlices(world.catalog, partition.namespaceId);
    const slice = slices.find(({ name }) => name === partition.slice);
    if (slice === undefined || slice.storeDropped) break;
    await world.clock.advance(60_000);
  }
  hanging = false;
  gone.resolve();
  await world.clock.advance(120_000);
  assert.equal(await world.record(partition), undefined);
  assert.equal(await readRoute(world.catalog, partition), undefined);
  await assert.rejects(world.store.createSlice(splitTableOf(partition)));
  const due = await listDue(world.catalog, world.clock.nowMicros(), 100);
  assert.deepEqual(
    due.filter((each) => each.partition.slice === partition.slice),
    [],
  );
  await world.close();
});

test("S20: a namespace that is deleted in the middle of a copy leaves nothing of its splits", async () => {
  const { world, partition } = await copying();
  await world.passWhile(world.control.namespaces.delete(NAME));
  await world.clock.advance(120_000);
  const left = world.catalog.dump().filter((name) => /^(?:splits|routes|parts)\//.test(name));
  assert.deepEqual(left, []);
  assert.deepEqual(await listDue(world.catalog, world.clock.nowMicros(), 100), []);
  assert.equal(await world.record(partition), undefined);
  await world.close();
});
