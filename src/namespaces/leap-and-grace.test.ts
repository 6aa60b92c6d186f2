import { equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { placed } from "../../tests/conformance/event-store.ts";
import { ControlFixture, DAY, never, NOON } from "../../tests/support/control-fixture.ts";
import { readDeleted } from "../records/deleted-records.ts";
import { readSlice } from "../records/slice-records.ts";

const GRACE_MS = 86_400_000;
const SLICE = "data_20260328";

/** A day with a slice that holds an event, and a reconciler that runs as time passes. */
async function fixture() {
  const control = new ControlFixture({ dropGraceMs: GRACE_MS });
  const process = control.start();
  const retention = { closeAfterMicros: 3 * DAY, deleteAfterMicros: 4 * DAY };
  await process.reconciler.runOnce(never);
  const { id } = await process.namespaces.create("plays", { retention });
  await control.store.append({ namespaceId: id, slice: SLICE }, [placed("a", NOON, "e")]);
  const { catalog, clock } = control;
  return {
    process,
    id,
    clock,
    async pass(ms: number, stepMs: number): Promise<void> {
      for (let passed = 0; passed < ms; passed += stepMs) {
        await clock.advance(stepMs);
        await process.reconciler.runOnce(never);
      }
    },
    state: async () => (await readSlice(catalog, id, SLICE))?.state,
    deleted: () => readDeleted(catalog, id),
  };
}

test("C26: a clock that is a day ahead and believed ends no grace of a slice", async () => {
  const { pass, state, clock } = await fixture();
  while ((await state()) !== "DROPPING") await pass(3_600_000, 3_600_000);
  clock.stepWall(DAY - 1_000_000);
  await pass(3_600_000, 30_000);
  equal(await state(), "DROPPING");
  // It ends when the grace has really passed.
  await pass(GRACE_MS, 3_600_000);
  equal(await state(), "DROPPED");
});

test("C26: nor that of a deleted namespace", async () => {
  const { pass, process, deleted, clock } = await fixture();
  await process.namespaces.delete("plays");
  clock.stepWall(DAY - 1_000_000);
  await pass(3_600_000, 30_000);
  equal((await deleted())?.phase, "DELETED");
  await pass(GRACE_MS, 3_600_000);
  ok((await deleted()) === undefined);
});
