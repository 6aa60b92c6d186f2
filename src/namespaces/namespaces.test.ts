import { deepEqual, equal, match, notEqual, ok, rejects } from "node:assert/strict";
import { test } from "node:test";
import {
  ControlFixture,
  DAY,
  HOUR,
  NOON,
  VIEW_MAX_AGE_MS,
  never,
} from "../../tests/support/control-fixture.ts";
import { settle } from "../../tests/support/virtual-clock.ts";
import { ServiceError } from "../lib/errors.ts";
import { addIdStep } from "../records/id-strategies.ts";
import { readNamespace } from "../records/namespace-records.ts";
import { writeEvidence } from "../records/evidence-records.ts";
import { readSlices, writeSlice } from "../records/slice-records.ts";
import { SliceOwnership } from "./slice-ownership.ts";
import { noteChange } from "../records/split-changes.ts";
import { SECOND_MICROS } from "../model/namespace-config.ts";

/** What the catalog holds, except for the installation's own records. */
/** When the records of what was dropped are removed too, as they are in the background. */
async function leftIn(fixture: ControlFixture): Promise<string[]> {
  await fixture.removeDropped();
  return fixture.catalog.dump().filter((record) => !record.startsWith("service/"));
}

const ACCEPT_3_DAYS = { acceptLimitMicros: 3 * DAY };

test("a namespace has its slices, in the store too, before any process sees it", async () => {
  const fixture = new ControlFixture();
  const { namespaces, views } = fixture.start();
  fixture.store.before = async (call) => {
    if (call === "createSlice")
      await rejects(namespaces.get("plays"), { code: "NAMESPACE_NOT_FOUND" });
  };
  const created = await namespaces.create("plays", { acceptLimitMicros: DAY });
  match(created.id, /^plays-[0-9a-f]{16}$/);
  equal(created.floor, NOON - DAY - SECOND_MICROS);
  const { slices } = await views.get("plays");
  deepEqual(
    slices.map(({ name }) => name),
    ["data_20260327", "data_20260328", "data_20260329"],
  );
  deepEqual(
    fixture.store.sliceNames(),
    slices.map(({ name }) => `${created.id}/${name}`),
  );
});

test("a name is used once: of several calls that create it one succeeds", async () => {
  const fixture = new ControlFixture();
  const { namespaces } = fixture.start();
  const results = await Promise.allSettled(
    Array.from({ length: 4 }, () => namespaces.create("plays", {})),
  );
  equal(results.filter(({ status }) => status === "fulfilled").length, 1);
  for (const result of results) {
    if (result.status === "rejected")
      equal((result.reason as ServiceError).code, "NAMESPACE_EXISTS");
  }
  await rejects(namespaces.create("plays", {}), { code: "NAMESPACE_EXISTS" });
});

test("all problems of a configuration are reported, in the message and in the details", async () => {
  const { namespaces } = new ControlFixture().start();
  const patch = { futureLimitMicros: -1, timePartition: { eventBuckets: 0 } };
  await rejects(namespaces.create("plays", patch), (error) => {
    ok(error instanceof ServiceError);
    equal(error.code, "CONFIG_INVALID");
    deepEqual(error.message.split("; choose").length, 3);
    equal((error.details["problems"] as readonly string[]).length, 2);
    return true;
  });
  await rejects(namespaces.create("No!", patch), { code: "REQUEST_INVALID" });
});

test("C4: what cannot work is refused in an update as well, and nothing is changed", async () => {
  const { namespaces } = new ControlFixture().start();
  const { config, version } = await namespaces.create("plays", {});
  const { closeAfterMicros } = config.retention;
  for (const patch of [
    { acceptLimitMicros: closeAfterMicros },
    { retention: { deleteAfterMicros: closeAfterMicros } },
    { futureLimitMicros: config.timePartition.secondsPerTimeSlice * SECOND_MICROS },
  ]) {
    await rejects(namespaces.update("plays", patch, []), { code: "CONFIG_INVALID" });
  }
  equal((await namespaces.get("plays")).version, version);
});

test("namespaces are listed in pages, by name", async () => {
  const { namespaces } = new ControlFixture().start();
  for (const name of ["c", "a", "b"]) await namespaces.create(name, {});
  const first = await namespaces.list({ pageSize: 2 });
  deepEqual(
    first.namespaces.map(({ name }) => name),
    ["a", "b"],
  );
  const second = await namespaces.list({ pageSize: 2, pageToken: first.nextPageToken });
  deepEqual(
    second.namespaces.map(({ name }) => name),
    ["c"],
  );
  equal(second.nextPageToken, "");
  equal((await namespaces.list({ pageSize: 3 })).nextPageToken, "");
  await rejects(namespaces.list({ pageSize: 1_001 }), { code: "REQUEST_INVALID" });
  await rejects(namespaces.list({ pageToken: "?" }), { code: "PAGE_TOKEN_INVALID" });
});

test("an update changes what is given and resets what is named", async () => {
  const { namespaces, views } = new ControlFixture().start();
  const created = await namespaces.create("plays", {});
  await namespaces.update("plays", { slos: { read: { maxMs: 2_000 } } }, []);
  equal(views.current("plays")?.namespace.config.slos.read.maxMs, 2_000);
  const reset = await namespaces.update("plays", { futureLimitMicros: 0 }, ["slos.read"]);
  deepEqual(reset.config.slos, created.config.slos);
  equal(reset.config.futureLimitMicros, 0);
  equal(reset.epoch, 0);
  ok(reset.version > created.version);
  await rejects(namespaces.update("plays", {}, ["slos.reed"]), { code: "CONFIG_INVALID" });
  await rejects(namespaces.update("other", {}, []), { code: "NAMESPACE_NOT_FOUND" });
});

test("G4: a change made while slices are created is kept", async () => {
  const fixture = new ControlFixture();
  const { namespaces } = fixture.start();
  await namespaces.create("plays", {});
  const other = fixture.start().namespaces;
  let changed = false;
  fixture.store.before = async (call) => {
    if (changed || call !== "createSlice") return;
    changed = true;
    await other.update("plays", { slos: { read: { maxMs: 2_000 } } }, []);
  };
  const after = await namespaces.update("plays", ACCEPT_3_DAYS, []);
  ok(changed);
  equal(after.config.slos.read.maxMs, 2_000);
  equal(after.config.acceptLimitMicros, 3 * DAY);
});

test("a namespace deleted while its slices are made leaves none of them", async () => {
  const fixture = new ControlFixture();
  const { namespaces, reconciler } = fixture.start();
  await namespaces.create("plays", {});
  let deleting: Promise<unknown> | undefined;
  fixture.store.before = (call) => {
    if (call === "createSlice") deleting ??= namespaces.delete("plays");
  };
  const updating = namespaces.update("plays", ACCEPT_3_DAYS, []);
  // Which of the two is refused does not matter.
  await Promise.allSettled([updating]);
  ok(deleting !== undefined);
  await deleting;
  await reconciler.runOnce(never);
  deepEqual(await leftIn(fixture), []);
  deepEqual(fixture.store.sliceNames(), []);
});

test("a damaged slice is listed without its numbers; another failure is reported", async () => {
  const fixture = new ControlFixture();
  const { namespaces } = fixture.start();
  await namespaces.create("plays", {});
  const fail = (code: "DATA_LOSS" | "STORAGE_UNAVAILABLE") => {
    fixture.store.before = (call, { slice }) => {
      if (call === "sliceStats" && slice === "data_20260328") throw new ServiceError(code, "no");
    };
  };
  fail("DATA_LOSS");
  const slices = await namespaces.listTimeSlices("plays");
  deepEqual(
    slices.map(({ name, events, bytes }) => [name, events, bytes]),
    [
      ["data_20260328", 0, 0],
      ["data_20260329", 0, 0],
    ],
  );
  fail("STORAGE_UNAVAILABLE");
  await rejects(namespaces.listTimeSlices("plays"), { code: "STORAGE_UNAVAILABLE" });
});

test("a width that would not begin within a year is refused", async () => {
  const { namespaces } = new ControlFixture().start();
  await namespaces.create("plays", {});
  const timePartition = { secondsPerTimeSlice: 86_399, secondsPerTimeBucket: 86_399 };
  await rejects(namespaces.update("plays", { timePartition }, []), {
    code: "CONFIG_INVALID",
    message: /no boundary in common/,
  });
});

test("raising acceptLimit makes the slices, then begins an epoch, and only then accepts", async () => {
  const fixture = new ControlFixture();
  const { namespaces, views } = fixture.start();
  const before = await namespaces.create("plays", {});
  const writes: string[] = [];
  fixture.catalog.before = (call, space) =>
    void (call === "write" && writes.push(space.split("/")[0] ?? ""));
  const after = await namespaces.update("plays", ACCEPT_3_DAYS, []);
  // Announced, three slices listed and opened, announced; the epoch; the limit.
  deepEqual(writes, [
    "namespaces",
    ...Array(6).fill("slices"),
    "namespaces",
    "namespaces",
    "namespaces",
  ]);
  equal(after.epoch, before.epoch + 1);
  equal(after.floor, NOON - 3 * DAY - SECOND_MICROS);
  equal(after.config.acceptLimitMicros, 3 * DAY);
  equal((await views.get("plays")).slices.length, 5);
});

test("where others hold views, a raised acceptLimit is in force only view_max_age after the epoch", async () => {
  const fixture = new ControlFixture({ shared: true });
  const { namespaces } = fixture.start();
  const before = await namespaces.create("plays", {});
  const updating = namespaces.update("plays", ACCEPT_3_DAYS, []);
  await fixture.clock.advance(VIEW_MAX_AGE_MS - 1);
  const meanwhile = await readNamespace(fixture.catalog, "plays");
  equal(meanwhile?.epoch, before.epoch + 1);
  equal(meanwhile?.config.acceptLimitMicros, before.config.acceptLimitMicros);
  // Within the new epoch the floor is already where the new limit needs it.
  equal(meanwhile?.floor, NOON - 3 * DAY - SECOND_MICROS);
  await fixture.clock.advance(1);
  equal((await updating).config.acceptLimitMicros, 3 * DAY);
});

test("lowering acceptLimit cancels a raise that is not in force yet", async () => {
  const fixture = new ControlFixture({ shared: true });
  const { namespaces } = fixture.start();
  await namespaces.create("plays", {});
  const raising = namespaces.update("plays", ACCEPT_3_DAYS, []);
  await settle();
  const lowered = await namespaces.update("plays", { acceptLimitMicros: 60 * SECOND_MICROS }, []);
  equal(lowered.config.acceptLimitMicros, 60 * SECOND_MICROS);
  await fixture.clock.advance(VIEW_MAX_AGE_MS);
  await raising;
  const now = await readNamespace(fixture.catalog, "plays");
  equal(now?.config.acceptLimitMicros, 60 * SECOND_MICROS);
  equal(now?.reopening, null);
});

test("an update that does not name a limit that is being opened continues its epoch", async () => {
  const fixture = new ControlFixture({ shared: true });
  const { namespaces } = fixture.start();
  await namespaces.create("plays", {});
  const raising = namespaces.update("plays", ACCEPT_3_DAYS, []);
  await fixture.clock.advance(5_000);
  const other = namespaces.update("plays", { futureLimitMicros: 0 }, []);
  await fixture.clock.advance(VIEW_MAX_AGE_MS);
  const { epoch, config } = await raising;
  deepEqual([epoch, config.acceptLimitMicros], [1, 3 * DAY]);
  const after = await other;
  deepEqual([after.epoch, after.config.acceptLimitMicros], [1, 3 * DAY]);
  equal(after.config.futureLimitMicros, 0);
});

test("raising acceptLimit never opens time that was dropped", async () => {
  const fixture = new ControlFixture();
  const { namespaces, reconciler } = fixture.start({ evenMs: 0 });
  const retention = { closeAfterMicros: DAY, deleteAfterMicros: DAY + HOUR };
  await namespaces.create("plays", { retention });
  for (let day = 0; day < 4; day++) {
    await fixture.clock.advance(86_400_000);
    await reconciler.runOnce(never);
  }
  const after = await namespaces.update(
    "plays",
    {
      acceptLimitMicros: 10 * DAY,
      retention: { closeAfterMicros: 20 * DAY, deleteAfterMicros: 30 * DAY },
    },
    [],
  );
  const slices = await namespaces.listTimeSlices("plays");
  const droppedUntil = Math.max(
    ...slices.filter(({ status }) => status === "DROPPED").map(({ end }) => end),
  );
  ok(droppedUntil > NOON);
  equal(after.floor, droppedUntil);
  deepEqual(
    slices.map(({ start }) => start).toSorted((a, b) => a - b),
    slices.map(({ start }) => start),
  );
});

test("a longer retention opens closed slices at once", async () => {
  const fixture = new ControlFixture();
  const { namespaces, reconciler, views } = fixture.start();
  await namespaces.create("plays", {
    retention: { closeAfterMicros: DAY, deleteAfterMicros: 9 * DAY },
  });
  await fixture.clock.advance(3 * 86_400_000);
  await reconciler.runOnce(never);
  const statuses = async () =>
    (await namespaces.listTimeSlices("plays")).map(({ status }) => status);
  deepEqual(await statuses(), ["CLOSED", "CLOSED", "SEALED", "ACTIVE", "UPCOMING"]);
  equal((await views.get("plays")).slices.length, 3);
  await namespaces.update("plays", { retention: { closeAfterMicros: 8 * DAY } }, []);
  deepEqual(await statuses(), ["SEALED", "SEALED", "SEALED", "ACTIVE", "UPCOMING"]);
  equal((await views.get("plays")).slices.length, 5);
});

test("C25: a longer retention opens closed slices by believed time", async () => {
  const fixture = new ControlFixture();
  const { namespaces, reconciler, time } = fixture.start();
  await namespaces.create("plays", {
    retention: { closeAfterMicros: DAY, deleteAfterMicros: 9 * DAY },
  });
  await fixture.clock.advance(3 * 86_400_000);
  await reconciler.runOnce(never);
  fixture.clock.stepWall(5 * DAY);
  equal(time.inDoubt, true);
  await namespaces.update("plays", { retention: { closeAfterMicros: 4 * DAY } }, []);
  const { id } = (await readNamespace(fixture.catalog, "plays")) ?? { id: "" };
  const closed = (await readSlices(fixture.catalog, id)).filter(({ state }) => state === "CLOSED");
  deepEqual(closed, []);
});

test("E7: a deleted namespace is gone with all it had, and its name can be used again", async () => {
  const fixture = new ControlFixture();
  const { namespaces, views } = fixture.start();
  const first = await namespaces.create("plays", {});
  await namespaces.blockIds("plays", [{ seriesId: "spam", reason: "", expiresAt: undefined }]);
  await namespaces.delete("plays");
  await rejects(views.get("plays"), { code: "NAMESPACE_NOT_FOUND" });
  await rejects(namespaces.delete("plays"), { code: "NAMESPACE_NOT_FOUND" });
  deepEqual(await leftIn(fixture), []);
  deepEqual(fixture.store.sliceNames(), []);
  const second = await namespaces.create("plays", {});
  notEqual(second.id, first.id);
  equal((await views.get("plays")).blocked.size, 0);
});

test("the records of its splits are removed with a namespace", async () => {
  const fixture = new ControlFixture();
  const { namespaces } = fixture.start();
  const { id } = await namespaces.create("plays", {});
  await addIdStep(fixture.catalog, "plays", "a", { from: NOON, factor: 2 });
  const kind = { layout: "PACKED", layoutVersion: 1, strategy: "HASH", round: 0, since: 0 };
  const counts = { readsCompared: 1, bytesMatched: 1, bytesDiffered: 0 };
  const counter = { counter: "server-1.0", marks: [1] };
  await writeEvidence(fixture.catalog, id, { ...kind, ...counts, ...counter });
  const slice = { namespaceId: id, slice: "data_20260328" };
  await noteChange(fixture.catalog, NOON, {
    ...slice,
    seriesId: "a",
    timeBucket: 0,
    eventBucket: 0,
  });
  await namespaces.delete("plays");
  deepEqual(await leftIn(fixture), []);
});

test("a namespace remembers for ever that it was EVENTUAL", async () => {
  const { namespaces } = new ControlFixture().start();
  const ever = async (name: string): Promise<boolean> => (await namespaces.get(name)).everEventual;
  await namespaces.create("plays", {});
  await namespaces.create("shows", { consistency: "EVENTUAL" });
  deepEqual([await ever("plays"), await ever("shows")], [false, true]);
  await namespaces.update("shows", { consistency: "READ_YOUR_WRITES" }, []);
  equal(await ever("shows"), true);
  // Each is written differently: alone, with other slices, with a re-opening.
  const others = [{}, { futureLimitMicros: HOUR }, ACCEPT_3_DAYS];
  for (const [i, other] of others.entries()) {
    const name = `n${i}`;
    await namespaces.create(name, {});
    await namespaces.update(name, { consistency: "EVENTUAL", ...other }, []);
    await namespaces.update(name, { consistency: "READ_YOUR_WRITES" }, []);
    equal(await ever(name), true, name);
  }
});

test("the rest of a namespace in the store is removed after all of its slices", async () => {
  const fixture = new ControlFixture();
  const { namespaces } = fixture.start();
  await namespaces.create("plays", {});
  const calls: string[] = [];
  fixture.store.before = (call, { slice }) => void calls.push(`${call} ${slice}`);
  await namespaces.delete("plays");
  deepEqual(calls.slice(0, -1).toSorted(), [
    "dropSlice data_20260328",
    "dropSlice data_20260329",
    "dropSlice wide_data_20260328_0",
    "dropSlice wide_data_20260329_0",
  ]);
  equal(calls.at(-1), "dropNamespace ");
});

test("a slice that a late process changes while its namespace is deleted is removed too", async () => {
  const fixture = new ControlFixture();
  const { namespaces } = fixture.start();
  const { id } = await namespaces.create("plays", {});
  let moved = false;
  fixture.store.before = async (call) => {
    if (moved || call !== "dropSlice") return;
    moved = true;
    for (const slice of await readSlices(fixture.catalog, id)) {
      await writeSlice(fixture.catalog, id, { ...slice, state: "CLOSED" });
    }
  };
  await namespaces.delete("plays");
  ok(moved);
  deepEqual(await leftIn(fixture), []);
  deepEqual(fixture.store.sliceNames(), []);
});

test("where others hold views, nothing is dropped until view_max_age after a namespace is marked", async () => {
  const fixture = new ControlFixture({ shared: true });
  const { namespaces } = fixture.start();
  await namespaces.create("plays", {});
  const deleting = namespaces.delete("plays");
  await fixture.clock.advance(VIEW_MAX_AGE_MS - 1);
  await rejects(namespaces.get("plays"), { code: "NAMESPACE_NOT_FOUND" });
  await rejects(namespaces.create("plays", {}), { code: "CONFLICT" });
  equal(fixture.store.sliceNames().length, 2);
  await fixture.clock.advance(1);
  await deleting;
  deepEqual(fixture.store.sliceNames(), []);
});

test("ids are blocked, listed without the expired, and unblocked", async () => {
  const fixture = new ControlFixture();
  const { namespaces, views } = fixture.start();
  await namespaces.create("plays", {});
  const blocked = await namespaces.blockIds("plays", [
    { seriesId: "spam", reason: "old", expiresAt: undefined },
    { seriesId: "bot", reason: "", expiresAt: NOON + HOUR },
    { seriesId: "spam", reason: "new", expiresAt: undefined },
  ]);
  equal(blocked.length, 2);
  equal(views.current("plays")?.blocked.get("spam")?.reason, "new");
  await fixture.clock.advance(3_600_000);
  const { ids } = await namespaces.listBlockedIds("plays", {});
  deepEqual(
    ids.map(({ seriesId }) => seriesId),
    ["spam"],
  );
  equal(await namespaces.unblockIds("plays", ["spam", "nobody"]), 1);
  equal(views.current("plays")?.blocked.has("spam"), false);
});

test("the problems of ids to block are reported for all of them", async () => {
  const { namespaces } = new ControlFixture().start();
  await namespaces.create("plays", {});
  const ids = [
    { seriesId: "", reason: "", expiresAt: undefined },
    { seriesId: "x".repeat(513), reason: "", expiresAt: undefined },
    { seriesId: "\ud800", reason: "", expiresAt: undefined },
    { seriesId: "late", reason: "", expiresAt: NOON },
  ];
  await rejects(namespaces.blockIds("plays", ids), (error) => {
    ok(error instanceof ServiceError);
    equal(error.code, "REQUEST_INVALID");
    equal((error.details["problems"] as readonly string[]).length, 4);
    return true;
  });
  await rejects(namespaces.blockIds("plays", []), { code: "REQUEST_INVALID" });
});

test("G9: blocked ids are bounded, and expired ones make room", async () => {
  const fixture = new ControlFixture();
  const { namespaces } = fixture.start({ blockedIdsMax: 3 });
  await namespaces.create("plays", {});
  const block = (seriesId: string, expiresAt?: number) =>
    namespaces.blockIds("plays", [{ seriesId, reason: "", expiresAt }]);
  await block("a");
  await block("b", NOON + HOUR);
  await block("c");
  await rejects(block("d"), { code: "REQUEST_INVALID", message: /limit of 3/ });
  await fixture.clock.advance(3_600_000);
  await block("d");
  await rejects(block("e"), { code: "REQUEST_INVALID" });
});

test("of several servers that create a name at once one succeeds, the others get an error", async () => {
  const fixture = new ControlFixture({ shared: true });
  const results = await Promise.allSettled(
    Array.from({ length: 4 }, () => fixture.start().namespaces.create("plays", {})),
  );
  const refused = results.flatMap((result) =>
    result.status === "rejected" ? [(result.reason as ServiceError).code] : [],
  );
  equal(refused.length, 3);
  for (const code of refused) ok(["NAMESPACE_EXISTS", "CONFLICT"].includes(code), code);
  equal(fixture.store.sliceNames().length, 2);
});

test("a caller that needs slices that another server is changing waits a while, then gets an error to retry", async () => {
  const fixture = new ControlFixture({ shared: true });
  const { namespaces } = fixture.start();
  const { id } = await namespaces.create("plays", {});
  const elsewhere = new SliceOwnership({ catalog: fixture.catalog, clock: fixture.clock });
  const done = Promise.withResolvers<void>();
  const owning = elsewhere.own(id, { waitMs: 0 }, () => done.promise);
  await settle();
  const updating = rejects(namespaces.update("plays", ACCEPT_3_DAYS, []), (error) => {
    ok(error instanceof ServiceError);
    equal(error.code, "CONFLICT");
    ok((error.retryAfterMs ?? 0) > 0);
    return true;
  });
  await fixture.passWhile(updating);
  await updating;
  equal((await readNamespace(fixture.catalog, "plays"))?.changing, null);
  const again = namespaces.update("plays", ACCEPT_3_DAYS, []);
  await fixture.clock.advance(3_000);
  done.resolve();
  await owning;
  await fixture.passWhile(again);
  equal((await again).config.acceptLimitMicros, 3 * DAY);
});

test("a clock that is far ahead does not make an update plan thousands of slices", async () => {
  const fixture = new ControlFixture();
  const { namespaces } = fixture.start();
  const timePartition = { secondsPerTimeSlice: 3_600, secondsPerTimeBucket: 3_600 };
  const { floor } = await namespaces.create("plays", { timePartition });
  fixture.clock.stepWall(365 * DAY);
  const after = await namespaces.update("plays", { acceptLimitMicros: DAY }, []);
  ok(after.floor < floor, "time was opened");
  const slices = await namespaces.listTimeSlices("plays");
  ok(slices.length < 30, String(slices.length));
  for (const [i, slice] of slices.entries()) {
    if (i > 0) equal(slice.start, slices[i - 1]?.end);
  }
});

/** Repeats `act`, which dies one operation later each time, until it succeeds. */
async function sweepCrashes(
  shared: boolean,
  prepare: (fixture: ControlFixture) => Promise<void>,
  act: (fixture: ControlFixture) => Promise<unknown>,
  check: (fixture: ControlFixture, done: boolean) => Promise<void>,
): Promise<void> {
  for (let operation = 0; ; operation++) {
    ok(operation < 200, "the action ends");
    const fixture = new ControlFixture({ shared });
    await prepare(fixture);
    fixture.crashAt(operation);
    let done = false;
    const acting = act(fixture).then(
      () => (done = true),
      () => undefined,
    );
    await fixture.clock.advance(VIEW_MAX_AGE_MS);
    await acting;
    fixture.recover();
    // Another process takes over; its reconciler runs for two minutes.
    const { reconciler, events } = fixture.start();
    for (let i = 0; i < 24; i++) {
      await reconciler.runOnce(never);
      await fixture.clock.advance(5_000);
    }
    equal(events.filter(({ kind }) => kind === "failed").length, 0);
    await check(fixture, done);
    if (done) return;
  }
}

async function checkConsistent(fixture: ControlFixture): Promise<void> {
  const record = await readNamespace(fixture.catalog, "plays");
  if (record === undefined) {
    deepEqual(await leftIn(fixture), []);
    deepEqual(fixture.store.sliceNames(), []);
    return;
  }
  equal(record.phase, "READY");
  equal(record.reopening, null);
  equal(record.changing, null);
  const slices = await readSlices(fixture.catalog, record.id);
  const names = slices.map(({ name }) => `${record.id}/${name}`);
  deepEqual(fixture.store.sliceNames(), names.toSorted());
  const now = fixture.clock.nowMicros();
  ok((slices[0]?.start ?? now) <= now - record.config.acceptLimitMicros);
  ok((slices.at(-1)?.end ?? now) >= now + record.config.futureLimitMicros);
  for (const [i, slice] of slices.entries()) {
    if (i > 0) equal(slice.start, slices[i - 1]?.end);
  }
}

for (const shared of [false, true]) {
  const where = shared ? "a shared catalog" : "a catalog of its own";
  test(`a creation that dies anywhere leaves all or nothing, on ${where}`, () =>
    sweepCrashes(
      shared,
      async () => undefined,
      (fixture) => fixture.start().namespaces.create("plays", {}),
      async (fixture, done) => {
        await checkConsistent(fixture);
        if (done) await fixture.start().namespaces.get("plays");
        else if ((await readNamespace(fixture.catalog, "plays")) === undefined) {
          await fixture.start().namespaces.create("plays", {});
        }
      },
    ));

  test(`a deletion that dies anywhere is finished or was not begun, on ${where}`, () =>
    sweepCrashes(
      shared,
      async (fixture) => void (await fixture.start().namespaces.create("plays", {})),
      (fixture) => fixture.start().namespaces.delete("plays"),
      async (fixture, done) => {
        await checkConsistent(fixture);
        if (done) equal(await readNamespace(fixture.catalog, "plays"), undefined);
      },
    ));

  test(`G4: a re-opening that dies anywhere is finished or was not begun, on ${where}`, () =>
    sweepCrashes(
      shared,
      async (fixture) => void (await fixture.start().namespaces.create("plays", {})),
      (fixture) => fixture.start().namespaces.update("plays", ACCEPT_3_DAYS, []),
      async (fixture, done) => {
        await checkConsistent(fixture);
        const record = await readNamespace(fixture.catalog, "plays");
        equal(record?.epoch, record?.config.acceptLimitMicros === 3 * DAY ? 1 : 0);
        if (done) equal(record?.epoch, 1);
      },
    ));
}
