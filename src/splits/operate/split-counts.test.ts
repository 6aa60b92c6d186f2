import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { test } from "node:test";
import { ServiceError } from "../../lib/errors.ts";
import { moveSplit } from "../record/move-split.ts";
import { movedSplit, newSplit } from "../../model/split-moves.ts";
import { readSplit, slicesWithSplits } from "../../records/split-records.ts";
import { ControlFixture, never } from "../../../tests/support/control-fixture.ts";
import { SplitCounts } from "./split-counts.ts";
import { readSummaryPage } from "./summary-page.ts";

async function fixtureWithSplits(slices: number) {
  const fixture = new ControlFixture();
  const process = fixture.start();
  const namespace = await process.namespaces.create("plays", {});
  const names = (await process.namespaces.listTimeSlices("plays")).map(({ name }) => name);
  for (const slice of names.slice(0, slices)) {
    const partition = {
      namespaceId: namespace.id,
      slice,
      seriesId: "hot",
      timeBucket: 0,
      eventBucket: 0,
    };
    const split = {
      partition,
      namespace: "plays",
      epoch: 0,
      bytes: 1,
      events: 1,
      immutable: true,
      detectedAt: 0,
    };
    const record = newSplit(split, { at: 0, by: "test", cause: "detection", reason: "seen" });
    await moveSplit(fixture.catalog, fixture.clock, undefined, record);
  }
  return fixture;
}

test("splits are counted by state, and a slice without any costs nothing", async () => {
  const fixture = await fixtureWithSplits(1);
  const splitCounts = new SplitCounts(fixture);
  const asked: string[] = [];
  fixture.catalog.before = (call, space) => {
    if (call === "list" && space.startsWith("splits/")) asked.push(space.split("/")[2] ?? "");
  };
  await splitCounts.runOnce(never);
  const detected = [...splitCounts.states()].find(({ labels }) => labels[1] === "DETECTED");
  deepEqual(detected, { value: 1, labels: ["plays", "DETECTED"] });
  equal(new Set(asked).size, 1);
});

test("a slice that cannot be read does not hide the others", async () => {
  const fixture = await fixtureWithSplits(2);
  const failures: unknown[] = [];
  const splitCounts = new SplitCounts({
    catalog: fixture.catalog,
    store: fixture.store,
    clock: fixture.clock,
    onFailed: (error) => failures.push(error),
  });
  let first = true;
  fixture.store.before = (call) => {
    if (call !== "sliceStats" || !first) return;
    first = false;
    throw new ServiceError("DATA_LOSS", "damaged");
  };
  await splitCounts.runOnce(never);
  equal(failures.length, 1);
  const detected = [...splitCounts.states()].find(({ labels }) => labels[1] === "DETECTED");
  equal(detected?.value, 2);
});

test("a summary of each namespace with splits, and of all, is stored for every process", async () => {
  const fixture = await fixtureWithSplits(2);
  const { catalog } = fixture;
  const page = (namespace: string, pageToken = "") =>
    readSummaryPage(catalog, namespace, { pageSize: 1, pageToken }, () => undefined);
  deepEqual(await page(""), { total: undefined, namespaces: [], nextPageToken: "" });
  await fixture.start().namespaces.create("empty", {});
  await new SplitCounts(fixture).runOnce(never);
  const { total, namespaces, nextPageToken } = await page("");
  equal(total?.states.get("DETECTED"), 2);
  deepEqual(
    namespaces.map(({ namespace, states }) => [namespace, states.get("DETECTED")]),
    [["plays", 2]],
  );
  deepEqual((await page("", nextPageToken)).namespaces, []);
  equal((await page("empty")).namespaces[0]?.states.get("DETECTED"), 0);
  await rejects(page("nowhere"), { code: "NAMESPACE_NOT_FOUND" });
  await rejects(page("", "%"), { code: "PAGE_TOKEN_INVALID" });
});

test("a summary is written again only if it has changed, and removed with its namespace", async () => {
  const fixture = await fixtureWithSplits(1);
  const counts = new SplitCounts(fixture);
  await counts.runOnce(never);
  const written: string[] = [];
  fixture.catalog.before = (call, space) => {
    if (call !== "list" && call !== "read" && space === "split-summaries") written.push(call);
  };
  await counts.runOnce(never);
  deepEqual(written, []);
  const process = fixture.start();
  await process.namespaces.delete("plays");
  await counts.runOnce(never);
  deepEqual(written, ["remove"]);
});

test("a namespace is counted again only when one of its splits has changed", async () => {
  const fixture = await fixtureWithSplits(2);
  const { catalog, clock } = fixture;
  const counts = new SplitCounts(fixture);
  await counts.runOnce(never);
  let listed = 0;
  catalog.before = (call, space) =>
    void (call === "list" && space.startsWith("splits/") && listed++);
  await counts.runOnce(never);
  equal(listed, 0);
  const namespaceId = (await fixture.start().namespaces.get("plays")).id;
  const [slice = ""] = await slicesWithSplits(catalog, namespaceId);
  const partition = { namespaceId, slice, seriesId: "hot", timeBucket: 0, eventBucket: 0 };
  const before = await readSplit(catalog, partition);
  ok(before);
  const move = { at: 1, by: "test", cause: "claim", reason: "its turn" } as const;
  await moveSplit(catalog, clock, before, movedSplit(before, "PLANNING", move, {}));
  await counts.runOnce(never);
  ok(listed > 0);
  const states = new Map([...counts.states()].map(({ value, labels }) => [labels[1], value]));
  equal(states.get("DETECTED"), 1);
  equal(states.get("PLANNING"), 1);
  // A mark can be missing, so everything is counted again in time.
  listed = 0;
  await clock.advance(3_600_000);
  await counts.runOnce(never);
  ok(listed > 0);
});
