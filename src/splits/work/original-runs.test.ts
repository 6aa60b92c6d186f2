/** How many replicas a copy reads from (rule C5). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { HOUR, MIDNIGHT, NAME, SplitScenario } from "../../../tests/scenarios/split-scenario.ts";
import { ServiceError } from "../../lib/errors.ts";
import type { PartitionKey } from "../../model/partition.ts";
import type { SplitRecord } from "../../model/split.ts";
import type { ScanRange } from "../../ports/event-store.ts";

const TEN = MIDNIGHT + 10 * HOUR;

const rests = ({ state, owner, dueAt }: SplitRecord): boolean =>
  state === "COMPLETED" && owner === null && dueAt === null;

type Asked = { readonly part: boolean; readonly consistency: string | undefined };

async function fixtureWithWide(): Promise<{ fixture: SplitScenario; partition: PartitionKey }> {
  const fixture = await SplitScenario.open();
  await fixture.write({ events: 100, bytes: 2_000, from: TEN, to: TEN + HOUR });
  const partition = await fixture.partitionAt(TEN);
  await fixture.detect(partition);
  return { fixture, partition };
}

/**
 * The scans from now on that must see everything; a worker's measuring reads are like a caller's.
 */
function watched(
  { store }: SplitScenario,
  fail: (range: ScanRange) => void = () => undefined,
): Asked[] {
  const asked: Asked[] = [];
  const scan = store.scan.bind(store);
  const scanBlocks = store.scanBlocks.bind(store);
  store.scan = async function* (partition, range, signal) {
    if (range.runEventsMax > 1_000) {
      asked.push({ part: false, consistency: range.level?.consistency });
      fail(range);
    }
    yield* scan(partition, range, signal);
  };
  store.scanBlocks = (partition, range, signal) => {
    asked.push({ part: true, consistency: range.level?.consistency });
    return scanBlocks(partition, range, signal);
  };
  return asked;
}

function levelsOf(asked: readonly Asked[], part: boolean): unknown[] {
  return [...new Set(asked.filter((each) => each.part === part).map((each) => each.consistency))];
}

async function madeEventual(fixture: SplitScenario): Promise<void> {
  for (const consistency of ["EVENTUAL", "READ_YOUR_WRITES"] as const) {
    await fixture.passWhile(fixture.control.namespaces.update(NAME, { consistency }, []));
  }
}

test("V4, C5: where writes were ever acknowledged by one replica, the original is copied and confirmed at ALL", async () => {
  const { fixture, partition } = await fixtureWithWide();
  await madeEventual(fixture);
  const asked = watched(fixture);
  fixture.startWorker();
  await fixture.until(partition, rests);
  assert.deepEqual(levelsOf(asked, false), ["ALL"]);
  // The copy and the recheck; a closed bucket that was detected is not surveyed.
  assert.equal(asked.filter(({ part }) => !part).length, 2);
  assert.ok(levelsOf(asked, true).includes("ALL"));
  await fixture.close();
});

test("C5: the same where a majority of one data centre is not a majority of all; elsewhere a majority is enough", async () => {
  for (const copyAtAll of [true, false]) {
    const { fixture, partition } = await fixtureWithWide();
    const asked = watched(fixture);
    fixture.startWorker({ copyAtAll });
    await fixture.until(partition, rests);
    const expected = copyAtAll ? ["ALL"] : ["READ_YOUR_WRITES"];
    assert.deepEqual(levelsOf(asked, false), expected);
    await fixture.close();
  }
});

test("S27, C5: while not all replicas answer the split is parked with that reason, and continues when they do", async () => {
  const { fixture, partition } = await fixtureWithWide();
  let away = true;
  const asked = watched(fixture, ({ level }) => {
    if (away && level?.consistency === "ALL") {
      throw new ServiceError("STORAGE_UNAVAILABLE", "not every replica answers: 2 of 3");
    }
  });
  fixture.startWorker({ copyAtAll: true });
  const { history, failures } = await fixture.until(partition, ({ state }) => state === "PARKED");
  assert.equal(history.at(-1)?.cause, "outage");
  assert.equal(failures, 0);
  await fixture.clock.advance(60_000);
  assert.deepEqual(levelsOf(asked, false), ["ALL"]);
  assert.equal((await fixture.compare(partition)).parts, 0);
  away = false;
  await fixture.until(partition, rests, 600);
  const { same, events } = await fixture.compare(partition);
  assert.deepEqual({ same, events }, { same: true, events: 100 });
  await fixture.close();
});
