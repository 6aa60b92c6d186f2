import assert from "node:assert/strict";
import { test } from "node:test";
import { readIdSteps } from "../../records/id-strategies.ts";
import { moveSplit } from "../record/move-split.ts";
import {
  readNamespace,
  readReadyNamespace,
  settledFloorOf,
  updateNamespace,
  writeNamespace,
} from "../../records/namespace-records.ts";
import { beginEpoch } from "../../namespaces/reopen.ts";
import { combineDigests } from "../../parts/range-digest.ts";
import { keyOf, spaceOf } from "../../records/split-spaces.ts";
import { readRoute } from "../../records/route-records.ts";
import { readSplit } from "../../records/split-records.ts";
import { putDue } from "../../records/split-work.ts";
import type { NamespaceConfigPatch } from "../../model/merge-config.ts";
import type { PartitionKey } from "../../model/partition.ts";
import { movedSplit } from "../../model/split-moves.ts";
import type { SplitRecord } from "../../model/split.ts";
import {
  HOUR,
  MARGINS,
  MIDNIGHT,
  MINUTE,
  NAME,
  SplitScenario,
  TARGET_BYTES,
} from "../../../tests/scenarios/split-scenario.ts";
import type { WorkerHandle, Written } from "../../../tests/scenarios/split-scenario.ts";
import type { CopyStage } from "./split-context.ts";

const TEN = MIDNIGHT + 10 * HOUR;
const WIDE: Written = { events: 200, bytes: 2_000, from: TEN, to: TEN + HOUR };

interface Split {
  readonly fixture: SplitScenario;
  readonly partition: PartitionKey;
  readonly worker: WorkerHandle;
  readonly record: SplitRecord;
}

function rests({ state, owner, dueAt }: SplitRecord): boolean {
  return owner === null && (state === "REFUSED" || (state === "COMPLETED" && dueAt === null));
}

/** Written, and split completely. */
async function split(written: Written, patch: NamespaceConfigPatch = {}): Promise<Split> {
  const fixture = await SplitScenario.open(patch);
  await fixture.write(written);
  const partition = await fixture.partitionAt(written.from);
  const worker = fixture.startWorker();
  await fixture.detect(partition);
  const record = await fixture.until(partition, rests);
  return { fixture, partition, worker, record };
}

async function assertServed({ fixture, partition }: Split, events: number): Promise<void> {
  const { same, events: found } = await fixture.compare(partition);
  assert.deepEqual({ same, found }, { same: true, found: events });
}

test("every layout and strategy ends with a copy that reads as the original", async () => {
  for (const layout of ["PACKED", "ROWS"] as const) {
    for (const strategy of ["AUTO", "TIME_BUCKETS", "HASH"]) {
      const done = await split(WIDE, { widePartition: { layout, strategy } });
      await assertServed(done, 200);
      const parts = await done.fixture.parts(done.partition);
      assert.ok(parts.length >= 6 && parts.length <= 8, `${layout} ${strategy}: ${parts.length}`);
      await done.fixture.close();
    }
  }
});

test("each byte passes every stage once", async () => {
  const { fixture, worker, record } = await split(WIDE);
  const seen = (stage: CopyStage): number =>
    worker.events.reduce(
      (sum, event) => sum + (event.kind === "bytes" && event.stage === stage ? event.bytes : 0),
      0,
    );
  const stages = (["read", "written", "validated", "confirmed"] as const).map(seen);
  assert.deepEqual(
    stages,
    Array.from({ length: 4 }, () => record.segments[0]?.bytes),
  );
  await fixture.close();
});

test("the checksum of what was read and the one of the parts read back are kept apart", async () => {
  for (const strategy of ["AUTO", "HASH"]) {
    const done = await split(WIDE, { widePartition: { strategy } });
    const parts = await done.fixture.parts(done.partition);
    const [segment] = done.record.segments;
    assert.equal(segment?.checksum, combineDigests(parts), strategy);
    assert.equal(segment?.copyChecksum, combineDigests(parts), strategy);
    await done.fixture.close();
  }
});

test("the size before a split is that of the whole partition, not of its newest segment", async () => {
  const eleven = MIDNIGHT + 11 * HOUR;
  const fixture = await SplitScenario.open();
  await fixture.write({ ...WIDE, from: eleven, to: eleven + 40 * MINUTE });
  const partition = await fixture.partitionAt(eleven);
  const worker = fixture.startWorker();
  await fixture.detect(partition);
  await fixture.until(partition, ({ segments }) => (segments[0]?.confirmedAt ?? null) !== null);
  await fixture.write({ ...WIDE, from: eleven + 51 * MINUTE, to: eleven + HOUR, id: "f" });
  const { segments } = await fixture.until(partition, rests, 3_600);
  const sums = segments.map((_, nth) =>
    segments.slice(0, nth + 1).reduce((sum, { bytes }) => sum + bytes, 0),
  );
  const seen = worker.events.flatMap((event) =>
    event.kind === "split" ? [event.partitionBytes] : [],
  );
  assert.ok(sums.length >= 2);
  assert.deepEqual(seen, sums);
  await fixture.close();
});

test("P6: events of one microsecond are never separated", async () => {
  const done = await split({ ...WIDE, to: TEN });
  const parts = await done.fixture.parts(done.partition);
  assert.deepEqual(
    parts.map(({ events }) => events),
    [200],
  );
  await assertServed(done, 200);
  await done.fixture.close();
});

test("CP8, C8: a number is reserved in the record before anything is written under it", async () => {
  for (const strategy of ["AUTO", "HASH"]) {
    const fixture = await SplitScenario.open({ widePartition: { strategy } });
    const { store, catalog } = fixture;
    await fixture.write(WIDE);
    const partition = await fixture.partitionAt(TEN);
    const written = new Map<number, number>();
    const append = store.appendBlocks.bind(store);
    store.appendBlocks = async (location, blocks) => {
      const { nextPart = 0 } = (await readSplit(catalog, partition)) ?? {};
      // In the first event bucket a part's event bucket is its number.
      written.set(location.eventBucket, nextPart);
      return append(location, blocks);
    };
    fixture.startWorker();
    await fixture.detect(partition);
    await fixture.until(partition, rests);
    assert.ok(written.size >= 6, strategy);
    for (const [part, nextPart] of written) assert.ok(part < nextPart, `${strategy} ${part}`);
    await fixture.close();
  }
});

test("P7: an event larger than a part is a part of its own, or the end of one", async () => {
  const done = await split({ events: 5, bytes: 3 * TARGET_BYTES, from: TEN, to: TEN + HOUR });
  const parts = await done.fixture.parts(done.partition);
  assert.deepEqual(
    parts.map(({ events }) => events),
    [1, 1, 1, 1, 1],
  );
  await assertServed(done, 5);
  await done.fixture.close();
});

test("DE4: if part numbers run out during the copy the last part takes the rest, and the plan says so", async () => {
  const fixture = await SplitScenario.open({ widePartition: { maxParts: 2 } });
  await fixture.write({ ...WIDE, events: 40 });
  const partition = await fixture.partitionAt(TEN);
  await fixture.detect(partition);
  // There is more than the detection saw.
  await fixture.write({ ...WIDE, events: 300, id: "f" });
  fixture.startWorker();
  const { segments } = await fixture.until(partition, rests);
  assert.match(segments[0]?.why ?? "", /the last there may be, took the rest/);
  const { same, events, parts } = await fixture.compare(partition);
  assert.deepEqual({ same, events, parts }, { same: true, events: 340, parts: 2 });
  await fixture.close();
});

test("P4: a bucket that grows while it is split ends as several segments without a gap", async () => {
  const eleven = MIDNIGHT + 11 * HOUR;
  const fixture = await SplitScenario.open();
  await fixture.write({ ...WIDE, from: eleven, to: eleven + 40 * MINUTE });
  const partition = await fixture.partitionAt(eleven);
  fixture.startWorker();
  await fixture.detect(partition);
  await fixture.until(partition, ({ segments }) => (segments[0]?.confirmedAt ?? null) !== null);
  await fixture.write({ ...WIDE, from: eleven + 51 * MINUTE, to: eleven + HOUR, id: "f" });
  const { segments } = await fixture.until(partition, rests, 3_600);
  assert.ok(segments.length >= 2);
  for (const [nth, { from }] of segments.entries()) {
    assert.equal(from, nth === 0 ? eleven : segments[nth - 1]?.to);
  }
  const { same, events } = await fixture.compare(partition);
  assert.deepEqual({ same, events }, { same: true, events: 400 });
  await fixture.close();
});

test("C10: a further range that is refused leaves what is split", async () => {
  const eleven = MIDNIGHT + 11 * HOUR;
  const fixture = await SplitScenario.open();
  await fixture.write({ ...WIDE, from: eleven, to: eleven + 40 * MINUTE });
  const partition = await fixture.partitionAt(eleven);
  fixture.startWorker();
  await fixture.detect(partition);
  await fixture.until(partition, ({ segments }) => (segments[0]?.confirmedAt ?? null) !== null);
  const { namespaces } = fixture.control;
  await namespaces.update(NAME, { widePartition: { detect: false } }, []);
  const { state, segments, history } = await fixture.until(partition, rests, 3_600);
  assert.equal(history.at(-1)?.cause, "detect-off");
  assert.deepEqual([state, segments.length], ["COMPLETED", 1]);
  const { same, events } = await fixture.compare(partition);
  assert.deepEqual({ same, events }, { same: true, events: 200 });
  await fixture.close();
});

test("a partition that is refused has the size that was measured, and a forced one is split", async () => {
  const small: Written = { events: 3, bytes: 100, from: TEN, to: TEN + HOUR };
  const fixture = await SplitScenario.open();
  await fixture.write(small);
  const partition = await fixture.partitionAt(TEN);
  const location = await fixture.placeAt(TEN);
  fixture.startWorker();
  // It was not read yet, so the request knows no size.
  const { record } = await fixture.splits.request(location, { by: "alice", reason: "" });
  assert.deepEqual([record.bytes, record.events], [0, 0]);
  const { state, bytes, events } = await fixture.until(partition, rests);
  assert.deepEqual([state, events], ["REFUSED", 3]);
  assert.ok(bytes >= 300 && bytes < 1_000, `${bytes} bytes`);
  await fixture.splits.request(location, { by: "alice", reason: "", force: true });
  const forced = await fixture.until(
    partition,
    ({ state: now }) => now !== "DETECTED" && now !== "REFUSED" && now !== "PLANNING",
  );
  assert.notEqual(forced.segments.length, 0);
});

test("an id that was wide lately gets more event buckets for future time", async () => {
  const { fixture, partition, record } = await split(WIDE);
  assert.equal(record.state, "COMPLETED");
  const steps = await readIdSteps(fixture.catalog, partition.namespaceId, partition.seriesId);
  assert.equal(steps?.length, 1);
  assert.ok((steps?.[0]?.from ?? 0) > fixture.clock.nowMicros());
  await fixture.close();
  const old = await split({ ...WIDE, from: MIDNIGHT + 2 * HOUR, to: MIDNIGHT + 3 * HOUR });
  const none = await readIdSteps(
    old.fixture.catalog,
    old.partition.namespaceId,
    old.partition.seriesId,
  );
  assert.equal(none, undefined);
  await old.fixture.close();
});

test("Q3, S11: a wake-up is followed at once, and without one the sweep finds the split", async () => {
  const fixture = await SplitScenario.open();
  await fixture.write(WIDE);
  const partition = await fixture.partitionAt(TEN);
  const { worker } = fixture.startWorker({ sweepMs: 15_000 });
  await fixture.clock.advance(40_000);
  await fixture.detect(partition, { nudged: worker });
  await fixture.clock.advance(0);
  assert.equal((await fixture.record(partition))?.state, "COMPLETED");
  // No message wakes the worker for this one.
  await fixture.write({ ...WIDE, series: "untold" });
  const untold = await fixture.partitionAt(TEN, "untold");
  await fixture.detect(untold);
  await fixture.clock.advance(0);
  assert.equal((await fixture.record(untold))?.state, "DETECTED");
  await fixture.until(untold, rests);
  await fixture.close();
});

test("C1: a worker that has just started copies at once below the stored settled floor", async () => {
  const fixture = await SplitScenario.open();
  await fixture.write(WIDE);
  const partition = await fixture.partitionAt(TEN);
  await fixture.detect(partition);
  fixture.startWorker({ sweepMs: 100 });
  await fixture.clock.advance(200);
  assert.equal((await fixture.record(partition))?.state, "COMPLETED");
  await fixture.close();
});

test("DE3, C1: a worker copies nothing above the settled floor, although the floor is higher", async () => {
  const eleven = MIDNIGHT + 11 * HOUR;
  const fixture = await SplitScenario.open();
  const { catalog, clock } = fixture;
  const partition = await fixture.partitionAt(eleven);
  await fixture.write({ ...WIDE, from: eleven, to: eleven + HOUR });
  const settled = settledFloorOf(await readReadyNamespace(catalog, NAME));
  // Raises the floor over all of the bucket.
  await fixture.control.namespaces.update(NAME, { acceptLimitMicros: 1_000_000 }, []);
  await fixture.detect(partition);
  fixture.startWorker({ sweepMs: 100 });
  await clock.advance(MARGINS.settle.ms - 1);
  const { segments } = (await fixture.record(partition)) ?? { segments: [] };
  assert.deepEqual(
    segments.map(({ to, state }) => [to, state]),
    [[settled, "COMPLETED"]],
  );
  await fixture.until(partition, rests);
  const { same, events, to } = await fixture.compare(partition);
  assert.deepEqual({ same, events, to }, { same: true, events: 200, to: eleven + HOUR });
  await fixture.close();
});

for (const [what, floor] of [
  ["is not completed when a new epoch has opened its time", TEN],
  ["whose time stays sealed completes in a new epoch, with its own epoch", TEN + 60 * MINUTE],
] as const) {
  test(`S13, C3: a copy ${what}`, async () => {
    const fixture = await SplitScenario.open();
    const { catalog } = fixture;
    await fixture.write(WIDE);
    const partition = await fixture.partitionAt(TEN);
    const states: (string | undefined)[] = [];
    catalog.changed = (space, _before, after) => {
      if (space.startsWith("splits/"))
        states.push(/"state":"([A-Z]+)"/.exec(after?.value ?? "")?.[1]);
    };
    let reopened = false;
    catalog.before = async () => {
      if (states.at(-1) !== "VALIDATING" || reopened) return;
      reopened = true;
      await reopen(fixture, floor);
    };
    fixture.startWorker();
    await fixture.detect(partition);
    const { segments } = await fixture.until(partition, ({ owner }) => reopened && owner === null);
    assert.equal(states.includes("COMPLETED"), floor > TEN, states.join(" "));
    assert.equal(segments[0]?.epoch, 0);
    await fixture.close();
  });
}

/** The second step of a re-opening, and no more. */
async function reopen({ catalog }: SplitScenario, floor: number): Promise<void> {
  const namespace = await readNamespace(catalog, NAME);
  assert.ok(namespace);
  await writeNamespace(catalog, beginEpoch(namespace, floor));
}

test("K5, C17: every worker leaves a held split alone, due or not", async () => {
  const fixture = await SplitScenario.open();
  await fixture.write(WIDE);
  const partition = await fixture.partitionAt(TEN);
  await fixture.detect(partition);
  const record = await fixture.record(partition);
  assert.ok(record);
  await moveSplit(fixture.catalog, fixture.clock, record, { ...record, heldBy: "ada" });
  const before = await fixture.record(partition);
  assert.ok((before?.dueAt ?? Infinity) <= fixture.clock.nowMicros());
  const { worker } = fixture.startWorker();
  await fixture.clock.advance(60_000);
  worker.nudge(partition);
  await fixture.clock.advance(60_000);
  assert.deepEqual(await fixture.record(partition), before);
  await fixture.close();
});

test("Q10: of a backlog however long a worker holds a thousand, and leaves the rest in the catalog", async () => {
  const fixture = await SplitScenario.open();
  const { catalog, clock } = fixture;
  await fixture.write(WIDE);
  const partition = await fixture.partitionAt(TEN);
  const backlog = 2_600;
  for (let nth = 0; nth < backlog; nth++) {
    const about = { ...partition, seriesId: `left-${nth}` };
    const entry = { index: "split-work", dueAt: TEN + nth, namespace: NAME } as const;
    await putDue(catalog, { ...entry, partition: about, from: 0 });
  }
  const asked = new Set<string>();
  const forever = Promise.withResolvers<void>();
  catalog.before = (call, space, key) => {
    if (call === "list" && space.startsWith("split-work/")) asked.add(key);
    return call === "read" && space.startsWith("split") ? forever.promise : undefined;
  };
  const { worker } = fixture.startWorker();
  await clock.advance(60_000);
  assert.equal(worker.active, 2);
  // Pages of 200: five are a thousand, and the next one is looked at in vain.
  assert.ok(asked.size >= 5 && asked.size <= 7, [...asked].join("\n"));
  catalog.before = () => undefined;
  forever.resolve();
  await fixture.detect(partition);
  await fixture.until(partition, rests, 300);
  await fixture.close();
});

test("Q10, C16: many splits that can only wait do not keep out one that is due after them", async () => {
  const fixture = await SplitScenario.open();
  const { catalog, clock } = fixture;
  await fixture.write(WIDE);
  const partition = await fixture.partitionAt(TEN);
  // Another process is about to make each of them.
  for (let nth = 0; nth < 1_200; nth++) {
    const about = { ...partition, seriesId: `left-${nth}` };
    const entry = {
      index: "split-work",
      dueAt: TEN + nth,
      partition: about,
      namespace: "plays",
    } as const;
    await putDue(catalog, { ...entry, from: 0 });
  }
  await fixture.detect(partition);
  // Each read takes so long that there is never room for all.
  catalog.before = async (call, space) => {
    if (call === "read" && space.startsWith("split-work/")) await clock.sleep(100);
  };
  fixture.startWorker();
  await fixture.until(partition, rests, 300);
  await fixture.close();
});

test("C23: a route that was not published is settled within a sweep, while every slot copies and the namespace is paused", async () => {
  const fixture = await SplitScenario.open();
  const { catalog, clock, store } = fixture;
  const partitions: PartitionKey[] = [];
  for (const series of ["done", "a", "b"]) {
    await fixture.write({ ...WIDE, series });
    partitions.push(await fixture.partitionAt(TEN, series));
  }
  const [done, ...copying] = partitions;
  assert.ok(done);
  const { worker } = fixture.startWorker();
  await fixture.detect(done);
  const record = await fixture.until(done, rests);
  const forever = Promise.withResolvers<void>();
  store.before = (call) => (call.startsWith("append") ? forever.promise : undefined);
  for (const partition of copying) await fixture.detect(partition);
  await clock.advance(30_000);
  assert.equal(worker.active, 2);
  await updateNamespace(catalog, NAME, (namespace) => ({
    ...namespace,
    splitsPaused: { at: clock.nowMicros(), by: "ada", reason: "" },
  }));
  await clock.advance(30_000);
  const why = { at: clock.nowMicros(), by: "ada", cause: "operator", reason: "" } as const;
  const after = movedSplit(record, "INVALIDATED", why, { segments: [], heldBy: "ada" });
  catalog.before = (call, space) => {
    if (call === "write" && space.startsWith("routes/")) throw new Error("away");
  };
  await assert.rejects(moveSplit(catalog, clock, record, after));
  catalog.before = () => undefined;
  assert.equal((await readRoute(catalog, done))?.segments.length, 1);
  await clock.advance(3_000);
  assert.deepEqual((await readRoute(catalog, done))?.segments, []);
  assert.deepEqual(
    catalog.dump().filter((path) => path.startsWith("split-publish/")),
    [],
  );
  forever.resolve();
  await fixture.close();
});

test("P2, O7, C28: entries and records that cannot be decoded are skipped and reported once, and all other splits end", async () => {
  const fixture = await SplitScenario.open();
  const { catalog, clock } = fixture;
  await fixture.write(WIDE);
  const partition = await fixture.partitionAt(TEN);
  await fixture.detect(partition);
  const [window] = catalog.peek("split-work-windows");
  assert.ok(window);
  const nth = (Number(window.key) / 600_000_000) % 2_048;
  const key = (series: string): string =>
    `${window.key}|${partition.namespaceId}|${partition.slice}|${series}|10|0`;
  await catalog.write(`split-work/${nth}`, key("damaged"), "{", 0);
  await catalog.write(`split-work/${nth}`, key("newer"), '{"format":2}', 0);
  await catalog.write(`split-work/${nth}`, `${window.key}|nonsense`, "{}", 0);
  // Due, and its record is damaged.
  const damaged = { ...partition, seriesId: "record" };
  const due = { index: "split-work", dueAt: clock.nowMicros(), namespace: NAME } as const;
  await putDue(catalog, { ...due, partition: damaged, from: 0 });
  await catalog.write(spaceOf("splits", damaged), keyOf(damaged), "{", 0);
  const { events } = fixture.startWorker();
  await fixture.until(partition, rests, 300);
  await clock.advance(60_000);
  const skipped = events.flatMap((event) => (event.kind === "unreadable" ? [event.entry.key] : []));
  assert.equal(skipped.length, 4, skipped.join("\n"));
  assert.deepEqual(
    events.filter(({ kind }) => kind === "trouble"),
    [],
  );
  await fixture.close();
});

test("DE7, CP15: no more splits are worked on at once than allowed, and all end", async () => {
  const fixture = await SplitScenario.open();
  const all = ["a", "b", "c", "d", "e"];
  const partitions: PartitionKey[] = [];
  for (const series of all) {
    await fixture.write({ ...WIDE, series });
    partitions.push(await fixture.partitionAt(TEN, series));
  }
  let most = 0;
  const gate = async (): Promise<void> => {
    most = Math.max(most, handle.worker.active);
    await fixture.clock.sleep(5);
  };
  const handle = fixture.startWorker({ gate });
  for (const partition of partitions) await fixture.detect(partition);
  for (const partition of partitions) await fixture.until(partition, rests);
  assert.equal(most, 2);
  await fixture.close();
});

test("two workers side by side share the work and never a split", async () => {
  const fixture = await SplitScenario.open();
  const partitions: PartitionKey[] = [];
  for (const series of ["a", "b", "c", "d"]) {
    await fixture.write({ ...WIDE, series });
    partitions.push(await fixture.partitionAt(TEN, series));
  }
  const gate = (): Promise<void> => fixture.clock.sleep(3);
  fixture.startWorker({ gate, concurrency: 1 });
  fixture.startWorker({ gate, concurrency: 1 });
  for (const partition of partitions) await fixture.detect(partition);
  const owners = new Set<string>();
  for (const partition of partitions) {
    const { history, fence } = await fixture.until(partition, rests);
    assert.equal(fence, 1);
    for (const { by, to } of history) if (to === "PLANNED") owners.add(by);
    assert.equal((await fixture.compare(partition)).same, true);
  }
  assert.equal(owners.size, 2);
  await fixture.close();
});

test("CP7: slow reads slow the copying down, and do not stop it", async () => {
  const millisWith = async (latencyMs: number): Promise<number> => {
    const fixture = await SplitScenario.open();
    await fixture.write({ ...WIDE, events: 2_400 });
    const partition = await fixture.partitionAt(TEN);
    const gate = (): Promise<void> => fixture.clock.sleep(5);
    fixture.startWorker({ gate, readLatencyMs: () => latencyMs });
    await fixture.clock.advance(25_000);
    await fixture.detect(partition);
    const { history } = await fixture.until(partition, rests);
    const at = (to: string): number => history.findLast((move) => move.to === to)?.at ?? 0;
    await fixture.close();
    return (at("VALIDATING") - at("SPLITTING")) / 1_000;
  };
  assert.ok((await millisWith(5_000)) > 1.5 * (await millisWith(10)));
});
