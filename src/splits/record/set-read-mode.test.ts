import { deepEqual, equal, rejects } from "node:assert/strict";
import { test } from "node:test";
import { ControlFixture, NOON } from "../../../tests/support/control-fixture.ts";
import { readReadyNamespace } from "../../records/namespace-records.ts";
import type { NamespaceRecord } from "../../records/namespace-records.ts";
import { addServedKinds, setReadMode } from "./set-read-mode.ts";

test("a namespace begins in SHADOW, and every change of the mode begins a round", async () => {
  const fixture = new ControlFixture();
  const { namespaces, views } = fixture.start();
  await namespaces.create("plays", {});
  const { readMode } = (await views.get("plays")).namespace;
  deepEqual(
    { mode: readMode.mode, since: readMode.since, round: readMode.round },
    { mode: "SHADOW", since: NOON, round: 0 },
  );
  const serve = { ...readMode, mode: "SERVE" as const, by: "ann", reason: "sure", round: 0 };
  equal((await setReadMode(fixture.catalog, "plays", () => serve)).readMode.round, 1);
  await setReadMode(fixture.catalog, "plays", () => undefined);
  // Two at once are two rounds: neither is lost.
  await Promise.all([1, 2].map(() => setReadMode(fixture.catalog, "plays", () => serve)));
  const { readMode: now } = await namespaces.get("plays");
  deepEqual([now.mode, now.by, now.round], ["SERVE", "ann", 3]);
  await rejects(
    setReadMode(fixture.catalog, "shows", () => serve),
    { code: "NAMESPACE_NOT_FOUND" },
  );
});

test("kinds are added to SERVE in the round that was seen; none that is served already", async () => {
  const fixture = new ControlFixture();
  const { namespaces } = fixture.start();
  await namespaces.create("plays", {});
  const add = (seen: NamespaceRecord, ...kinds: string[]) =>
    addServedKinds(fixture.catalog, seen, kinds);
  const shadow = await readReadyNamespace(fixture.catalog, "plays");
  equal(await add(shadow, "A"), false, "not in SERVE");
  const seen = await setReadMode(fixture.catalog, "plays", ({ readMode }) => ({
    ...readMode,
    mode: "SERVE",
    kinds: ["A"],
  }));
  equal(await add(shadow, "B"), false, "of another round");
  equal(await add({ ...seen, id: "other" }, "B"), false, "of another namespace");
  equal(await add({ ...seen, readMode: { ...seen.readMode, autoAdvance: false } }, "B"), false);
  const before = await readReadyNamespace(fixture.catalog, "plays");
  equal(await add(seen, "A"), false, "nothing to add");
  equal((await readReadyNamespace(fixture.catalog, "plays")).version, before.version);
  equal(await add(seen, "B", "A"), true);
  const { readMode } = await readReadyNamespace(fixture.catalog, "plays");
  deepEqual([readMode.kinds, readMode.round], [["A", "B"], seen.readMode.round]);
});
