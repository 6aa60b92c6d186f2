import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { ControlFixture, DAY, HOUR, never, NOON } from "../../../tests/support/control-fixture.ts";
import type { ControlProcess } from "../../../tests/support/control-fixture.ts";
import { isSealed } from "../../model/epochs.ts";
import { closedBelow } from "../../model/namespace.ts";
import type { PartitionKey } from "../../model/partition.ts";
import { newSplit } from "../../model/split-moves.ts";
import { routeOf } from "../../model/split.ts";
import type { Segment, SplitRecord } from "../../model/split.ts";
import { moveSplit, settleDue } from "./move-split.ts";
import { readNamespace } from "../../records/namespace-records.ts";
import { readRoute } from "../../records/route-records.ts";
import { readSplit, writeSplit } from "../../records/split-records.ts";
import { listDue } from "../../records/split-work.ts";

const LATER = { acceptLimitMicros: 6 * HOUR };
/** Where the line lies once events may be six hours late. */
const NEW_FLOOR = NOON - 6 * HOUR - 1_000_000;

function segment(from: number, to: number, change: Partial<Segment> = {}): Segment {
  return {
    from,
    to,
    epoch: 0,
    state: "COMPLETED",
    generation: 1,
    layout: "PACKED",
    strategy: "EVENT_BUCKETS",
    why: "wide",
    partBytes: 1,
    partsPlanned: 0,
    partRanges: [{ start: 0, count: 1 }],
    copiedTo: from,
    bytes: 1,
    events: 1,
    checksum: "",
    confirmedAt: NOON,
    ...change,
  };
}

const SEALED = segment(NEW_FLOOR - 2 * HOUR, NEW_FLOOR);
const OPENED = segment(NEW_FLOOR, NEW_FLOOR + HOUR);

const RECORDS: Readonly<Record<string, Partial<SplitRecord>>> = {
  detected: {},
  sealed: { state: "COMPLETED", segments: [SEALED], dueAt: null },
  "far below": {
    state: "COMPLETED",
    segments: [segment(NEW_FLOOR - 4 * HOUR, NEW_FLOOR - 3 * HOUR)],
    dueAt: null,
  },
  both: { state: "COMPLETED", segments: [SEALED, OPENED], dueAt: null },
  opened: { state: "COMPLETED", segments: [OPENED], dueAt: null },
  "by one microsecond": {
    state: "COMPLETED",
    segments: [segment(SEALED.from, NEW_FLOOR + 1)],
    dueAt: null,
  },
  copying: {
    state: "SPLITTING",
    segments: [segment(SEALED.from, OPENED.to, { state: "SPLITTING", confirmedAt: null })],
    owner: { by: "worker-1", heartbeat: 3 },
    fence: 4,
  },
  "copying sealed time": {
    state: "SPLITTING",
    segments: [{ ...SEALED, state: "SPLITTING", confirmedAt: null }],
    owner: { by: "worker-1", heartbeat: 3 },
    fence: 4,
  },
  failed: {
    state: "FAILED",
    segments: [{ ...OPENED, state: "FAILED", confirmedAt: null }],
    failures: 5,
    dueAt: null,
  },
  held: { state: "INVALIDATED", segments: [OPENED], heldBy: "ann", dueAt: null },
};

interface Setting extends ControlProcess {
  readonly fixture: ControlFixture;
  readonly partition: (seriesId: string) => PartitionKey;
}

async function setting(shared = false): Promise<Setting> {
  const fixture = new ControlFixture({ shared });
  const process = fixture.start();
  const { id, epoch } = await process.namespaces.create("plays", {});
  const partition = (seriesId: string): PartitionKey => ({
    namespaceId: id,
    slice: "data_20260328",
    seriesId,
    timeBucket: 5,
    eventBucket: 0,
  });
  for (const [name, change] of Object.entries(RECORDS)) {
    const found = { epoch, bytes: 1, events: 1, immutable: true, detectedAt: NOON };
    const record = newSplit(
      { partition: partition(name), namespace: "plays", ...found },
      { at: NOON, by: "worker-1", cause: "detection", reason: "wide" },
    );
    await moveSplit(fixture.catalog, fixture.clock, undefined, { ...record, ...change });
  }
  return { fixture, partition, ...process };
}

/** The segments that a server with the newest view would follow, by the end of each. */
async function servedEnds(setup: Setting, name: string): Promise<readonly number[]> {
  const { catalog } = setup.fixture;
  const namespace = await readNamespace(catalog, "plays");
  ok(namespace);
  const route = await readRoute(catalog, setup.partition(name));
  const { epochStarts } = namespace;
  return (route?.segments ?? []).filter((each) => isSealed(epochStarts, each)).map(({ to }) => to);
}

/** What is served once events may be six hours late. */
async function checkServed(setup: Setting): Promise<void> {
  const ends = async (names: readonly string[]): Promise<unknown> =>
    Promise.all(names.map((name) => servedEnds(setup, name)));
  deepEqual(await ends(["sealed", "far below", "both"]), [
    [SEALED.to],
    [NEW_FLOOR - 3 * HOUR],
    [SEALED.to],
  ]);
  deepEqual(await ends(["opened", "by one microsecond", "copying"]), [[], [], []]);
}

async function stored({ fixture, partition }: Setting): Promise<readonly unknown[]> {
  const names = Object.keys(RECORDS);
  const splits = await Promise.all(
    names.map((name) => readSplit(fixture.catalog, partition(name))),
  );
  const routes = await Promise.all(
    names.map((name) => readRoute(fixture.catalog, partition(name))),
  );
  return [...splits, ...routes];
}

/** Lets a floor rise, settle and be acted on. Whether nothing failed. */
async function settle({ fixture, reconciler }: Setting): Promise<boolean> {
  let failed = 0;
  for (let run = 0; run < 8; run++) {
    failed += (await reconciler.runOnce(never)).failed;
    await fixture.clock.advance(5_000);
  }
  return failed === 0;
}

/** Lets the floor pass what was opened. */
async function sealAgain(setup: Setting): Promise<void> {
  await setup.fixture.clock.advance((6 * HOUR) / 1_000);
  await settle(setup);
}

async function checkReturned({ fixture, partition }: Setting): Promise<void> {
  const { catalog, clock } = fixture;
  equal((await readNamespace(catalog, "plays"))?.resealing, null);
  const after = async (name: string): Promise<SplitRecord> => {
    const record = await readSplit(catalog, partition(name));
    ok(record, name);
    deepEqual(
      (await readRoute(catalog, partition(name)))?.segments ?? [],
      routeOf(record).segments,
    );
    return record;
  };
  for (const name of ["sealed", "far below"]) {
    const { state, segments, epoch } = await after(name);
    deepEqual([state, segments.length, epoch], ["COMPLETED", 1, 0], name);
  }
  for (const [name, left] of [
    ["both", [SEALED]],
    ["opened", []],
    ["by one microsecond", []],
    ["failed", []],
  ] as const) {
    const { state, segments, epoch, dueAt, history } = await after(name);
    deepEqual([state, segments, epoch], ["DETECTED", left, 1], name);
    equal(history.at(-1)?.cause, "reopened");
    ok(dueAt !== null && dueAt <= clock.nowMicros());
  }
  // Its worker finds out by itself, and what an operator holds stays as it is.
  for (const name of ["copying", "copying sealed time", "held", "detected"]) {
    const { state, segments, fence } = await after(name);
    const given = RECORDS[name];
    const expected = [given?.state ?? "DETECTED", given?.segments ?? [], given?.fence ?? 0];
    deepEqual([state, segments, fence], expected, name);
  }
}

test("C3: a raise of acceptLimit changes no split, and what it opens is not served any more", async () => {
  const setup = await setting();
  const before = await stored(setup);
  equal((await setup.namespaces.update("plays", LATER, [])).floor, NEW_FLOOR);
  deepEqual(await stored(setup), before);
  await checkServed(setup);
});

test("W21: what is opened is not served from the new epoch on, and older events are accepted only view_max_age later", async () => {
  const setup = await setting(true);
  const { fixture, namespaces, views } = setup;
  const update = namespaces.update("plays", LATER, []);
  await fixture.clock.advance(0);
  await checkServed(setup);
  await views.refresh("plays");
  const during = views.current("plays")?.namespace;
  ok(during !== undefined && during.reopening !== null && during.epoch === 1);
  // The floor is low already, and a server refuses what was sealed before the epoch all the same.
  equal(during.floor, NEW_FLOOR);
  equal(closedBelow(during), NOON - 601_000_000);
  await fixture.passWhile(update);
  equal(closedBelow(await update), NEW_FLOOR);
});

test("S26: a process that dies anywhere in a raise: the reconciler does the rest, and no split changes", async () => {
  for (let operation = 0; ; operation++) {
    const setup = await setting(true);
    const { fixture, namespaces } = setup;
    const before = await stored(setup);
    fixture.crashAt(operation);
    let done = false;
    const updating = namespaces.update("plays", LATER, []).then(
      () => (done = true),
      () => undefined,
    );
    await fixture.passWhile(updating);
    fixture.recover();
    const { reconciler } = fixture.start();
    for (let i = 0; i < 5; i++) {
      await reconciler.runOnce(never);
      await fixture.clock.advance(5_000);
    }
    const record = await readNamespace(fixture.catalog, "plays");
    equal(record?.reopening, null);
    deepEqual(await stored(setup), before);
    if (record?.config.acceptLimitMicros === LATER.acceptLimitMicros) await checkServed(setup);
    if (done) return;
  }
});

test("C3: a raise that fails half way and is repeated, or goes further, loses no split that it does not touch", async () => {
  for (let operation = 0, finished = false; !finished; operation++) {
    for (const hours of [6, 7]) {
      const setup = await setting(true);
      const { fixture } = setup;
      const before = await stored(setup);
      fixture.crashAt(operation);
      const failing = setup.namespaces.update("plays", LATER, []).then(
        () => (finished = true),
        () => undefined,
      );
      await fixture.passWhile(failing);
      fixture.recover();
      const { namespaces } = fixture.start();
      const update = namespaces.update("plays", { acceptLimitMicros: hours * HOUR }, []);
      await fixture.passWhile(update);
      const { epoch } = await update;
      ok(epoch === 1 || (hours === 7 && epoch === 2), `epoch ${epoch}`);
      deepEqual(await stored(setup), before);
      if (hours === 6) await checkServed(setup);
      // One that ends between both lines is opened by the second only.
      deepEqual(await servedEnds(setup, "sealed"), hours === 6 ? [SEALED.to] : []);
      deepEqual(await servedEnds(setup, "far below"), [NEW_FLOOR - 3 * HOUR]);
    }
  }
});

test("C3: a split of an epoch long ago keeps what no later epoch has opened, and nothing else", async () => {
  const setup = await setting();
  const { fixture, namespaces } = setup;
  await namespaces.update("plays", { acceptLimitMicros: 9 * HOUR }, []);
  await namespaces.update("plays", { acceptLimitMicros: 600_000_000 }, []);
  await fixture.clock.advance(60_000);
  await namespaces.update("plays", { acceptLimitMicros: HOUR }, []);
  // Below the newest line, but the epoch before had opened it.
  deepEqual(await servedEnds(setup, "sealed"), []);
  const far = segment(NEW_FLOOR - 5 * HOUR, NEW_FLOOR - 4 * HOUR);
  const record = await readSplit(fixture.catalog, setup.partition("far below"));
  ok(record);
  await moveSplit(fixture.catalog, fixture.clock, record, { ...record, segments: [far] });
  deepEqual(await servedEnds(setup, "far below"), [far.to]);
});

test("C17: when the floor has passed again, splits with opened time are detected again, and no others", async () => {
  const setup = await setting();
  await setup.namespaces.update("plays", LATER, []);
  const before = await stored(setup);
  await settle(setup);
  deepEqual(await stored(setup), before, "nothing before the floor has passed");
  await sealAgain(setup);
  await checkReturned(setup);
  const returned = await stored(setup);
  await settle(setup);
  deepEqual(await stored(setup), returned);
});

test("C17: a lower acceptLimit lets the floor pass, and the splits return when it is settled", async () => {
  const setup = await setting();
  await setup.namespaces.update("plays", LATER, []);
  const before = await stored(setup);
  await setup.namespaces.update("plays", { acceptLimitMicros: 600_000_000 }, []);
  await setup.reconciler.runOnce(never);
  deepEqual(await stored(setup), before);
  await settle(setup);
  await checkReturned(setup);
});

test("S26: a process that dies anywhere while splits return: the next one does the rest", async () => {
  for (let operation = 0, whole = false; !whole; operation += 3) {
    const setup = await setting();
    const { fixture } = setup;
    await setup.namespaces.update("plays", LATER, []);
    await fixture.clock.advance((6 * HOUR) / 1_000);
    fixture.crashAt(operation);
    whole = await settle(setup);
    fixture.recover();
    await settle({ ...setup, ...fixture.start() });
    const now = fixture.clock.nowMicros();
    for (const due of (await listDue(fixture.catalog, "split-publish", now, 100)).due) {
      await settleDue(fixture.catalog, fixture.clock, due);
    }
    await checkReturned(setup);
  }
});

test("C17: the walk takes a bounded number of splits in a run, and ends", async () => {
  const setup = await setting();
  const { fixture, partition, namespaces, reconciler } = setup;
  const given = await readSplit(fixture.catalog, partition("opened"));
  ok(given);
  for (let nth = 0; nth < 2_500; nth++) {
    await writeSplit(fixture.catalog, { ...given, partition: partition(`s${nth}`), version: 0 });
  }
  await namespaces.update("plays", LATER, []);
  await fixture.clock.advance((6 * HOUR) / 1_000);
  let moved = 0;
  fixture.catalog.changed = (space) => {
    if (space.startsWith("splits/")) moved++;
  };
  const each: number[] = [];
  for (let run = 0; run < 12; run++) {
    moved = 0;
    await reconciler.runOnce(never);
    if (moved > 0) each.push(moved);
    await fixture.clock.advance(5_000);
  }
  ok(each.length > 1 && Math.max(...each) <= 2_000, each.join(" "));
  equal((await readNamespace(fixture.catalog, "plays"))?.resealing, null);
  equal((await readSplit(fixture.catalog, partition("s2499")))?.state, "DETECTED");
});

test("a record that cannot be read keeps no time closed, and no other split from returning", async () => {
  const setup = await setting();
  const { fixture, namespaces } = setup;
  const space = fixture.catalog
    .dump()
    .find((path) => path.startsWith("splits/") && path.endsWith("/by one microsecond|5|0"))
    ?.split("/")
    .slice(0, 4)
    .join("/");
  ok(space !== undefined);
  const key = "by one microsecond|5|0";
  const record = await fixture.catalog.read(space, key);
  await fixture.catalog.write(space, key, "{", record?.version ?? 0);
  await namespaces.update("plays", LATER, []);
  await checkServed(setup);
  await sealAgain(setup);
  equal((await readSplit(fixture.catalog, setup.partition("opened")))?.state, "DETECTED");
});

test("a slice that is dropped later is not looked at again", async () => {
  const { fixture, namespaces, reconciler } = await setting();
  await namespaces.update(
    "plays",
    { retention: { closeAfterMicros: DAY, deleteAfterMicros: 2 * DAY } },
    [],
  );
  for (let i = 0; i < 20; i++) {
    await fixture.clock.advance(DAY / 4_000);
    await reconciler.runOnce(never);
  }
  await fixture.removeDropped();
  const left = fixture.catalog
    .dump()
    .filter((path) => /^(splits|routes|parts|split-slices)\//.test(path));
  deepEqual(left, []);
});
