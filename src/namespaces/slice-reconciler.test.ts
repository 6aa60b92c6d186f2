import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { test } from "node:test";
import { placed } from "../../tests/conformance/event-store.ts";
import {
  ControlFixture,
  DAY,
  HOUR,
  NOON,
  VIEW_MAX_AGE_MS,
  never,
} from "../../tests/support/control-fixture.ts";
import type { ControlProcess } from "../../tests/support/control-fixture.ts";
import { OneByOne, StopAfter } from "../../tests/support/stopped-process.ts";
import { settle } from "../../tests/support/virtual-clock.ts";
import { readNamespace, writeNamespace } from "../records/namespace-records.ts";
import { readSlices } from "../records/slice-records.ts";
import { listChanges, noteChange } from "../records/split-changes.ts";
import { readSplit, slicesWithSplits, writeSplit } from "../records/split-records.ts";
import { newSplit } from "../model/split-moves.ts";
import type { SplitRecord } from "../model/split.ts";
import type { NamespaceConfigPatch } from "../model/merge-config.ts";
import { SECOND_MICROS } from "../model/namespace-config.ts";

const DAY_MS = 86_400_000;
const YEAR = 365 * DAY;
const SETTLE_MS = 600_000;

async function start(
  patch: NamespaceConfigPatch = {},
  options: { shared?: boolean } = {},
): Promise<ControlProcess & { fixture: ControlFixture }> {
  const fixture = new ControlFixture(options);
  const process = fixture.start();
  await process.namespaces.create("plays", patch);
  return { fixture, ...process };
}

/** Lets time pass in steps, with a run at each. */
async function live(
  { fixture, reconciler }: { fixture: ControlFixture } & ControlProcess,
  ms: number,
  step = ms,
): Promise<void> {
  for (let passed = 0; passed < ms; passed += step) {
    await fixture.clock.advance(step);
    await reconciler.runOnce(never);
  }
}

async function statuses({ namespaces }: ControlProcess): Promise<string[]> {
  return (await namespaces.listTimeSlices("plays")).map(
    ({ name, status }) => `${name.slice(-4)} ${status}`,
  );
}

async function floorOf(fixture: ControlFixture): Promise<number> {
  return (await readNamespace(fixture.catalog, "plays"))?.floor ?? Number.NaN;
}

test("slices are made ahead, so that a current event always has a slice", async () => {
  const process = await start();
  await live(process, 5 * DAY_MS, DAY_MS / 4);
  deepEqual((await statuses(process)).slice(-2), ["0402 ACTIVE", "0403 UPCOMING"]);
  ok(process.fixture.store.sliceNames().some((name) => name.endsWith("data_20260403")));
  equal((await process.views.get("plays")).slices.at(-1)?.name, "data_20260403");
});

test("a run with nothing to do writes nothing", async () => {
  const { fixture, reconciler } = await start();
  // The first run stores the believed time.
  await reconciler.runOnce(never);
  let writes = 0;
  fixture.catalog.before = (call) => void (call === "write" && writes++);
  await reconciler.runOnce(never);
  await fixture.clock.advance(5_000);
  await reconciler.runOnce(never);
  equal(writes, 0);
});

test("the floor rises with time, in steps", async () => {
  const process = await start();
  await live(process, 60_000, 5_000);
  equal(await floorOf(process.fixture), NOON + (60 - 600 - 1) * SECOND_MICROS);
});

test("the floor does not fall when the clock is set back, nor are old slices made", async () => {
  const process = await start();
  await live(process, DAY_MS);
  const [before, slices] = [await floorOf(process.fixture), await statuses(process)];
  process.fixture.clock.stepWall(-20 * YEAR);
  await live(process, 60_000);
  equal(await floorOf(process.fixture), before);
  equal((await statuses(process)).length, slices.length);
});

test("C1: the floor does not fall with a change of slices that a clock set back makes due", async () => {
  const process = await start({
    retention: { closeAfterMicros: DAY, deleteAfterMicros: YEAR },
  });
  await live(process, 1.5 * DAY_MS, DAY_MS / 4);
  equal((await statuses(process))[0], "0328 CLOSED");
  const before = await floorOf(process.fixture);
  process.fixture.clock.stepWall(-DAY);
  await live(process, 60_000);
  equal((await statuses(process))[0], "0328 SEALED");
  equal(await floorOf(process.fixture), before);
});

test("lowering acceptLimit seals earlier", async () => {
  const process = await start({ acceptLimitMicros: DAY });
  await live(process, SETTLE_MS);
  await process.namespaces.update("plays", { acceptLimitMicros: 60 * SECOND_MICROS }, []);
  await process.reconciler.runOnce(never);
  equal(await floorOf(process.fixture), process.fixture.clock.nowMicros() - 61 * SECOND_MICROS);
});

test("C3: a re-opening that was left half done is in force only view_max_age after the reconciler first saw it", async () => {
  const { fixture, namespaces } = await start({}, { shared: true });
  const limitOf = async (): Promise<number | undefined> =>
    (await readNamespace(fixture.catalog, "plays"))?.config.acceptLimitMicros;
  const before = await limitOf();
  // Its process dies when the new epoch has begun.
  fixture.catalog.changed = (space, _before, after) => {
    if (space === "namespaces" && after?.value.includes('"reopening":{')) fixture.crashAt(0);
  };
  const update = namespaces.update("plays", { acceptLimitMicros: 6 * HOUR }, []);
  const died = rejects(update, /crashed/);
  await fixture.passWhile(died);
  await died;
  fixture.catalog.changed = () => undefined;
  fixture.recover();
  const { reconciler } = fixture.start();
  await reconciler.runOnce(never);
  await fixture.clock.advance(VIEW_MAX_AGE_MS - 1);
  await reconciler.runOnce(never);
  equal(await limitOf(), before);
  await fixture.clock.advance(1);
  await reconciler.runOnce(never);
  equal(await limitOf(), 6 * HOUR);
});

test("a slice is closed, then marked, and its events are dropped only view_max_age after the mark", async () => {
  const process = await start({
    retention: { closeAfterMicros: DAY, deleteAfterMicros: DAY + HOUR },
  });
  const { fixture, views } = process;
  await live(process, 1.5 * DAY_MS);
  equal((await statuses(process))[0], "0328 CLOSED");
  equal(views.current("plays")?.slices[0]?.name, "data_20260329");
  const dropSoon = 3_600_000;
  await live(process, dropSoon);
  equal((await statuses(process))[0], "0328 DROPPED");
  const inStore = () => fixture.store.sliceNames().some((name) => name.endsWith("data_20260328"));
  await live(process, VIEW_MAX_AGE_MS - 1);
  ok(inStore());
  await live(process, 1);
  ok(!inStore());
  deepEqual(
    process.events.flatMap((event) =>
      event.kind === "slices" && event.action !== "made" ? [event.action] : [],
    ),
    ["closed", "marked as dropped", "dropped"],
  );
});

test("CP10, E3: the records of splits go with their slice, and with their namespace", async () => {
  const process = await start({
    retention: { closeAfterMicros: 2 * DAY, deleteAfterMicros: 3 * DAY },
  });
  const { fixture, namespaces, reconciler } = process;
  const { id } = await namespaces.get("plays");
  const split = (slice: string): SplitRecord =>
    newSplit(
      {
        partition: { namespaceId: id, slice, seriesId: "a", timeBucket: 0, eventBucket: 0 },
        namespace: "plays",
        epoch: 0,
        bytes: 1,
        events: 1,
        immutable: true,
        detectedAt: NOON,
      },
      { at: NOON, by: "worker-1", cause: "detection", reason: "wide" },
    );
  const slices = await namespaces.listTimeSlices("plays");
  for (const { name } of slices) await writeSplit(fixture.catalog, split(name));
  const left = async (): Promise<string[]> => {
    const found = await Promise.all(
      slices.map(({ name }) => readSplit(fixture.catalog, split(name).partition)),
    );
    return found.flatMap((record) => (record === undefined ? [] : [record.partition.slice]));
  };
  equal((await left()).length, slices.length);
  await live(process, 5 * DAY_MS, DAY_MS / 4);
  const dropped = (await namespaces.listTimeSlices("plays")).filter(
    ({ status }) => status === "DROPPED",
  );
  ok(dropped.length > 0);
  const listed = await slicesWithSplits(fixture.catalog, id);
  ok(dropped.every(({ name }) => !listed.has(name)));
  await reconciler.removeOnce(never);
  deepEqual(
    await left(),
    slices.map(({ name }) => name).filter((name) => !dropped.some((slice) => slice.name === name)),
  );
  await namespaces.delete("plays");
  await reconciler.removeOnce(never);
  deepEqual(await left(), []);
});

test("CP10, E3: the table for a slice's splits is dropped before the slice, made or not", async () => {
  const process = await start({ retention: { closeAfterMicros: DAY, deleteAfterMicros: 2 * DAY } });
  const { fixture } = process;
  const calls: string[] = [];
  fixture.store.before = (call, { slice }) => void calls.push(`${call} ${slice}`);
  await live(process, 4 * DAY_MS, DAY_MS / 4);
  ok(!calls.some((made) => made.startsWith("createSlice wide_")));
  const own = calls.filter((made) => made.startsWith("dropSlice data_"));
  ok(own.length > 0);
  for (const made of own) {
    const wide = calls.indexOf(`dropSlice wide_${made.slice("dropSlice ".length)}_0`);
    ok(wide >= 0 && wide < calls.indexOf(made), made);
  }
});

test("entries of changed routes are removed after an hour", async () => {
  const process = await start({});
  const { fixture, namespaces, reconciler } = process;
  const { id } = await namespaces.get("plays");
  const partition = { namespaceId: id, slice: "data_1", timeBucket: 0, eventBucket: 0 };
  await noteChange(fixture.catalog, NOON, { ...partition, seriesId: "a" });
  await noteChange(fixture.catalog, NOON + HOUR, { ...partition, seriesId: "b" });
  await live(process, 3_600_000, 300_000);
  await reconciler.removeOnce(never);
  equal((await listChanges(fixture.catalog, id, "", 10)).length, 2);
  await live(process, 1_200_000, 300_000);
  await reconciler.removeOnce(never);
  const left = await listChanges(fixture.catalog, id, "", 10);
  deepEqual(
    left.map((change) => change.partition.seriesId),
    ["b"],
  );
});

test("a reconciler that starts after the mark waits view_max_age of its own", async () => {
  const process = await start({
    retention: { closeAfterMicros: DAY, deleteAfterMicros: DAY + HOUR },
  });
  await live(process, 2 * DAY_MS);
  await process.fixture.clock.advance(DAY_MS / 24);
  const next = { ...process, ...process.fixture.start() };
  await next.reconciler.runOnce(never);
  equal(next.fixture.store.sliceNames().length, 4);
  await live(next, VIEW_MAX_AGE_MS);
  equal(next.fixture.store.sliceNames().length, 3);
});

test("closed slices open again when closeAfter is raised, dropped ones never", async () => {
  const process = await start({ retention: { closeAfterMicros: DAY, deleteAfterMicros: 2 * DAY } });
  await live(process, 3 * DAY_MS, DAY_MS);
  deepEqual((await statuses(process)).slice(0, 2), ["0328 DROPPED", "0329 CLOSED"]);
  const record = await readNamespace(process.fixture.catalog, "plays");
  ok(record !== undefined);
  // As another process would have changed it.
  const retention = { closeAfterMicros: 20 * DAY, deleteAfterMicros: 30 * DAY };
  await writeNamespace(process.fixture.catalog, {
    ...record,
    config: { ...record.config, retention },
  });
  await process.reconciler.runOnce(never);
  deepEqual((await statuses(process)).slice(0, 2), ["0328 DROPPED", "0329 SEALED"]);
});

test("a longer retention between the decision and the drop keeps the slices", async () => {
  const process = await start({ retention: { closeAfterMicros: DAY, deleteAfterMicros: 2 * DAY } });
  const { fixture, reconciler } = process;
  // By another process: within one process they run one after another.
  const other = fixture.start().namespaces;
  await live(process, 2 * DAY_MS);
  await fixture.clock.advance(DAY_MS);
  let raised = false;
  fixture.catalog.before = async (call, space) => {
    if (raised || call !== "write" || space !== "namespaces") return;
    raised = true;
    await other.update("plays", { retention: { deleteAfterMicros: 9 * DAY } }, []);
  };
  await reconciler.runOnce(never);
  ok(raised);
  await live(process, 60_000, 5_000);
  equal((await statuses(process))[0], "0328 CLOSED");
});

const HOURLY: NamespaceConfigPatch = {
  timePartition: { secondsPerTimeSlice: 3_600 },
  retention: { closeAfterMicros: DAY, deleteAfterMicros: 2 * DAY },
};

for (const shared of [false, true]) {
  const where = shared ? "shared" : "its own";
  test(`a stopped reconciler leaves the slices it has not made to the next (catalog ${where})`, async () => {
    const process = await start(HOURLY, { shared });
    const { fixture, reconciler, events } = process;
    const before = fixture.store.sliceNames().length;
    await fixture.clock.advance(DAY_MS);
    const stop = new AbortController();
    let asked = 0;
    fixture.store.before = () => {
      asked++;
      stop.abort();
    };
    await reconciler.runOnce(stop.signal);
    // It finishes the slices that it has begun.
    ok(asked > 0 && asked <= 8, `${asked} were asked for`);
    equal(fixture.store.sliceNames().length, before + asked);
    ok(!events.some(({ kind }) => kind === "failed"));
    fixture.recover();
    await live({ fixture, ...fixture.start({ evenMs: 0 }) }, 60_000, 5_000);
    equal(fixture.store.sliceNames().length, before + 24);
    equal((await readNamespace(fixture.catalog, "plays"))?.changing, null);
  });

  test(`E2: a stopped reconciler leaves the slices it has not dropped to the next (catalog ${where})`, async () => {
    const process = await start(HOURLY, { shared });
    const { fixture, reconciler, events } = process;
    await live(process, 2 * DAY_MS, DAY_MS / 24);
    await fixture.clock.advance(6 * 3_600_000);
    await reconciler.runOnce(never);
    const marked = fixture.store.sliceNames().length;
    await fixture.clock.advance(VIEW_MAX_AGE_MS);
    const stop = new AbortController();
    fixture.store.before = () => stop.abort();
    await reconciler.runOnce(stop.signal);
    equal(fixture.store.sliceNames().length, marked - 1);
    ok(!events.some(({ kind }) => kind === "failed"));
    fixture.recover();
    await live({ fixture, ...fixture.start({ evenMs: 0 }) }, 60_000, 5_000);
    ok(fixture.store.sliceNames().length < marked - 2);
  });
}

test("E2: a stopped reconciler leaves the rest of a deletion to the next", async () => {
  const process = await start({ ...HOURLY, acceptLimitMicros: DAY / 2 }, { shared: true });
  const { fixture, reconciler, events } = process;
  const record = await readNamespace(fixture.catalog, "plays");
  ok(record !== undefined);
  await writeNamespace(fixture.catalog, { ...record, phase: "DELETING" });
  const before = fixture.store.sliceNames().length;
  await reconciler.runOnce(never);
  await fixture.clock.advance(VIEW_MAX_AGE_MS);
  const stop = new AbortController();
  fixture.store.before = () => stop.abort();
  await reconciler.runOnce(stop.signal);
  const left = fixture.store.sliceNames().length;
  ok(left < before && left >= before - 8, `${left} of ${before} are left`);
  ok(!events.some(({ kind }) => kind === "failed"));
  fixture.recover();
  await live({ fixture, ...fixture.start() }, 60_000, 5_000);
  deepEqual(fixture.store.sliceNames(), []);
  deepEqual(fixture.catalog.peek("namespaces"), []);
});

test("E4: a clock that jumps months ahead drops nothing, closes nothing and does not raise the floor", async () => {
  const process = await start(HOURLY);
  const { fixture, reconciler, events } = process;
  await live(process, DAY_MS, DAY_MS / 24);
  const floor = await floorOf(fixture);
  const stored = fixture.store.sliceNames();
  fixture.clock.stepWall(90 * DAY);
  for (let i = 0; i < 3; i++) {
    const report = await reconciler.runOnce(never);
    ok(report.refused >= 26);
  }
  equal(events.filter(({ kind }) => kind === "drops refused").length, 1, "reported once");
  equal(await floorOf(fixture), floor);
  // Also when the clock stays wrong for longer than a floor takes to settle.
  await live(process, 1_200_000, 300_000);
  for (const name of stored) ok(fixture.store.sliceNames().includes(name));
  equal((await statuses(process)).filter((status) => status.endsWith("DROPPED")).length, 0);
});

test("after a jump of the clock that stays, the floor rises with the time that passes", async () => {
  const process = await start(HOURLY);
  const { fixture } = process;
  await live(process, DAY_MS, DAY_MS / 24);
  fixture.clock.stepWall(20 * DAY);
  await live(process, 2 * SETTLE_MS, 60_000);
  const truth = fixture.clock.nowMicros() - 20 * DAY;
  const behind = truth - (await floorOf(fixture));
  ok(behind >= 601 * SECOND_MICROS && behind < 661 * SECOND_MICROS, String(behind));
});

test("U9: a clock that is wrong at the start neither raises the floor nor leaves a gap between slices", async () => {
  const process = await start(HOURLY);
  const { fixture } = process;
  await live(process, DAY_MS, DAY_MS / 24);
  const [floor, slices] = [await floorOf(fixture), await statuses(process)];
  fixture.clock.stepWall(20 * YEAR);
  const next = { ...process, ...fixture.start() };
  await live(next, SETTLE_MS - 60_000, 60_000);
  const rise = (await floorOf(fixture)) - floor;
  ok(rise <= SETTLE_MS * 1_000, `${rise} is more than the time that passed`);
  equal((await statuses(next)).length, slices.length);
  fixture.clock.stepWall(-20 * YEAR);
  await live(next, 120_000, 5_000);
  const behind = fixture.clock.nowMicros() - (await floorOf(fixture));
  ok(behind >= 601 * SECOND_MICROS && behind < 666 * SECOND_MICROS, String(behind));
});

test("C25: after a night without power the floor rises once the clock has run evenly", async () => {
  const process = await start(HOURLY);
  await process.reconciler.runOnce(never);
  await process.fixture.clock.advance(DAY_MS / 3);
  const next = { ...process, ...process.fixture.start() };
  const floor = await floorOf(next.fixture);
  await live(next, SETTLE_MS - 60_000, 60_000);
  ok((await floorOf(next.fixture)) - floor <= SETTLE_MS * 1_000);
  await live(next, 60_000);
  const behind = process.fixture.clock.nowMicros() - (await floorOf(process.fixture));
  ok(behind >= 601 * SECOND_MICROS && behind < 661 * SECOND_MICROS, String(behind));
});

test("C25: a step of the clock under an hour does not seal the future", async () => {
  const process = await start();
  const { fixture } = process;
  await live(process, 60_000, 5_000);
  const before = await floorOf(fixture);
  fixture.clock.stepWall(59 * 60 * SECOND_MICROS);
  await live(process, 5_000);
  fixture.clock.stepWall(-59 * 60 * SECOND_MICROS);
  await live(process, 5_000);
  const rise = (await floorOf(fixture)) - before;
  ok(rise <= 10_100_000, `the floor rose by ${rise} in ten seconds`);
  equal(process.time.inDoubt, false);
});

test("C25: small steps of the clock add up to doubt, and the floor follows the time that passes", async () => {
  const process = await start();
  const { fixture } = process;
  await live(process, 60_000, 5_000);
  const before = await floorOf(fixture);
  for (let step = 0; step < 60; step++) {
    fixture.clock.stepWall(0.9 * SECOND_MICROS);
    await live(process, 1_000);
  }
  ok((await floorOf(fixture)) - before <= 61 * SECOND_MICROS);
  equal(process.time.inDoubt, true);
});

test("C25: a namespace that is created in doubt accepts events of believed time", async () => {
  const process = await start();
  await process.reconciler.runOnce(never);
  process.fixture.clock.stepWall(HOUR);
  const made = await process.namespaces.create("shows", {});
  equal(made.floor, NOON - 601 * SECOND_MICROS);
});

test("the reconciler and an update never plan the same time twice", async () => {
  const process = await start();
  const { fixture, reconciler, namespaces } = process;
  // Half an hour before midnight the next slice is due in either width.
  await fixture.clock.advance(DAY_MS + 11.5 * 3_600_000);
  const hourly = { secondsPerTimeSlice: 3_600, secondsPerTimeBucket: 3_600 };
  const updating: Promise<unknown>[] = [];
  fixture.catalog.before = async (call, space) => {
    if (updating.length > 0 || call !== "write" || !space.startsWith("slices/")) return;
    // Before the reconciler has stored any of the planned slices.
    updating.push(namespaces.update("plays", { timePartition: hourly }, []));
    updating.push(namespaces.update("plays", { acceptLimitMicros: 2 * DAY }, []));
    await settle();
  };
  await reconciler.runOnce(never);
  equal(updating.length, 2);
  await Promise.all(updating);
  const slices = await namespaces.listTimeSlices("plays");
  for (const [i, slice] of slices.entries()) {
    if (i > 0) equal(slice.start, slices[i - 1]?.end, slice.name);
  }
  const { config } = await namespaces.get("plays");
  equal(config.timePartition.secondsPerTimeSlice, 3_600);
  equal(config.acceptLimitMicros, 2 * DAY);
});

test("after a jump of the clock that is corrected the reconciler works as before", async () => {
  const process = await start(HOURLY);
  const { fixture } = process;
  await live(process, DAY_MS, DAY_MS / 24);
  fixture.clock.stepWall(20 * DAY);
  await live(process, 60_000, 5_000);
  fixture.clock.stepWall(-20 * DAY);
  await live(process, 60_000, 5_000);
  const behind = fixture.clock.nowMicros() - (await floorOf(fixture));
  ok(behind >= 601 * SECOND_MICROS && behind < 661 * SECOND_MICROS, String(behind));
  await live(process, 2 * DAY_MS, DAY_MS / 8);
  ok((await statuses(process)).includes("1200 DROPPED"));
});

test("after a long time without a reconciler much is dropped, once the clock has been watched for a while", async () => {
  const process = await start(HOURLY);
  await live(process, DAY_MS, DAY_MS / 24);
  await process.fixture.clock.advance(10 * DAY_MS);
  const next = { ...process, ...process.fixture.start() };
  equal((await next.reconciler.runOnce(never)).refused > 10, true);
  await live(next, 600_000, 60_000);
  // Ten days are more than Braid believes without a second opinion.
  equal((await statuses(next)).filter((status) => status.endsWith("DROPPED")).length, 0);
  await next.time.confirm();
  await live(next, 20_000, 5_000);
  const there = (await statuses(next)).filter((status) => !status.endsWith("DROPPED"));
  // Two days of retention, the current hour, and the slices made ahead.
  equal(there.length, 2 * 24 + 2);
  equal(next.fixture.store.sliceNames().length, there.length);
});

test("dropping a slice takes a constant number of calls, however many splits it has", async () => {
  const callsWith = async (records: number): Promise<number> => {
    const { process, calls } = await droppedWith(records);
    const slices = await readSlices(process.fixture.catalog, await idOf(process.fixture));
    equal(slices[0]?.storeDropped, true);
    return calls;
  };
  const few = await callsWith(3);
  equal(await callsWith(5_000), few);
  ok(few < 20, `${few} calls`);
});

test("a floor rises while the records of a dropped slice are being removed", async () => {
  const { process, left } = await droppedWith(5_000);
  const { fixture, reconciler } = process;
  const stop = new AbortController();
  const step = Promise.withResolvers<void>();
  // The removal hangs.
  fixture.catalog.before = (call, space) =>
    call === "remove" && /^(?:splits|routes|parts)\//.test(space) ? step.promise : undefined;
  const running = reconciler.run(stop.signal);
  const before = await floorOf(fixture);
  await fixture.clock.advance(120_000);
  ok((await floorOf(fixture)) > before);
  ok(left() > 4_000);
  step.resolve();
  while (left() > 0) await fixture.clock.advance(5_000);
  stop.abort();
  await running;
});

test("a process that starts later removes what another has left of a dropped slice", async () => {
  const { process, left } = await droppedWith(5_000);
  const { fixture } = process;
  let removed = 0;
  fixture.catalog.before = (call) => {
    if (call === "remove" && removed++ === 700) throw new Error("crashed");
  };
  await process.reconciler.removeOnce(never);
  ok(left() > 4_000);
  fixture.recover();
  await fixture.start().reconciler.removeOnce(never);
  equal(left(), 0);
});

/** The calls of the runs that dropped the slice, and what is left of its splits. */
async function droppedWith(records: number) {
  const process = await start({
    retention: { closeAfterMicros: DAY, deleteAfterMicros: DAY + HOUR },
  });
  const { fixture, reconciler } = process;
  const id = await idOf(fixture);
  const slice = "data_20260328";
  await fixture.catalog.write(`split-slices/${id}`, slice, "{}", 0);
  for (let n = 0; n < records; n++) {
    const kind = (["splits", "routes", "parts"] as const)[n % 3] ?? "parts";
    await fixture.catalog.write(`${kind}/${id}/${slice}/${n % 16}`, `id${n}|0|0`, "{}", 0);
  }
  await live(process, 1.5 * DAY_MS + 3_600_000, DAY_MS / 48);
  equal((await statuses(process))[0], "0328 DROPPED");
  await fixture.clock.advance(VIEW_MAX_AGE_MS);
  let calls = 0;
  fixture.catalog.before = () => void calls++;
  await reconciler.runOnce(never);
  await fixture.clock.advance(VIEW_MAX_AGE_MS);
  await reconciler.runOnce(never);
  fixture.recover();
  const left = (): number =>
    fixture.catalog
      .dump()
      .filter((name) => /^(?:splits|routes|parts|split-slices|dropped-slices)\//.test(name)).length;
  return { process, calls, left };
}

async function idOf({ catalog }: ControlFixture): Promise<string> {
  return (await readNamespace(catalog, "plays"))?.id ?? "";
}

test("a failure in one namespace does not hold up the others", async () => {
  const process = await start();
  const { fixture, namespaces, reconciler, events } = process;
  await namespaces.create("broken", {});
  await namespaces.create("unreadable", {});
  const before = await fixture.catalog.read("namespaces", "unreadable");
  await fixture.catalog.write("namespaces", "unreadable", "{", before?.version ?? 0);
  fixture.store.before = (_, slice) => {
    if (slice.namespaceId.startsWith("broken")) throw new Error("disk");
  };
  await fixture.clock.advance(DAY_MS);
  const report = await reconciler.runOnce(never);
  equal(report.failed, 2);
  deepEqual(
    events.flatMap((event) => (event.kind === "failed" ? [event.namespace] : [])).toSorted(),
    ["broken", "unreadable"],
  );
  deepEqual((await statuses(process)).at(-1), "0330 UPCOMING");
  fixture.store.before = () => undefined;
  await reconciler.runOnce(never);
  equal((await process.views.get("broken")).slices.at(-1)?.name, "data_20260330");
});

test("the loop outlives a catalog that fails, and ends with the signal", async () => {
  const process = await start();
  const { fixture, reconciler, events } = process;
  const stop = new AbortController();
  const running = reconciler.run(stop.signal);
  fixture.catalog.before = () => {
    throw new Error("no answer");
  };
  await fixture.clock.advance(20_000);
  ok(events.some(({ kind }) => kind === "failed"));
  fixture.catalog.before = () => undefined;
  const before = await floorOf(fixture);
  await fixture.clock.advance(60_000);
  ok((await floorOf(fixture)) > before);
  stop.abort();
  await running;
});

test("only the newest dropped slices are remembered, and still none is made again", async () => {
  const fixture = new ControlFixture();
  const process = { fixture, ...fixture.start({ droppedKept: 50 }) };
  await process.namespaces.create("plays", {
    timePartition: { secondsPerTimeSlice: 1, secondsPerTimeBucket: 1 },
    acceptLimitMicros: SECOND_MICROS,
    futureLimitMicros: 0,
    retention: { closeAfterMicros: 30 * SECOND_MICROS, deleteAfterMicros: 40 * SECOND_MICROS },
  });
  await live(process, 200_000, 5_000);
  const slices = await process.namespaces.listTimeSlices("plays");
  const dropped = slices.filter(({ status }) => status === "DROPPED").length;
  ok(dropped >= 50 && dropped < 70, String(dropped));
  ok(slices.length - dropped < 60);
});

test("thousands of namespaces with nothing to do cost one listing, and one of the deleted", async () => {
  const { fixture, namespaces, reconciler } = await start();
  for (let i = 0; i < 1_200; i++) await namespaces.create(`n${i}`, {});
  await reconciler.runOnce(never);
  let calls = 0;
  fixture.catalog.before = () => void calls++;
  const report = await reconciler.runOnce(never);
  equal(report.namespaces, 1_201);
  equal(calls, 4);
});

test("on a shared catalog too, namespaces with nothing to do cost one listing and no lease", async () => {
  const { fixture, namespaces, reconciler } = await start({}, { shared: true });
  for (let i = 0; i < 1_000; i++) await namespaces.create(`n${i}`, {});
  await reconciler.runOnce(never);
  const calls: string[] = [];
  fixture.catalog.before = (call, space) => void calls.push(`${call} ${space}`);
  const report = await reconciler.runOnce(never);
  equal(report.namespaces, 1_001);
  deepEqual(calls, [...Array<string>(3).fill("versions namespaces"), "list deleted"]);
});

test("raising the floor costs one write beside that of believed time, and no lease", async () => {
  const { fixture, reconciler } = await start({}, { shared: true });
  await reconciler.runOnce(never);
  await fixture.clock.advance(120_000);
  const calls: string[] = [];
  fixture.catalog.before = (call, space) => void calls.push(`${call} ${space}`);
  await reconciler.runOnce(never);
  deepEqual(calls, ["write service", "versions namespaces", "write namespaces", "list deleted"]);
  equal(await floorOf(fixture), fixture.clock.nowMicros() - 601 * SECOND_MICROS);
});

test("where the catalog is not shared no process takes a lease", async () => {
  const process = await start();
  const { fixture, reconciler } = process;
  let asked = 0;
  fixture.catalog.before = (_, space) => void (space === "leases" && asked++);
  const stop = new AbortController();
  const running = reconciler.run(stop.signal);
  await fixture.clock.advance(60_000);
  stop.abort();
  await running;
  await process.namespaces.update("plays", { acceptLimitMicros: 3 * DAY }, []);
  await process.namespaces.delete("plays");
  equal(asked, 0);
});

test("one process keeps the slices; when it dies another takes over, and when it wakes it stays out", async () => {
  const timePartition = { secondsPerTimeSlice: 600, secondsPerTimeBucket: 600 };
  const { fixture } = await start({ timePartition }, { shared: true });
  const signal = new AbortController();
  const calls = new OneByOne();
  let stopped = false;
  const first = fixture.start({ gate: () => (stopped ? calls.gate() : undefined) });
  const second = fixture.start();
  const running = [first.reconciler.run(signal.signal)];
  await fixture.clock.advance(1_000);
  running.push(second.reconciler.run(signal.signal));
  await fixture.clock.advance(2 * 600_000);
  const madeBy = ({ events }: ControlProcess): number =>
    events.filter((event) => event.kind === "slices" && event.action === "made").length;
  deepEqual([madeBy(first), madeBy(second)], [2, 0]);
  stopped = true;
  await fixture.clock.advance(600_000);
  deepEqual([madeBy(first), madeBy(second)], [2, 1]);
  stopped = false;
  while (calls.waiting > 0) {
    calls.letThrough(0);
    await settle();
  }
  await fixture.clock.advance(600_000);
  deepEqual([madeBy(first), madeBy(second)], [2, 2]);
  deepEqual(
    [...first.events, ...second.events].filter(({ kind }) => kind === "failed"),
    [],
  );
  signal.abort();
  await Promise.all(running);
});

test("slow work on the slices of one namespace does not hold up the reconciler", async () => {
  const process = await start();
  const { fixture, namespaces, reconciler } = process;
  await namespaces.create("shows", {});
  await fixture.clock.advance(DAY_MS);
  const store = new OneByOne();
  fixture.store.before = (_, { namespaceId }) =>
    namespaceId.startsWith("plays") ? store.gate() : undefined;
  const updating = namespaces.update("plays", { acceptLimitMicros: 3 * DAY }, []);
  await settle();
  equal((await reconciler.runOnce(never)).made, 1);
  equal((await process.views.get("shows")).slices.length, 3);
  fixture.store.before = () => undefined;
  while (store.waiting > 0) {
    store.letThrough(0);
    await settle();
  }
  await updating;
});

test("U11: a reconciler that shuts down lets the next one begin at once", async () => {
  const { fixture, reconciler } = await start({}, { shared: true });
  const [stop, stopNext] = [new AbortController(), new AbortController()];
  const running = reconciler.run(stop.signal);
  await settle();
  stop.abort();
  await running;
  const next = fixture.start();
  await fixture.clock.advance(DAY_MS);
  const runningNext = next.reconciler.run(stopNext.signal);
  await settle();
  equal((await statuses(next)).length, 3);
  stopNext.abort();
  await runningNext;
});

test("a creation that is slow but alive is left alone; one that died is removed", async () => {
  for (const alive of [true, false]) {
    const fixture = new ControlFixture({ shared: true });
    const store = new OneByOne();
    const calls = new StopAfter(alive ? Number.POSITIVE_INFINITY : 12);
    const creating = fixture.start({ gate: calls.gate });
    fixture.store.before = (call) => (call === "createSlice" ? store.gate() : undefined);
    const created = creating.namespaces.create("plays", {}).then(
      () => "created",
      () => "refused",
    );
    const process = { fixture, ...fixture.start() };
    await live(process, 300_000, 5_000);
    const phase = (await readNamespace(fixture.catalog, "plays"))?.phase;
    equal(phase, alive ? "CREATING" : undefined);
    calls.resume();
    for (let i = 0; i < 10; i++) {
      if (store.waiting > 0) store.letThrough(0);
      await settle();
    }
    equal(await created, alive ? "created" : "refused");
    await live(process, 300_000, 5_000);
    equal(fixture.store.sliceNames().length, alive ? 2 : 0);
  }
});

test("a clock that is in doubt makes a few slices, not thousands", async () => {
  const process = await start({ timePartition: { secondsPerTimeSlice: 3_600 } });
  const { fixture } = process;
  await live(process, SETTLE_MS);
  const before = (await statuses(process)).length;
  fixture.clock.stepWall(300 * DAY);
  await live(process, 60_000, 5_000);
  equal((await statuses(process)).length, before);
  fixture.clock.stepWall(-290 * DAY);
  await live(process, 60_000, 5_000);
  equal((await statuses(process)).length, before + 240);
});

const WEEK = 7 * DAY;
const WEEKLY: NamespaceConfigPatch = {
  timePartition: { secondsPerTimeSlice: 7 * 86_400 },
  retention: { closeAfterMicros: 55 * DAY, deleteAfterMicros: 60 * DAY },
};

/**
 * A namespace of weekly slices that has lived for ten weeks, with the default grace of a day. The
 * first slice has an event, if `written`.
 */
async function tenWeeks(written = true): Promise<ControlProcess & { fixture: ControlFixture }> {
  const fixture = new ControlFixture({ dropGraceMs: DAY_MS });
  const process = { fixture, ...fixture.start() };
  const { id } = await process.namespaces.create("plays", WEEKLY);
  await live(process, 8 * 7 * DAY_MS, DAY_MS);
  if (written) {
    const [first] = await readSlices(fixture.catalog, id);
    const ref = { namespaceId: id, slice: first?.name ?? "" };
    await fixture.store.append(ref, [placed("a", NOON, "e")]);
  }
  return process;
}

test("E4, U9, C26: a clock that is a year ahead at the start drops and closes nothing", async () => {
  const process = await tenWeeks();
  const before = (await statuses(process)).length;
  process.fixture.clock.stepWall(YEAR);
  const next = { ...process, ...process.fixture.start() };
  await live(next, 60_000, 5_000);
  await live(next, DAY_MS / 2, 600_000);
  const after = (await statuses(next)).slice(0, before);
  deepEqual(
    after.filter((status) => !/ (SEALED|ACTIVE|UPCOMING)$/.test(status)),
    [],
  );
});

test("E5, C26: retention marks a slice as DROPPING, and drops it for good when its grace has passed", async () => {
  const process = await tenWeeks();
  await live(process, WEEK / 1_000 - DAY_MS / 2, DAY_MS / 2);
  const first = (await process.namespaces.listTimeSlices("plays"))[0];
  while ((await statuses(process))[0]?.endsWith("CLOSED") !== false) await live(process, 3_600_000);
  const [dropping] = await process.namespaces.listTimeSlices("plays");
  equal(dropping?.status, "DROPPING");
  equal(dropping.dropAt, process.fixture.clock.nowMicros() + DAY);
  await live(process, DAY_MS - 60_000, DAY_MS - 60_000);
  equal((await statuses(process))[0]?.slice(5), "DROPPING");
  ok(process.fixture.store.sliceNames().some((name) => name.endsWith(first?.name ?? "?")));
  await live(process, 60_000);
  equal((await statuses(process))[0]?.slice(5), "DROPPED");
});

/** Until the first slice is DROPPING. */
async function untilDropping(
  process: ControlProcess & { fixture: ControlFixture },
): Promise<string> {
  for (let hour = 0; hour < 24 * 30; hour++) {
    const [first] = await process.namespaces.listTimeSlices("plays");
    if (first?.status === "DROPPING") return first.name;
    await live(process, 3_600_000);
  }
  throw new Error("no slice is DROPPING");
}

test("E5, C26: an operator restores a DROPPING slice for one more grace; a dropped slice stays dropped", async () => {
  const process = await tenWeeks();
  const { namespaces } = process;
  const name = await untilDropping(process);
  equal((await namespaces.undropTimeSlice("plays", name)).status, "CLOSED");
  await live(process, DAY_MS - 3_600_000, 3_600_000);
  equal((await statuses(process))[0]?.slice(5), "CLOSED");
  await live(process, 2 * 3_600_000, 3_600_000);
  equal((await statuses(process))[0]?.slice(5), "DROPPING");
  await live(process, DAY_MS + 3_600_000, 3_600_000);
  await rejects(namespaces.undropTimeSlice("plays", name), { code: "TIME_SLICE_NOT_FOUND" });
  await rejects(namespaces.undropTimeSlice("plays", "data_x"), { code: "TIME_SLICE_NOT_FOUND" });
});

test("E5, C26: a longer retention restores DROPPING slices by itself", async () => {
  const process = await tenWeeks();
  await untilDropping(process);
  await process.namespaces.update("plays", { retention: { deleteAfterMicros: 90 * DAY } }, []);
  await process.reconciler.runOnce(never);
  equal((await statuses(process))[0]?.slice(5), "CLOSED");
});

test("C26: a slice without events is dropped without a grace", async () => {
  const process = await tenWeeks(false);
  const first = (): Promise<string> => statuses(process).then(([status]) => status?.slice(5) ?? "");
  for (let hours = 0; (await first()) !== "DROPPED"; hours++) {
    ok(hours < 24 * 30, "it is dropped");
    equal((await first()) === "DROPPING", false);
    await live(process, 3_600_000);
  }
});

test("C26: an operator purges a slice that is DROPPING, and no other", async () => {
  const process = await tenWeeks();
  const { namespaces } = process;
  const name = await untilDropping(process);
  equal((await namespaces.purgeTimeSlice("plays", name)).status, "DROPPED");
  equal((await namespaces.purgeTimeSlice("plays", name)).status, "DROPPED");
  await live(process, 30_000, 5_000);
  ok(!process.fixture.store.sliceNames().some((each) => each.endsWith(name)));
  await rejects(namespaces.undropTimeSlice("plays", name), { code: "TIME_SLICE_NOT_FOUND" });
  const last = (await namespaces.listTimeSlices("plays")).at(-1)?.name ?? "";
  await rejects(namespaces.purgeTimeSlice("plays", last), { code: "CONFLICT" });
  await rejects(namespaces.purgeTimeSlice("plays", "data_x"), { code: "TIME_SLICE_NOT_FOUND" });
});
