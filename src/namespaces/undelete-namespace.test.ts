import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { test } from "node:test";
import { placed } from "../../tests/conformance/event-store.ts";
import {
  ControlFixture,
  DAY,
  NOON,
  VIEW_MAX_AGE_MS,
  never,
} from "../../tests/support/control-fixture.ts";
import type { ControlProcess } from "../../tests/support/control-fixture.ts";
import { StopAfter } from "../../tests/support/stopped-process.ts";
import { ServiceError } from "../lib/errors.ts";
import { readDeleted, writeDeleted } from "../records/deleted-records.ts";
import { locateNamespace } from "../records/locate-namespace.ts";
import { readNamespace, writeNamespace } from "../records/namespace-records.ts";
import { readSlices } from "../records/slice-records.ts";
import { SECOND_MICROS } from "../model/namespace-config.ts";

const DAY_MS = 86_400_000;
const YEAR = 365 * DAY;
const SLICE = "data_20260328";

interface Started extends ControlProcess {
  readonly fixture: ControlFixture;
  readonly id: string;
}

async function start(options: { shared?: boolean } = {}): Promise<Started> {
  const fixture = new ControlFixture({ ...options, dropGraceMs: DAY_MS });
  const process = fixture.start();
  await process.reconciler.runOnce(never);
  const { id } = await process.namespaces.create("plays", {});
  await write(fixture, id);
  return { fixture, id, ...process };
}

async function write({ store }: ControlFixture, id: string): Promise<void> {
  await store.append({ namespaceId: id, slice: SLICE }, [placed("a", NOON, "e")]);
}

async function eventsOf({ store }: ControlFixture, id: string): Promise<number> {
  return (await store.sliceStats({ namespaceId: id, slice: SLICE })).events;
}

/** Like `rejects`; time passes meanwhile. */
async function refuses(
  fixture: ControlFixture,
  work: Promise<unknown>,
  expected: Readonly<Record<string, unknown>>,
): Promise<void> {
  const refused = rejects(work, expected);
  await fixture.passWhile(refused);
  await refused;
}

async function live({ fixture, reconciler }: Started, ms: number, step = ms): Promise<void> {
  for (let passed = 0; passed < ms; passed += step) {
    await fixture.clock.advance(step);
    await reconciler.runOnce(never);
  }
}

test("C26: a deleted namespace comes back with its events, slices, blocked ids and settings", async () => {
  const started = await start();
  const { fixture, namespaces, views, id } = started;
  await namespaces.blockIds("plays", [{ seriesId: "spam", reason: "", expiresAt: undefined }]);
  const before = await readNamespace(fixture.catalog, "plays");
  const slices = await readSlices(fixture.catalog, id);
  const request = { by: "ann", reason: "not needed", purge: false };
  const deleted = await namespaces.delete("plays", request);
  deepEqual(
    [deleted.id, deleted.by, deleted.reason, deleted.state, deleted.restorableUntil, deleted.size],
    [id, "ann", "not needed", "deleted", NOON + DAY, { bytes: deleted.size?.bytes, events: 1 }],
  );
  await rejects(views.get("plays"), { code: "NAMESPACE_NOT_FOUND" });
  await rejects(namespaces.delete("plays"), { code: "NAMESPACE_NOT_FOUND" });
  deepEqual((await namespaces.list({})).namespaces, []);
  equal((await namespaces.listDeleted({})).namespaces[0]?.id, id);
  const back = await namespaces.undelete({ name: "plays" }, "");
  const { version: _1, ...now } = (await readNamespace(fixture.catalog, "plays")) ?? {};
  const { version: _2, ...then } = before ?? {};
  deepEqual(now, then);
  equal(back.id, id);
  deepEqual(await readSlices(fixture.catalog, id), slices);
  equal((await views.get("plays")).blocked.size, 1);
  equal(await eventsOf(fixture, id), 1);
  deepEqual((await namespaces.listDeleted({})).namespaces, []);
  equal((await namespaces.undelete({ name: "plays" }, "")).id, id, "a repeat changes nothing");
  equal((await namespaces.undelete({ id }, "")).id, id);
});

test("C26: after days the slices of now are made before an undelete returns", async () => {
  const started = await start();
  const { fixture, namespaces } = started;
  await namespaces.update("plays", { retention: { deleteAfterMicros: 60 * DAY } }, []);
  await namespaces.delete("plays");
  await live(started, DAY_MS - 3_600_000, 3_600_000);
  await namespaces.undelete({ name: "plays" }, "");
  const last = (await namespaces.listTimeSlices("plays")).at(-1);
  ok((last?.end ?? 0) >= fixture.clock.nowMicros() + DAY);
});

test("C26: the events go when the grace has passed, and not before", async () => {
  const started = await start();
  const { fixture, namespaces, events, id } = started;
  await namespaces.delete("plays");
  await live(started, DAY_MS - 3_600_000, 3_600_000);
  equal(await eventsOf(fixture, id), 1);
  await live(started, 3_660_000, 60_000);
  deepEqual(fixture.store.sliceNames(), []);
  await fixture.removeDropped();
  deepEqual(
    fixture.catalog.dump().filter((key) => key.includes(id)),
    [],
  );
  ok(events.some(({ kind }) => kind === "purged"));
  await rejects(namespaces.undelete({ name: "plays" }, ""), { code: "NAMESPACE_NOT_FOUND" });
  await rejects(namespaces.undelete({ id }, ""), { code: "NAMESPACE_NOT_FOUND" });
});

test("C26: the grace is at most a quarter of deleteAfter", async () => {
  const fixture = new ControlFixture({ dropGraceMs: DAY_MS });
  const process = fixture.start();
  await process.reconciler.runOnce(never);
  const retention = { closeAfterMicros: DAY, deleteAfterMicros: 2 * DAY };
  const { id } = await process.namespaces.create("plays", { retention });
  await write(fixture, id);
  const { restorableUntil } = await process.namespaces.delete("plays");
  equal(restorableUntil, NOON + DAY / 2);
});

test("C26: a namespace without events has no grace, and a purge skips it", async () => {
  const fixture = new ControlFixture({ dropGraceMs: DAY_MS });
  const { namespaces } = fixture.start();
  await namespaces.create("plays", {});
  equal((await namespaces.delete("plays")).state, "purged");
  deepEqual(fixture.store.sliceNames(), []);
  const { id } = await namespaces.create("plays", {});
  await write(fixture, id);
  equal((await namespaces.delete("plays", { purge: true })).state, "purged");
  deepEqual(fixture.store.sliceNames(), []);
  await fixture.removeDropped();
  deepEqual(
    fixture.catalog.dump().filter((key) => key.includes("plays")),
    [],
  );
});

test("C26: what is deleted already can be purged by its id, not by its name", async () => {
  const { fixture, namespaces, id } = await start();
  await namespaces.delete("plays");
  await rejects(namespaces.delete("plays", { purge: true }), {
    code: "NAMESPACE_NOT_FOUND",
    message:
      `there is no namespace "plays"; deleted namespaces had this name: ${id}; ` +
      `purge one by its id: DeleteNamespace ${id} with purge`,
  });
  equal(await eventsOf(fixture, id), 1);
  const second = await namespaces.create("plays", {});
  await write(fixture, second.id);
  await namespaces.delete("plays");
  await rejects(namespaces.delete("plays", { purge: true }), (error) => {
    ok(error instanceof ServiceError);
    return [id, second.id].every((each) => error.message.includes(each));
  });
  const third = await namespaces.create("plays", {});
  await write(fixture, third.id);
  equal((await namespaces.delete({ id: second.id }, { purge: true })).state, "purged");
  equal((await namespaces.get("plays")).id, third.id, "another one under the name stays");
  equal(await eventsOf(fixture, third.id), 1);
  await rejects(namespaces.delete({ id: third.id }, { purge: true }), {
    code: "NAMESPACE_NOT_FOUND",
  });
  equal((await namespaces.delete("plays", { purge: true })).id, third.id);
  equal(await eventsOf(fixture, id), 1, "a purge by name leaves the deleted one alone");
  equal((await namespaces.delete({ id }, { purge: true })).id, id);
  deepEqual(fixture.store.sliceNames(), []);
  await rejects(namespaces.delete("plays", { purge: true }), {
    code: "NAMESPACE_NOT_FOUND",
    message: /^there is no namespace "plays"; create it first/,
  });
});

test("C26: a purge by name leaves alone a namespace that is being deleted with a grace", async () => {
  const { fixture, namespaces, id } = await start({ shared: true });
  const deleting = namespaces.delete("plays");
  await fixture.clock.advance(1_000);
  const other = fixture.start();
  const purging = other.namespaces.delete("plays", { purge: true });
  await refuses(fixture, purging, { code: "CONFLICT", retryAfterMs: 1_000 });
  await fixture.passWhile(deleting);
  equal((await deleting).state, "deleted");
  equal(await eventsOf(fixture, id), 1);
});

test("C26: an undelete needs a free name; under another name it is found by its id", async () => {
  const { fixture, namespaces, id } = await start();
  await namespaces.delete("plays");
  const second = await namespaces.create("plays", {});
  await write(fixture, second.id);
  await rejects(namespaces.undelete({ name: "plays" }, ""), { code: "NAMESPACE_EXISTS" });
  await rejects(namespaces.undelete({ id }, "No!"), { code: "REQUEST_INVALID" });
  equal(await locateNamespace(fixture.catalog, id, "plays"), "deleted");
  const back = await namespaces.undelete({ id }, "plays_old");
  deepEqual([back.id, back.name], [id, "plays_old"]);
  const found = await locateNamespace(fixture.catalog, id, "plays");
  equal(typeof found === "string" ? found : found.name, "plays_old");
  await rejects(namespaces.undelete({ id }, "third"), { code: "CONFLICT" });
  await namespaces.delete("plays_old");
  await namespaces.delete("plays");
  await namespaces.create("plays", {});
  equal((await namespaces.undelete({ name: "plays_old" }, "")).id, id);
});

test("C26: of several deleted namespaces of one name the id chooses", async () => {
  const { fixture, namespaces, id } = await start();
  await namespaces.delete("plays");
  const second = await namespaces.create("plays", {});
  await write(fixture, second.id);
  await namespaces.delete("plays");
  await rejects(namespaces.undelete({ name: "plays" }, ""), {
    code: "REQUEST_INVALID",
    message: new RegExp(`${id}.*${second.id}|${second.id}.*${id}`),
  });
  const pages = await namespaces.listDeleted({ pageSize: 1 });
  equal(pages.namespaces.length, 1);
  const rest = await namespaces.listDeleted({ pageSize: 1, pageToken: pages.nextPageToken });
  deepEqual(
    [...pages.namespaces, ...rest.namespaces].map((each) => each.id),
    [id, second.id].toSorted(),
  );
  equal(rest.nextPageToken, "");
  equal((await namespaces.undelete({ id: second.id }, "")).id, second.id);
  equal((await namespaces.undelete({ id }, "older")).id, id);
});

test("C26: while the clock is in doubt nothing is purged by itself", async () => {
  const started = await start();
  const { fixture, namespaces, id } = started;
  await live(started, 5_000);
  await namespaces.delete("plays");
  fixture.clock.stepWall(YEAR);
  await live(started, DAY_MS / 2, 600_000);
  equal(await eventsOf(fixture, id), 1);
  equal((await namespaces.undelete({ name: "plays" }, "")).id, id);
});

test("C26: the grace of a namespace that is deleted in doubt begins when the doubt is over", async () => {
  const started = await start();
  const { fixture, namespaces, time, id } = started;
  await live(started, 5_000);
  fixture.clock.stepWall(3 * DAY);
  await live(started, 5_000);
  ok(time.inDoubt);
  equal((await namespaces.delete("plays")).restorableUntil, undefined);
  await time.confirm();
  await live(started, DAY_MS - 3_600_000, 3_600_000);
  equal(await eventsOf(fixture, id), 1);
  equal((await namespaces.undelete({ name: "plays" }, "")).id, id);
});

test("C12: on two servers, a name is free only when no server acts on a view from before", async () => {
  const { fixture, namespaces, id } = await start({ shared: true });
  const other = fixture.start();
  await other.views.get("plays");
  const deleting = namespaces.delete("plays");
  await fixture.clock.advance(VIEW_MAX_AGE_MS - 1);
  equal(other.views.current("plays")?.namespace.id, id);
  await rejects(other.namespaces.create("plays", {}), { code: "CONFLICT" });
  await rejects(other.namespaces.undelete({ name: "plays" }, ""), { code: "CONFLICT" });
  await fixture.clock.advance(1);
  await deleting;
  equal(other.views.current("plays"), undefined);
  const undeleting = other.namespaces.undelete({ name: "plays" }, "");
  await fixture.passWhile(undeleting);
  equal((await undeleting).id, id);
  equal((await fixture.start().views.get("plays")).namespace.id, id);
});

test("C18: a process that was making slices when the namespace was deleted removes none of it", async () => {
  const { fixture, namespaces, id } = await start({ shared: true });
  const stop = new StopAfter(12);
  const late = fixture.start({ gate: stop.gate });
  const updating = late.namespaces
    .update("plays", { acceptLimitMicros: 3 * DAY }, [])
    .catch(() => undefined);
  await fixture.clock.advance(1_000);
  ok(stop.stopped);
  await fixture.passWhile(namespaces.delete("plays"));
  stop.resume();
  await fixture.passWhile(updating);
  equal(await eventsOf(fixture, id), 1);
  await fixture.passWhile(namespaces.undelete({ name: "plays" }, ""));
  await checkWhole(fixture, id);
});

/** READY, with its event, with tables for every slice, and nothing half done. */
async function checkWhole(fixture: ControlFixture, id: string, where = ""): Promise<void> {
  const { reconciler, events } = fixture.start();
  for (let i = 0; i < 16; i++) {
    await reconciler.runOnce(never);
    await fixture.clock.advance(5_000);
  }
  deepEqual(
    events.filter(({ kind }) => kind === "failed"),
    [],
    where,
  );
  const record = await locateNamespace(fixture.catalog, id, "plays");
  ok(typeof record !== "string", `${where}: it is there`);
  deepEqual(
    [record.changing, record.reopening, record.restores, record.deletion],
    [null, null, null, null],
  );
  equal(await eventsOf(fixture, id), 1, where);
  const slices = await readSlices(fixture.catalog, id);
  const tables = slices.map(({ name }) => `${id}/${name}`);
  deepEqual(
    fixture.store.sliceNames().filter((name) => name.startsWith(id)),
    tables.toSorted(),
    where,
  );
}

type Act = (process: ControlProcess, id: string) => Promise<unknown>;

const remove: Act = ({ namespaces }) => namespaces.delete("plays");
const restore: Act = ({ namespaces }, id) => namespaces.undelete({ id }, "");
const restoreElsewhere: Act = ({ namespaces }, id) => namespaces.undelete({ id }, "shows");
const purge: Act = ({ namespaces }, id) => namespaces.delete({ id }, { purge: true });

for (const shared of [false, true]) {
  const where = shared ? "a shared catalog" : "a catalog of its own";

  /** Repeats `act`, which dies one operation later each time, until it succeeds. */
  const sweepCrashes = async (
    deletedFirst: boolean,
    act: Act,
    check: (fixture: ControlFixture, id: string, at: string) => Promise<void>,
  ): Promise<void> => {
    for (let operation = 0, done = false; !done; operation++) {
      ok(operation < 200, "the act ends");
      const { fixture, id, namespaces } = await start({ shared });
      if (deletedFirst) await fixture.passWhile(namespaces.delete("plays"));
      const process = fixture.start();
      await process.time.refresh("other");
      fixture.crashAt(operation);
      const acting = act(process, id).then(
        () => (done = true),
        () => undefined,
      );
      await fixture.passWhile(acting);
      fixture.recover();
      const { reconciler, events } = fixture.start();
      for (let i = 0; i < 16; i++) {
        await reconciler.runOnce(never);
        await fixture.clock.advance(5_000);
      }
      const at = `died at operation ${operation}`;
      deepEqual(
        events.filter(({ kind }) => kind === "failed"),
        [],
        at,
      );
      await check(fixture, id, at);
    }
  };

  test(`C26: a deletion that dies anywhere can be taken back, on ${where}`, () =>
    sweepCrashes(false, remove, async (fixture, id, at) => {
      const record = await readNamespace(fixture.catalog, "plays");
      ok(record === undefined || record.phase === "READY", at);
      if (record === undefined) {
        equal((await readDeleted(fixture.catalog, id))?.phase, "DELETED", at);
        await fixture.passWhile(fixture.start().namespaces.undelete({ name: "plays" }, ""));
      }
      await checkWhole(fixture, id, at);
    }));

  test(`C26: an undelete that dies anywhere is finished or can be repeated, on ${where}`, () =>
    sweepCrashes(true, restore, async (fixture, id, at) => {
      await fixture.passWhile(fixture.start().namespaces.undelete({ id }, ""));
      await checkWhole(fixture, id, at);
    }));

  test(`C26: a purge that dies anywhere is finished or was not begun, on ${where}`, () =>
    sweepCrashes(true, purge, async (fixture, id, at) => {
      const deleted = await readDeleted(fixture.catalog, id);
      if (deleted === undefined) {
        deepEqual(fixture.store.sliceNames(), [], at);
        await fixture.removeDropped();
        deepEqual(
          fixture.catalog.dump().filter((key) => key.includes(id)),
          [],
          at,
        );
        return;
      }
      await fixture.passWhile(fixture.start().namespaces.undelete({ id }, ""));
      await checkWhole(fixture, id, at);
    }));
}

/** READY as "shows" with both events, now and when the grace of the deletion is over. */
async function checkRestoredAsShows(fixture: ControlFixture, id: string): Promise<void> {
  const { reconciler } = fixture.start();
  const slice = { namespaceId: id, slice: SLICE };
  await fixture.store.append(slice, [placed("a", NOON + 1, "written later")]);
  for (let hours = 0; hours <= 26; hours++) {
    equal(await readNamespace(fixture.catalog, "plays"), undefined);
    equal((await readNamespace(fixture.catalog, "shows"))?.phase, "READY");
    const deleted = await readDeleted(fixture.catalog, id);
    deepEqual([deleted?.phase, deleted?.namespace.name], ["RESTORED", "shows"]);
    equal(await eventsOf(fixture, id), 2);
    await fixture.clock.advance(3_600_000);
    await reconciler.runOnce(never);
  }
}

test("C26: no undelete under another name while servers may act on views of the old one", async () => {
  const { fixture, namespaces, id } = await start({ shared: true });
  const other = fixture.start();
  const deleting = namespaces.delete("plays");
  await fixture.clock.advance(1_000);
  equal((await readDeleted(fixture.catalog, id))?.phase, "DELETED");
  await refuses(fixture, restoreElsewhere(other, id), { code: "CONFLICT", retryAfterMs: 1_000 });
  await fixture.passWhile(deleting);
  equal((await deleting).state, "deleted");
  const restoring = restoreElsewhere(other, id);
  await fixture.passWhile(restoring);
  await restoring;
  await checkRestoredAsShows(fixture, id);
});

for (const shared of [false, true]) {
  const where = shared ? "a shared catalog" : "a catalog of its own";

  /** A deletion has died before it freed the name. */
  const startLeft = async (): Promise<Started> => {
    for (let operation = 0; ; operation++) {
      const started = await start({ shared });
      const { fixture, namespaces, id } = started;
      fixture.crashAt(operation);
      await fixture.passWhile(namespaces.delete("plays").catch(() => undefined));
      fixture.recover();
      if ((await readDeleted(fixture.catalog, id)) === undefined) continue;
      equal((await readNamespace(fixture.catalog, "plays"))?.phase, "LEAVING");
      return started;
    }
  };

  test(`C26: an undelete under another name after a deletion that died stays restored, on ${where}`, async () => {
    const { fixture, id } = await startLeft();
    const process = fixture.start();
    if (shared) {
      await refuses(fixture, restoreElsewhere(process, id), {
        code: "CONFLICT",
        retryAfterMs: 1_000,
      });
      for (let i = 0; i < 16; i++) {
        await process.reconciler.runOnce(never);
        await fixture.clock.advance(5_000);
      }
    }
    const restoring = restoreElsewhere(process, id);
    await fixture.passWhile(restoring);
    await restoring;
    await checkRestoredAsShows(fixture, id);
  });

  test(`C26: an old name that is left over takes nothing from what was restored, on ${where}`, async () => {
    const { fixture, id } = await startLeft();
    await leaveRestoredAsShows(fixture, id);
    const { reconciler } = fixture.start();
    for (let i = 0; i < 16; i++) {
      await reconciler.runOnce(never);
      await fixture.clock.advance(5_000);
    }
    await checkRestoredAsShows(fixture, id);
  });

  test(`a deletion by an old name that is left over says where the namespace is, on ${where}`, async () => {
    const { fixture, id } = await startLeft();
    await leaveRestoredAsShows(fixture, id);
    const { namespaces } = fixture.start();
    await refuses(fixture, namespaces.delete("plays"), {
      code: "NAMESPACE_NOT_FOUND",
      message: /restored as "shows", which stays/,
    });
    equal(await readNamespace(fixture.catalog, "plays"), undefined);
    await checkRestoredAsShows(fixture, id);
  });
}

/** As a server of an earlier version restores it: the old name is still there. */
async function leaveRestoredAsShows({ catalog }: ControlFixture, id: string): Promise<void> {
  const left = await readNamespace(catalog, "plays");
  const deleted = await readDeleted(catalog, id);
  ok(left !== undefined && deleted !== undefined);
  const shows = { ...left, name: "shows", phase: "READY", deletion: null, version: 0 } as const;
  ok(await writeNamespace(catalog, shows));
  const restoredOf = deleted.version;
  const phase = "RESTORED";
  ok(await writeDeleted(catalog, { ...deleted, phase, namespace: shows, restoredOf }));
}

test("C26: no undelete under another name while it is being restored under the old one", async () => {
  const { fixture, namespaces, id } = await start({ shared: true });
  await fixture.passWhile(namespaces.delete("plays"));
  const deleted = await readDeleted(fixture.catalog, id);
  ok(deleted !== undefined);
  const restoring = { phase: "RESTORING", deletion: null, restores: deleted.version } as const;
  ok(await writeNamespace(fixture.catalog, { ...deleted.namespace, ...restoring, version: 0 }));
  const other = fixture.start();
  await refuses(fixture, restoreElsewhere(other, id), {
    code: "CONFLICT",
    message: /is being restored/,
  });
  await other.reconciler.runOnce(never);
  equal((await readNamespace(fixture.catalog, "plays"))?.phase, "READY");
  await refuses(fixture, restoreElsewhere(other, id), { code: "CONFLICT", message: /already/ });
  await checkWhole(fixture, id);
});

/** A refusal is an answer; anything else is a bug. */
function asRefusal(error: unknown): string {
  const refusals = ["CONFLICT", "NAMESPACE_EXISTS", "NAMESPACE_NOT_FOUND"];
  if (error instanceof ServiceError && refusals.includes(error.code)) return error.code;
  throw error;
}

const LATE: Readonly<Record<string, { readonly act: Act; readonly deletedFirst: boolean }>> = {
  "a deletion": { act: remove, deletedFirst: false },
  "an undelete": { act: restore, deletedFirst: true },
  "an undelete under another name": { act: restoreElsewhere, deletedFirst: true },
  "a run of the reconciler": {
    act: ({ reconciler }) => reconciler.runOnce(never),
    deletedFirst: true,
  },
};

const MEANWHILE: Readonly<
  Record<string, (process: ControlProcess, id: string) => Promise<unknown>>
> = {
  "it is deleted and restored": async ({ namespaces }, id) => {
    await namespaces.delete("plays").catch(asRefusal);
    await namespaces.undelete({ id }, "").catch(asRefusal);
  },
  "it is restored, changed and deleted": async ({ namespaces }, id) => {
    await namespaces.undelete({ id }, "").catch(asRefusal);
    await namespaces
      .update("plays", { acceptLimitMicros: 60 * SECOND_MICROS }, [])
      .catch(asRefusal);
    await namespaces.delete("plays").catch(asRefusal);
  },
};

for (const [doing, { act, deletedFirst }] of Object.entries(LATE)) {
  for (const [what, meanwhile] of Object.entries(MEANWHILE)) {
    test(`C26: ${doing} that stops anywhere, while ${what}, and wakes late loses nothing`, async () => {
      for (let passes = 0; ; passes++) {
        ok(passes < 300, "the act ends");
        const { fixture, id, namespaces } = await start({ shared: true });
        if (deletedFirst) await fixture.passWhile(namespaces.delete("plays"));
        const floors: number[] = [];
        fixture.catalog.changed = (space, _before, after) => {
          if (space !== "namespaces" || after === undefined) return;
          // The code under test wrote it a moment ago.
          const { floor, phase } = JSON.parse(after.value) as { floor: number; phase: string };
          if (phase === "READY") floors.push(floor);
        };
        const stop = new StopAfter(passes);
        const late = fixture.start({ gate: stop.gate });
        const acting = act(late, id).catch(asRefusal);
        for (let i = 0; i < VIEW_MAX_AGE_MS / 1_000 && !stop.stopped; i++) {
          await fixture.clock.advance(1_000);
        }
        const other = fixture.start();
        await other.time.refresh("owner");
        await fixture.passWhile(meanwhile(other, id));
        stop.resume();
        await fixture.passWhile(acting);
        const at = `stopped after ${passes} calls and answers`;
        const { reconciler } = fixture.start();
        for (let i = 0; i < 16; i++) {
          await reconciler.runOnce(never);
          await fixture.clock.advance(5_000);
        }
        const found = await locateNamespace(fixture.catalog, id, "plays");
        if (found === "deleted") {
          await fixture.passWhile(fixture.start().namespaces.undelete({ id }, ""));
        }
        await checkWhole(fixture, id, at);
        deepEqual(
          floors,
          floors.toSorted((a, b) => a - b),
          `${at}: the floor only rises`,
        );
        if (!stop.stopped) return;
      }
    });
  }
}

/** Either whole, or nothing of it is left anywhere. */
async function checkAllOrNothing(
  fixture: ControlFixture,
  id: string,
  at: string,
): Promise<"whole" | "gone"> {
  const found = await locateNamespace(fixture.catalog, id, "plays");
  if (found === "gone") {
    deepEqual(fixture.store.sliceNames(), [], at);
    await fixture.removeDropped();
    deepEqual(
      fixture.catalog.dump().filter((key) => key.includes("plays")),
      [],
      at,
    );
    return "gone";
  }
  if (found === "deleted") {
    await fixture.passWhile(fixture.start().namespaces.undelete({ id }, ""));
  }
  await checkWhole(fixture, id, at);
  return "whole";
}

const RACES: Readonly<Record<string, { readonly late: Act; readonly meanwhile: Act }>> = {
  "an undelete that stops anywhere, while it is purged": { late: restore, meanwhile: purge },
  "a purge that stops anywhere, while it is restored": { late: purge, meanwhile: restore },
  "a reconciler that finds the grace over and stops anywhere, while it is restored": {
    late: ({ reconciler }) => reconciler.runOnce(never),
    meanwhile: restore,
  },
};

for (const [what, { late, meanwhile }] of Object.entries(RACES)) {
  test(`C26: ${what}, restores all or nothing`, async () => {
    const ends = new Set<string>();
    for (let passes = 0; ; passes++) {
      ok(passes < 300, "the act ends");
      const { fixture, id, namespaces, time } = await start({ shared: true });
      await fixture.passWhile(namespaces.delete("plays"));
      // The grace passes, and the clock is not in doubt.
      await fixture.clock.advance(DAY_MS);
      await time.refresh("owner");
      const stop = new StopAfter(passes);
      const slow = fixture.start({ evenMs: 0, gate: stop.gate });
      const acting = late(slow, id).catch(asRefusal);
      for (let i = 0; i < VIEW_MAX_AGE_MS / 1_000 && !stop.stopped; i++) {
        await fixture.clock.advance(1_000);
      }
      await fixture.passWhile(meanwhile(fixture.start(), id).catch(asRefusal));
      stop.resume();
      await fixture.passWhile(acting);
      await acting;
      const at = `stopped after ${passes} calls and answers`;
      const { reconciler } = fixture.start();
      for (let i = 0; i < 16; i++) {
        await reconciler.runOnce(never);
        await fixture.clock.advance(5_000);
      }
      ends.add(await checkAllOrNothing(fixture, id, at));
      if (!stop.stopped) break;
    }
    deepEqual(ends, new Set(["whole", "gone"]), "either of them can be first");
  });
}
