import assert from "node:assert/strict";
import { test } from "node:test";
import type { NamespaceConfigPatch } from "../../model/merge-config.ts";
import type { SplitRecord } from "../../model/split.ts";
import { HOUR, MIDNIGHT, MINUTE, SplitScenario } from "../../../tests/scenarios/split-scenario.ts";
import type { Written } from "../../../tests/scenarios/split-scenario.ts";
import type { ScanRange } from "../../ports/event-store.ts";
import { readRoute } from "../../records/route-records.ts";
import type { Run } from "../../wire/frames.ts";
import { framesOf, RunBuilder } from "./run-builder.ts";

const TEN = MIDNIGHT + 10 * HOUR;
const ELEVEN = TEN + HOUR;
const WIDE: Written = { events: 200, bytes: 2_000, from: TEN, to: ELEVEN };

function lateAt(time: number): Written {
  return { events: 1, bytes: 10, from: time, to: time + 1, id: "late" };
}

function rests({ state, owner, dueAt }: SplitRecord): boolean {
  return owner === null && state === "COMPLETED" && dueAt === null;
}

/**
 * Splits what was written, and lets an event surface in the original when the nth segment is copied
 * and read back, before the second read.
 */
async function surfacing(
  written: Written,
  late: Written,
  nth: number,
  patch: NamespaceConfigPatch = {},
): Promise<{ fixture: SplitScenario; record: SplitRecord }> {
  const fixture = await SplitScenario.open(patch);
  const { catalog } = fixture;
  await fixture.write(written);
  const partition = await fixture.partitionAt(written.from);
  let isCopied = false;
  catalog.changed = (space, _before, after) => {
    if (!space.startsWith("splits/") || after === undefined) return;
    const { segments } = JSON.parse(after.value) as SplitRecord;
    isCopied ||= segments[nth]?.state === "COMPLETED";
  };
  let surfaced = false;
  catalog.before = async () => {
    if (!isCopied || surfaced) return;
    surfaced = true;
    await fixture.write(late);
  };
  fixture.startWorker();
  await fixture.detect(partition);
  const record = await fixture.until(partition, rests, 3_600);
  const { same, parts } = await fixture.compare(partition);
  assert.ok(same && parts > 0);
  return { fixture, record };
}

const HASHED: NamespaceConfigPatch = { widePartition: { strategy: "HASH" } };

for (const [what, time, patch] of [
  ["the newest part", ELEVEN - 1, {}],
  ["a part in the middle", TEN + 30 * MINUTE, {}],
  ["the oldest part", TEN, {}],
  ["one of the parts by hash", TEN + 30 * MINUTE, HASHED],
] as const) {
  test(`P13, CP17, V3, C6: what surfaces in ${what} after it was copied is found by the second read`, async () => {
    const { fixture, record } = await surfacing(WIDE, lateAt(time), 0, patch);
    const failed = record.history.find(({ to }) => to === "FAILED");
    assert.equal(failed?.cause, "mismatch");
    // Including the event that the copy lacks.
    assert.ok(failed.reason.includes("late-000000"), failed.reason);
    await fixture.close();
  });
}

test("P13, C6: other bytes of the same length are found by the second read", async () => {
  const other = { ...WIDE, events: 1, to: TEN + 1, fill: 7 };
  const { fixture, record } = await surfacing(WIDE, other, 0);
  const failed = record.history.find(({ to }) => to === "FAILED");
  assert.equal(failed?.cause, "mismatch");
  await fixture.close();
});

test("C6: what surfaces in a range that was empty when it was copied is found by the second read", async () => {
  const written = { ...WIDE, from: ELEVEN, to: ELEVEN + 40 * MINUTE };
  const { fixture, record } = await surfacing(written, lateAt(ELEVEN + 55 * MINUTE), 1);
  const failed = record.history.find(({ to }) => to === "FAILED");
  assert.equal(failed?.cause, "mismatch");
  await fixture.close();
});

/** A fault of a store that is the same at every scan of an original. */
const SCAN_FAULTS: Readonly<Record<string, (run: Run, range: ScanRange) => Run | undefined>> = {
  "loses an event newest first": (run, { order }) =>
    order === "NEWEST_FIRST" ? without(run, TEN + 30 * MINUTE) : run,
  // A run is full if another event of this size does not fit.
  "loses the last event of every full run": (run, { runBytesMax }) =>
    run.bytes + 2 * LARGE_BYTES > runBytesMax ? without(run, run.last.time) : run,
};
const LARGE_BYTES = 20_000;

for (const [fault, change] of Object.entries(SCAN_FAULTS)) {
  for (const [kind, patch] of [
    ["ordered", {}],
    ["hashed", HASHED],
  ] as const) {
    test(`CP17, C6: a store that ${fault} fails the second read of ${kind} parts`, async () => {
      const fixture = await SplitScenario.open(patch);
      await fixture.write({ ...WIDE, events: 120, bytes: LARGE_BYTES });
      const partition = await fixture.partitionAt(TEN);
      await fixture.detect(partition);
      const scan = fixture.store.scan.bind(fixture.store);
      fixture.store.scan = async function* (scanned, range, signal) {
        for await (const run of scan(scanned, range, signal)) {
          const changed = change(run, range);
          if (changed !== undefined) yield changed;
        }
      };
      fixture.startWorker();
      const { history } = await fixture.until(partition, ({ state }) => state === "FAILED", 3_600);
      assert.equal(history.at(-1)?.cause, "mismatch");
      const route = await readRoute(fixture.catalog, partition);
      assert.deepEqual(
        route?.segments.filter(({ confirmed }) => confirmed),
        [],
      );
      await fixture.close();
    });
  }
}

/** The run without the events of one microsecond. */
function without(run: Run, time: number): Run | undefined {
  const kept = new RunBuilder();
  for (const { chunk, start, event } of framesOf(run)) {
    if (event.time !== time) kept.add(chunk, start, event);
  }
  return kept.take();
}
