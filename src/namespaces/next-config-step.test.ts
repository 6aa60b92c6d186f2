import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { ControlFixture, DAY, HOUR, NOON } from "../../tests/support/control-fixture.ts";
import type { NamespaceConfig } from "../model/namespace-config.ts";
import { SECOND_MICROS } from "../model/namespace-config.ts";
import { readReadyNamespace } from "../records/namespace-records.ts";
import type { NamespaceRecord } from "../records/namespace-records.ts";
import { readSlices } from "../records/slice-records.ts";
import type { SliceRecord } from "../records/slice-records.ts";
import { boundedChange } from "../records/slice-change.ts";
import { nextConfigStep } from "./next-config-step.ts";
import type { ConfigStep } from "./next-config-step.ts";

const SKEW = SECOND_MICROS;

async function created(): Promise<{ record: NamespaceRecord; slices: readonly SliceRecord[] }> {
  const fixture = new ControlFixture();
  const { namespaces } = fixture.start();
  await namespaces.create("plays", { acceptLimitMicros: 6 * HOUR });
  const record = await readReadyNamespace(fixture.catalog, "plays");
  return { record, slices: await readSlices(fixture.catalog, record.id) };
}

function next(
  record: NamespaceRecord,
  slices: readonly SliceRecord[],
  change: Partial<NamespaceConfig>,
): ConfigStep {
  return nextConfigStep(record, slices, { ...record.config, ...change }, NOON, SKEW);
}

test("a change that slices do not depend on is written at once, also while slices change", async () => {
  const { record, slices } = await created();
  const changing = boundedChange({});
  const step = next({ ...record, changing }, slices, { consistency: "EVENTUAL" });
  equal(step.kind, "write");
  equal(step.record.config.consistency, "EVENTUAL");
  ok(step.record.everEventual);
});

test("a decision on slices in the record is carried out before a change that needs slices", async () => {
  const { record, slices } = await created();
  const changing = boundedChange({});
  const decided = { ...record, changing };
  const step = next(decided, slices, { acceptLimitMicros: 3 * DAY });
  deepEqual(step, { kind: "change slices", record: decided, due: {} });
});

test("a higher acceptLimit makes slices first, then begins an epoch with a lower floor", async () => {
  const { record, slices } = await created();
  const far = next(record, slices, { acceptLimitMicros: 3 * DAY });
  ok(far.kind === "change slices");
  deepEqual(
    far.due.make?.map(({ name }) => name),
    ["data_20260327", "data_20260326", "data_20260325"],
  );
  const near = next(record, slices, { acceptLimitMicros: 8 * HOUR });
  equal(near.kind, "write");
  equal(near.record.epoch, record.epoch + 1);
  equal(near.record.floor, NOON - 8 * HOUR - SKEW);
  equal(near.record.config.acceptLimitMicros, 6 * HOUR);
  deepEqual(near.record.epochStarts, [{ epoch: near.record.epoch, floor: near.record.floor }]);
  const sealedBelow = record.floor;
  deepEqual(near.record.reopening, { acceptLimitMicros: 8 * HOUR, sealedBelow });
  deepEqual(near.record.resealing, { from: near.record.floor, to: record.floor });
});

test("C3: a raise that is repeated continues its epoch, and so does one to a lower limit above the present one", async () => {
  const { record, slices } = await created();
  const begun = next(record, slices, { acceptLimitMicros: 8 * HOUR }).record;
  for (const hours of [8, 7]) {
    const step = next(begun, slices, { acceptLimitMicros: hours * HOUR });
    equal(step.kind, "write");
    deepEqual([step.record.epoch, step.record.floor], [begun.epoch, begun.floor]);
    equal(step.record.config.acceptLimitMicros, 6 * HOUR);
    deepEqual(step.record.epochStarts, begun.epochStarts);
    const sealedBelow = record.floor;
    deepEqual(step.record.reopening, { acceptLimitMicros: hours * HOUR, sealedBelow });
  }
});

test("C3: a raise beyond the one under way begins another epoch, and what was sealed before both stays closed", async () => {
  const { record, slices } = await created();
  const begun = next(record, slices, { acceptLimitMicros: 8 * HOUR }).record;
  const step = next(begun, slices, { acceptLimitMicros: 9 * HOUR });
  equal(step.kind, "write");
  equal(step.record.epoch, begun.epoch + 1);
  const sealedBelow = record.floor;
  deepEqual(step.record.reopening, { acceptLimitMicros: 9 * HOUR, sealedBelow });
  deepEqual(step.record.epochStarts, [{ epoch: begun.epoch + 1, floor: step.record.floor }]);
});

test("a lower acceptLimit raises the floor by the difference", async () => {
  const { record, slices } = await created();
  const step = next(record, slices, { acceptLimitMicros: 2 * HOUR });
  equal(step.kind, "write");
  equal(step.record.floor, record.floor + 4 * HOUR);
  equal(step.record.epoch, record.epoch);
});

test("a limit that is cancelled before it is in force ends the re-opening", async () => {
  const { record, slices } = await created();
  const begun = next(record, slices, { acceptLimitMicros: 8 * HOUR }).record;
  const step = next(begun, slices, { acceptLimitMicros: 6 * HOUR });
  equal(step.kind, "write");
  equal(step.record.reopening, null);
  ok(step.record.floor >= record.floor, "no event was let in below it");
});
