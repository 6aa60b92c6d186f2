import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { ControlFixture, HOUR, NOON } from "../../../tests/support/control-fixture.ts";
import type { PartitionKey } from "../../model/partition.ts";
import { newSplit } from "../../model/split-moves.ts";
import type { SplitRecord } from "../../model/split.ts";
import { ServiceError } from "../../lib/errors.ts";
import { moveSplit } from "./move-split.ts";
import { readSplit } from "../../records/split-records.ts";
import { listDue } from "../../records/split-work.ts";

const LATER = NOON + 5 * HOUR;
const LOWER = { acceptLimitMicros: 60_000_000 };

const WAITING: Readonly<Record<string, Partial<SplitRecord>>> = {
  parked: { state: "PARKED", dueAt: LATER },
  "opened again": { state: "INVALIDATED", dueAt: LATER },
  "split so far": { state: "COMPLETED", dueAt: LATER },
};

const LEFT_ALONE: Readonly<Record<string, Partial<SplitRecord>>> = {
  "in somebody's hands": { state: "PARKED", dueAt: LATER, owner: { by: "worker-1", heartbeat: 1 } },
  "taken back": { state: "INVALIDATED", dueAt: LATER, heldBy: "ann" },
  failed: { state: "FAILED", dueAt: LATER },
  "all split": { state: "COMPLETED", dueAt: null },
  refused: { state: "REFUSED", dueAt: null },
  "due before": { state: "PARKED", dueAt: NOON + 1 },
};

async function setting() {
  const fixture = new ControlFixture();
  const { namespaces } = fixture.start();
  const { id, epoch } = await namespaces.create("plays", {});
  const partition = (seriesId: string): PartitionKey => {
    return { namespaceId: id, slice: "data_20260328", seriesId, timeBucket: 5, eventBucket: 0 };
  };
  for (const [name, change] of Object.entries({ ...WAITING, ...LEFT_ALONE })) {
    const found = { epoch, bytes: 1, events: 1, immutable: true, detectedAt: NOON };
    const record = newSplit(
      { partition: partition(name), namespace: "plays", ...found },
      { at: NOON, by: "worker-1", cause: "detection", reason: "wide" },
    );
    await moveSplit(fixture.catalog, fixture.clock, undefined, { ...record, ...change });
  }
  const dueOf = async (name: string): Promise<number | null | undefined> =>
    (await readSplit(fixture.catalog, partition(name)))?.dueAt;
  return { fixture, namespaces, dueOf };
}

test("a lower acceptLimit makes splits due that wait for sealed time, and no others", async () => {
  const { fixture, namespaces, dueOf } = await setting();
  await namespaces.update("plays", LOWER, []);
  const soon = fixture.clock.nowMicros() + 60_000_000;
  for (const name of Object.keys(WAITING)) {
    const dueAt = await dueOf(name);
    ok(typeof dueAt === "number" && dueAt > fixture.clock.nowMicros() && dueAt < soon, name);
  }
  for (const [name, { dueAt }] of Object.entries(LEFT_ALONE)) equal(await dueOf(name), dueAt, name);
  const { due } = await listDue(fixture.catalog, "split-work", soon, 100);
  const found = due.map(({ partition }) => partition.seriesId);
  for (const name of Object.keys(WAITING)) ok(found.includes(name), `${name} is found by then`);
});

test("no other change of a namespace makes splits due", async () => {
  const { namespaces, dueOf } = await setting();
  await namespaces.update("plays", { slos: { read: { targetMs: 300 } } }, []);
  for (const name of Object.keys(WAITING)) equal(await dueOf(name), LATER, name);
});

test("the limit is lowered even if the splits cannot be rescheduled", async () => {
  const { fixture, namespaces, dueOf } = await setting();
  fixture.catalog.before = (call, space) => {
    if (call === "list" && space.startsWith("split-slices/")) {
      throw new ServiceError("STORAGE_UNAVAILABLE", "away");
    }
  };
  const { config } = await namespaces.update("plays", LOWER, []);
  fixture.catalog.before = () => undefined;
  deepEqual([config.acceptLimitMicros, await dueOf("parked")], [60_000_000, LATER]);
});
