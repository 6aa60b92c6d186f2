import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { test } from "node:test";
import { ControlFixture, DAY, HOUR, never, NOON } from "../../../tests/support/control-fixture.ts";
import type { ControlProcess } from "../../../tests/support/control-fixture.ts";
import type { PartitionKey } from "../../model/partition.ts";
import { newSplit } from "../../model/split-moves.ts";
import { routeOf } from "../../model/split.ts";
import type { Segment, SplitRecord } from "../../model/split.ts";
import { moveSplit, settleDue } from "./move-split.ts";
import { readNamespace } from "../../records/namespace-records.ts";
import { readRoute } from "../../records/route-records.ts";
import { readSplit } from "../../records/split-records.ts";
import { listDue } from "../../records/split-work.ts";

const LATER = { acceptLimitMicros: 6 * HOUR };
/** The floor once events may be six hours late. */
const NEW_FLOOR = NOON - 6 * HOUR - 1_000_000;

function segment(from: number, to: number, change: Partial<Segment> = {}): Segment {
  return {
    from,
    to,
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

async function check({ fixture, partition }: Setting): Promise<void> {
  const after = async (name: string): Promise<SplitRecord> => {
    const record = await readSplit(fixture.catalog, partition(name));
    ok(record, name);
    equal(record.epoch, 1, name);
    const route = await readRoute(fixture.catalog, partition(name));
    deepEqual(route?.segments ?? [], routeOf(record).segments, name);
    if (route !== undefined && route.segments.length > 0) equal(route.epoch, 1, name);
    return record;
  };
  equal((await after("detected")).state, "DETECTED");
  const { state, segments, fence } = await after("sealed");
  deepEqual([state, segments, fence], ["COMPLETED", [SEALED], 0]);
  const both = await after("both");
  deepEqual([both.state, both.segments, both.fence], ["INVALIDATED", [SEALED], 1]);
  ok(both.dueAt !== null && both.dueAt > NOON);
  equal(both.history.at(-1)?.to, "INVALIDATED");
  for (const name of ["opened", "by one microsecond"]) {
    const gone = await after(name);
    deepEqual([gone.state, gone.segments], ["INVALIDATED", []], name);
  }
  const copying = await after("copying");
  deepEqual(
    [copying.state, copying.segments, copying.owner, copying.fence],
    ["INVALIDATED", [], null, 5],
  );
  const goesOn = await after("copying sealed time");
  deepEqual([goesOn.state, goesOn.segments.length, goesOn.fence], ["SPLITTING", 1, 4]);
  const held = await after("held");
  deepEqual([held.state, held.segments, held.heldBy, held.dueAt], ["INVALIDATED", [], "ann", null]);
}

test("splits below the new floor continue in the new epoch, the rest is invalidated", async () => {
  const process = await setting();
  equal((await process.namespaces.update("plays", LATER, [])).floor, NEW_FLOOR);
  await check(process);
});

test("W21: splits are invalidated after the new epoch and before older events are accepted", async () => {
  const process = await setting();
  const { fixture, namespaces } = process;
  const seen: string[] = [];
  fixture.catalog.changed = (space, _before, after) => {
    if (space === "namespaces" && after !== undefined) {
      seen.push(after.value.includes('"reopening":null') ? "accepted" : "epoch");
    } else if (space.startsWith("splits/")) seen.push("split");
  };
  await namespaces.update("plays", LATER, []);
  const first = seen.indexOf("split");
  ok(first > seen.indexOf("epoch"));
  ok(seen.lastIndexOf("split") < seen.lastIndexOf("accepted"));
});

test("S26: if a process dies anywhere in an invalidation, the reconciler does the rest before older events are accepted", async () => {
  for (let operation = 0; ; operation += 3) {
    const process = await setting(true);
    const { fixture, namespaces } = process;
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
    // A route that was not published has the old epoch until a sweep.
    const now = fixture.clock.nowMicros();
    for (const due of (await listDue(fixture.catalog, "split-publish", now, 100)).due) {
      await settleDue(fixture.catalog, fixture.clock, due);
    }
    const record = await readNamespace(fixture.catalog, "plays");
    equal(record?.reopening, null);
    if (record?.config.acceptLimitMicros === LATER.acceptLimitMicros) await check(process);
    if (done) return;
  }
});

test("a re-opening that is cancelled half way moves the splits to its epoch too", async () => {
  const process = await setting(true);
  const { fixture, namespaces } = process;
  // Its process dies when the new epoch has begun.
  fixture.catalog.before = (call, space) => {
    if (call === "list" && space.startsWith("split-slices/")) throw new Error("died");
  };
  await rejects(namespaces.update("plays", LATER, []), /died/);
  fixture.catalog.before = () => undefined;
  const back = await namespaces.update("plays", { acceptLimitMicros: 600_000_000 }, []);
  equal(back.epoch, 1);
  equal((await readNamespace(fixture.catalog, "plays"))?.reopening, null);
  await check(process);
});

test("C3: a raise that failed half way and is repeated invalidates nothing below the new floor", async () => {
  for (const hours of [6, 7]) {
    const process = await setting(true);
    const { fixture, namespaces, partition } = process;
    let died = 0;
    fixture.catalog.before = (call, space) => {
      if (call === "list" && space.startsWith("split-slices/") && died++ === 0) {
        throw new Error("died");
      }
    };
    await rejects(namespaces.update("plays", LATER, []), /died/);
    const update = namespaces.update("plays", { acceptLimitMicros: hours * HOUR }, []);
    await fixture.passWhile(update);
    equal((await update).epoch, hours === 6 ? 1 : 2);
    if (hours === 6) await check(process);
    const sealed = await readSplit(fixture.catalog, partition("sealed"));
    // A split that ends below the first new floor and not below the second is invalidated only
    // then.
    deepEqual(sealed?.segments, hours === 6 ? [SEALED] : []);
    const detected = await readSplit(fixture.catalog, partition("far below"));
    equal(detected?.segments.length, 1);
  }
});

test("C3: a split that missed an epoch keeps nothing, not even time that is sealed by now", async () => {
  const { fixture, namespaces, partition } = await setting();
  const missing = await readSplit(fixture.catalog, partition("sealed"));
  ok(missing);
  await namespaces.update("plays", LATER, []);
  // As if restored from a backup. Below both floors: only the epoch shows that it may have been
  // open in between.
  const now = await readSplit(fixture.catalog, partition("sealed"));
  ok(now);
  const segments = [segment(NEW_FLOOR - 4 * HOUR, NEW_FLOOR - 3 * HOUR)];
  await moveSplit(fixture.catalog, fixture.clock, now, {
    ...missing,
    segments,
    version: now.version,
  });
  await namespaces.update("plays", { acceptLimitMicros: 7 * HOUR }, []);
  const after = await readSplit(fixture.catalog, partition("sealed"));
  deepEqual([after?.state, after?.epoch, after?.segments], ["INVALIDATED", 2, []]);
});

test("a record that cannot be read keeps no time closed", async () => {
  const { fixture, namespaces, partition } = await setting();
  const space = fixture.catalog
    .dump()
    .find((path) => path.startsWith("splits/") && path.endsWith("/both|5|0"))
    ?.split("/")
    .slice(0, 4)
    .join("/");
  ok(space !== undefined);
  const stored = await fixture.catalog.read(space, "both|5|0");
  await fixture.catalog.write(space, "both|5|0", "{", stored?.version ?? 0);
  await namespaces.update("plays", LATER, []);
  // Its epoch is not the namespace's: no server follows it.
  equal((await readRoute(fixture.catalog, partition("both")))?.epoch, 0);
});

test("a slice that is dropped later is not read again", async () => {
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
  const left = fixture.catalog
    .dump()
    .filter((path) => /^(splits|routes|parts|split-slices)\//.test(path));
  deepEqual(left, []);
});
