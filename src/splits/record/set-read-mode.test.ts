import { deepEqual, equal, rejects } from "node:assert/strict";
import { test } from "node:test";
import { ControlFixture, NOON } from "../../../tests/support/control-fixture.ts";
import { MemoryCatalog } from "../../../tests/support/memory-catalog.ts";
import type { Evidence } from "../../model/read-mode.ts";
import { addEvidence, readEvidence, setReadMode } from "./read-modes.ts";

const SEEN: Evidence = {
  layout: "PACKED",
  layoutVersion: 1,
  strategy: "EVENT_BUCKETS",
  round: 2,
  readsCompared: 3,
  bytesMatched: 100,
  bytesDiffered: 0,
  since: 50,
};

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

test("evidence of many servers adds up, for each kind of split", async () => {
  const catalog = new MemoryCatalog();
  const hash = { ...SEEN, strategy: "HASH", bytesDiffered: 7 };
  await Promise.all([
    addEvidence(catalog, "plays-1", SEEN),
    addEvidence(catalog, "plays-1", { ...SEEN, since: 40 }),
    addEvidence(catalog, "plays-1", hash),
    addEvidence(catalog, "plays-2", SEEN),
  ]);
  deepEqual(await readEvidence(catalog, "plays-1"), [
    { ...SEEN, readsCompared: 6, bytesMatched: 200, since: 40 },
    hash,
  ]);
});

test("evidence of another round takes its place if that is later, and is nothing if it is older", async () => {
  const catalog = new MemoryCatalog();
  await addEvidence(catalog, "plays-1", SEEN);
  await addEvidence(catalog, "plays-1", { ...SEEN, round: 1, readsCompared: 99 });
  deepEqual(await readEvidence(catalog, "plays-1"), [SEEN]);
  const next = { ...SEEN, round: 3, readsCompared: 1, since: 60 };
  await addEvidence(catalog, "plays-1", next);
  deepEqual(await readEvidence(catalog, "plays-1"), [next]);
});

test("C14: that a difference is not settled outlasts the round, and is known from the last process that reported it", async () => {
  const catalog = new MemoryCatalog();
  const nothing = { readsCompared: 0, bytesMatched: 0 };
  await addEvidence(catalog, "plays-1", SEEN);
  await addEvidence(catalog, "plays-1", { ...SEEN, ...nothing, unsettledAt: 70 });
  deepEqual(await readEvidence(catalog, "plays-1"), [{ ...SEEN, unsettledAt: 70 }]);
  const next = { ...SEEN, round: 3, readsCompared: 1 };
  await addEvidence(catalog, "plays-1", next);
  deepEqual(await readEvidence(catalog, "plays-1"), [{ ...next, unsettledAt: 70 }]);
  // From a server that saw it in the round before.
  for (const unsettledAt of [90, 80]) {
    await addEvidence(catalog, "plays-1", { ...SEEN, unsettledAt });
  }
  deepEqual(await readEvidence(catalog, "plays-1"), [{ ...next, unsettledAt: 90 }]);
});
