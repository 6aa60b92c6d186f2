import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { test } from "node:test";
import { ControlFixture, VIEW_MAX_AGE_MS } from "../../tests/support/control-fixture.ts";
import type { CatalogCall } from "../../tests/support/memory-catalog.ts";
import { settle } from "../../tests/support/virtual-clock.ts";
import type { BlockedId } from "../model/namespace.ts";
import { NamespaceViews } from "./namespace-views.ts";

async function fixtureWithPlays(): Promise<ControlFixture> {
  const fixture = new ControlFixture({ shared: true });
  await fixture.start().namespaces.create("plays", {});
  return fixture;
}

/** Counts the calls to the catalog from now on. */
function countCalls(fixture: ControlFixture): Map<CatalogCall, number> {
  const calls = new Map<CatalogCall, number>();
  fixture.catalog.before = (call) => void calls.set(call, (calls.get(call) ?? 0) + 1);
  return calls;
}

test("a view is current only while it is younger than view_max_age, counted from the request for it", async () => {
  const fixture = await fixtureWithPlays();
  const { views } = fixture.start();
  equal(views.current("plays"), undefined);
  // The catalog takes four seconds to answer: they count.
  fixture.catalog.before = () => fixture.clock.sleep(4_000);
  const got = views.get("plays");
  await fixture.clock.advance(8_000);
  fixture.catalog.before = () => undefined;
  const view = await got;
  equal(view.askedAtMs, 0);
  equal(views.current("plays"), view);
  await fixture.clock.advance(VIEW_MAX_AGE_MS - 8_000 - 1);
  equal(views.current("plays"), view);
  await fixture.clock.advance(1);
  equal(views.current("plays"), undefined);
});

test("an answer that took longer than view_max_age is not used", async () => {
  const fixture = await fixtureWithPlays();
  const { views } = fixture.start();
  fixture.catalog.before = () => fixture.clock.sleep(VIEW_MAX_AGE_MS);
  const got = rejects(views.get("plays"), { code: "STORAGE_UNAVAILABLE" });
  await fixture.clock.advance(10 * VIEW_MAX_AGE_MS);
  await got;
});

test("a caller that joins a request sent too long ago sends another", async () => {
  const fixture = await fixtureWithPlays();
  const { views } = fixture.start();
  let slow = true;
  fixture.catalog.before = () => (slow ? fixture.clock.sleep(2 * VIEW_MAX_AGE_MS) : undefined);
  const first = views.get("plays");
  slow = false;
  await fixture.clock.advance(VIEW_MAX_AGE_MS + 1);
  const joined = views.get("plays");
  await fixture.clock.advance(2 * VIEW_MAX_AGE_MS);
  for (const view of await Promise.all([first, joined])) {
    equal(view.askedAtMs >= VIEW_MAX_AGE_MS, true);
  }
});

test("many callers at once cost one request, and unknown names are not remembered", async () => {
  const fixture = await fixtureWithPlays();
  const { views, namespaces } = fixture.start();
  const calls = countCalls(fixture);
  await Promise.all(Array.from({ length: 20 }, () => views.get("plays")));
  equal(calls.get("read"), 1);
  await rejects(views.get("other"), { code: "NAMESPACE_NOT_FOUND" });
  await namespaces.create("other", {});
  equal((await views.get("other")).namespace.name, "other");
});

test("slices and blocked ids are read again only when they have changed", async () => {
  const fixture = await fixtureWithPlays();
  const { views } = fixture.start();
  const other = fixture.start();
  await views.get("plays");
  const calls = countCalls(fixture);
  await views.refresh("plays");
  equal(calls.get("list"), undefined);
  await other.namespaces.blockIds("plays", [
    { seriesId: "spam", reason: "", expiresAt: undefined },
  ]);
  const slicesBefore = views.current("plays")?.slices;
  await views.refresh("plays");
  ok(views.current("plays")?.blocked.has("spam"));
  equal(views.current("plays")?.slices, slicesBefore);
  await fixture.clock.advance(86_400_000);
  await other.reconciler.runOnce(new AbortController().signal);
  await views.refresh("plays");
  equal(views.current("plays")?.slices.length, (slicesBefore?.length ?? 0) + 1);
});

test("a view made while slices change is not used for them", async () => {
  const fixture = await fixtureWithPlays();
  const { views, reconciler } = fixture.start();
  const other = fixture.start();
  const before = (await other.views.get("plays")).slices.length;
  await fixture.clock.advance(86_400_000);
  // The reconciler dies between listing the new slice and announcing it; a view is made just before
  // and
  // just after.
  fixture.catalog.before = async (call, space) => {
    if (call !== "write" || !space.startsWith("slices/")) return;
    fixture.catalog.before = () => undefined;
    await views.get("plays");
    fixture.catalog.before = (next, where) => {
      if (next === "write" && where === "namespaces") throw new Error("crashed");
    };
  };
  await reconciler.runOnce(new AbortController().signal);
  equal(views.current("plays")?.slices.length, before);
  await views.refresh("plays");
  equal(views.current("plays")?.slices.length, before + 1);
});

test("a refresh after a change does not settle for an answer from before it", async () => {
  const fixture = await fixtureWithPlays();
  const { views } = fixture.start();
  const other = fixture.start();
  // The first request has read the record when the change is made.
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  fixture.catalog.before = (call, space) =>
    space.startsWith("slices/") && call === "list" ? held : undefined;
  const early = views.get("plays");
  await settle();
  fixture.catalog.before = () => undefined;
  await other.namespaces.update("plays", { slos: { read: { maxMs: 7_000 } } }, []);
  const refreshed = views.refresh("plays");
  release();
  equal((await early).namespace.config.slos.read.maxMs, 1_000);
  await refreshed;
  equal(views.current("plays")?.namespace.config.slos.read.maxMs, 7_000);
});

test("if the catalog fails the view is used until it is as old as view_max_age, then storage is unavailable", async () => {
  const fixture = await fixtureWithPlays();
  const { views } = fixture.start();
  await views.get("plays");
  fixture.catalog.before = () => {
    throw new Error("no answer");
  };
  const stop = new AbortController();
  const running = views.run(stop.signal);
  await fixture.clock.advance(VIEW_MAX_AGE_MS - 1);
  ok(views.current("plays"));
  await views.get("plays");
  await fixture.clock.advance(1);
  await rejects(views.get("plays"), { code: "STORAGE_UNAVAILABLE" });
  stop.abort();
  await running;
});

test("after a failed refresh no view from before the change is returned", async () => {
  const fixture = await fixtureWithPlays();
  const { views } = fixture.start();
  await views.get("plays");
  fixture.catalog.before = () => {
    throw new Error("no answer");
  };
  await views.refresh("plays");
  equal(views.current("plays"), undefined);
});

test("in the background views in use are refreshed, and deleted and idle ones are removed", async () => {
  const fixture = await fixtureWithPlays();
  const other = fixture.start();
  await other.namespaces.create("other", {});
  const views = new NamespaceViews({
    catalog: fixture.catalog,
    clock: fixture.clock,
    viewMaxAgeMs: VIEW_MAX_AGE_MS,
    idleMs: 30_000,
  });
  await views.get("plays");
  await views.get("other");
  const stop = new AbortController();
  const running = views.run(stop.signal);
  const deleted = other.namespaces.delete("other");
  for (let i = 0; i < 10; i++) {
    await fixture.clock.advance(5_000);
    ok(views.current("plays"), "never too old");
  }
  await deleted;
  equal(views.current("other"), undefined);
  await fixture.clock.advance(60_000);
  const calls = countCalls(fixture);
  await fixture.clock.advance(30_000);
  deepEqual([...calls], []);
  stop.abort();
  await running;
});

test("the number of views is bounded", async () => {
  const fixture = await fixtureWithPlays();
  const { namespaces } = fixture.start();
  for (const name of ["a", "b", "c"]) await namespaces.create(name, {});
  const views = new NamespaceViews({ catalog: fixture.catalog, clock: fixture.clock, viewsMax: 2 });
  for (const name of ["a", "b", "c"]) await views.get(name);
  equal(views.current("a"), undefined);
  ok(views.current("b"));
  ok(views.current("c"));
});

test("blocks of the configuration file apply beside those of the API and override them", async () => {
  const fixture = await fixtureWithPlays();
  const configured: BlockedId = {
    seriesId: "spam",
    reason: "by file",
    expiresAt: undefined,
    blockedAt: 0,
    source: "CONFIG",
  };
  const { views, namespaces } = fixture.start({
    configuredBlocks: new Map([["plays", [configured]]]),
  });
  await namespaces.blockIds("plays", [
    { seriesId: "spam", reason: "by hand", expiresAt: undefined },
    { seriesId: "bot", reason: "by hand", expiresAt: undefined },
  ]);
  const { blocked } = await views.get("plays");
  equal(blocked.get("spam")?.source, "CONFIG");
  equal(blocked.get("bot")?.source, "API");
  const page = await namespaces.listBlockedIds("plays", { pageSize: 1 });
  deepEqual(
    page.ids.map(({ seriesId }) => seriesId),
    ["bot"],
  );
  const rest = await namespaces.listBlockedIds("plays", {
    pageSize: 1,
    pageToken: page.nextPageToken,
  });
  deepEqual(rest.ids, [configured]);
  equal(rest.nextPageToken, "");
});

test("many views in use are refreshed by one listing of versions, and only changed ones are read", async () => {
  const fixture = new ControlFixture({ shared: true });
  const { views, namespaces } = fixture.start();
  const other = fixture.start();
  const names = Array.from({ length: 40 }, (_, n) => `n${n}`);
  for (const name of names) await namespaces.create(name, {});
  for (const name of names) await views.get(name);
  await other.namespaces.update("n7", { slos: { read: { maxMs: 7_000 } } }, []);
  const stored = await fixture.catalog.read("namespaces", "n8");
  await fixture.catalog.remove("namespaces", "n8", stored?.version ?? 0);
  const stop = new AbortController();
  const running = views.run(stop.signal);
  const calls = countCalls(fixture);
  await fixture.clock.advance(VIEW_MAX_AGE_MS / 3);
  deepEqual(Object.fromEntries(calls), { versions: 1, read: 2 });
  equal(views.current("n7")?.namespace.config.slos.read.maxMs, 7_000);
  equal(views.current("n8"), undefined);
  // The views stay young without ever being loaded again.
  await fixture.clock.advance(10 * VIEW_MAX_AGE_MS);
  for (const name of names) equal(views.current(name) !== undefined, name !== "n8", name);
  equal(calls.get("read"), 2);
  stop.abort();
  await running;
});

test("while the catalog answers no listing, many views become too old like a few", async () => {
  const fixture = new ControlFixture({ shared: true });
  const { views, namespaces } = fixture.start();
  const names = Array.from({ length: 40 }, (_, n) => `n${n}`);
  for (const name of names) await namespaces.create(name, {});
  for (const name of names) await views.get(name);
  const stop = new AbortController();
  const running = views.run(stop.signal);
  fixture.catalog.before = () => {
    throw new Error("no answer");
  };
  await fixture.clock.advance(VIEW_MAX_AGE_MS);
  for (const name of names) equal(views.current(name), undefined, name);
  stop.abort();
  await running;
});
