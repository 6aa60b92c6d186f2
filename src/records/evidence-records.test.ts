import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { test } from "node:test";
import { MemoryCatalog } from "../../tests/support/memory-catalog.ts";
import type { Evidence } from "../model/read-mode.ts";
import { SPLIT_MARKS_MAX } from "../model/split-marks.ts";
import { COUNTERS_MAX, markUnsettled, readEvidence, writeEvidence } from "./evidence-records.ts";
import type { CounterEvidence } from "./evidence-records.ts";

const KIND = { layout: "PACKED", layoutVersion: 1, strategy: "EVENT_BUCKETS" };
const COUNTED: CounterEvidence = {
  ...KIND,
  round: 2,
  counter: "server-1.0",
  readsCompared: 3,
  bytesMatched: 100,
  bytesDiffered: 0,
  marks: [5],
  since: 50,
};
const SUMMED: Evidence = {
  ...KIND,
  round: 2,
  readsCompared: 3,
  bytesMatched: 100,
  bytesDiffered: 0,
  splitsCompared: 1,
  since: 50,
};

test("evidence of many servers adds up, for each kind of split", async () => {
  const catalog = new MemoryCatalog();
  const hash = { ...COUNTED, strategy: "HASH", bytesDiffered: 7 };
  await Promise.all([
    writeEvidence(catalog, "plays-1", COUNTED),
    writeEvidence(catalog, "plays-1", { ...COUNTED, counter: "server-2.0", since: 40 }),
    writeEvidence(catalog, "plays-1", hash),
    writeEvidence(catalog, "plays-2", COUNTED),
  ]);
  deepEqual(await readEvidence(catalog, "plays-1"), [
    { ...SUMMED, readsCompared: 6, bytesMatched: 200, since: 40 },
    { ...SUMMED, strategy: "HASH", bytesDiffered: 7 },
  ]);
});

test("C29: totals that are written again, or after newer ones, count once", async () => {
  const catalog = new MemoryCatalog();
  const more = { ...COUNTED, readsCompared: 5, bytesMatched: 180, marks: [5, 6] };
  for (const counted of [COUNTED, COUNTED, more, COUNTED, more]) {
    await writeEvidence(catalog, "plays-1", counted);
  }
  const sum = { ...SUMMED, readsCompared: 5, bytesMatched: 180, splitsCompared: 2 };
  deepEqual(await readEvidence(catalog, "plays-1"), [sum]);
});

test("C29: distinct splits are counted once, whichever processes have read them", async () => {
  const catalog = new MemoryCatalog();
  const splits = async (): Promise<number | undefined> =>
    (await readEvidence(catalog, "plays-1"))[0]?.splitsCompared;
  for (const [n, marks] of [[5], [5, 6], [6, 7], [5]].entries()) {
    await writeEvidence(catalog, "plays-1", { ...COUNTED, counter: `server-${n}.0`, marks });
  }
  equal(await splits(), 3);
  for (let n = 0; n < 3; n++) {
    const marks = Array.from({ length: SPLIT_MARKS_MAX }, (_, mark) => mark * 3 + n);
    await writeEvidence(catalog, "plays-1", { ...COUNTED, marks });
  }
  equal(await splits(), SPLIT_MARKS_MAX);
});

test("C29: the record keeps a bounded number of counters, those with a difference first", async () => {
  const catalog = new MemoryCatalog();
  const differed = { ...COUNTED, counter: "first.0", readsCompared: 1, bytesDiffered: 1 };
  await writeEvidence(catalog, "plays-1", differed);
  for (let n = 1; n <= 10 * COUNTERS_MAX; n++) {
    await writeEvidence(catalog, "plays-1", {
      ...COUNTED,
      counter: `server-${n}.0`,
      readsCompared: n,
      bytesMatched: 1_000_000_000,
    });
  }
  const [evidence] = await readEvidence(catalog, "plays-1");
  equal(evidence?.bytesDiffered, 1);
  let reads = 1;
  for (let n = 1; n < COUNTERS_MAX; n++) reads += 10 * COUNTERS_MAX - n + 1;
  equal(evidence.readsCompared, reads);
  const [stored] = await catalog.list("evidence/plays-1", "", 10);
  ok(stored !== undefined && stored.value.length < 4_096, `${stored?.value.length} bytes`);
  // A counter that was left out counts again when it has more.
  await writeEvidence(catalog, "plays-1", {
    ...COUNTED,
    counter: "server-1.0",
    readsCompared: 999,
  });
  const [after] = await readEvidence(catalog, "plays-1");
  equal(after?.readsCompared, reads + 999 - (9 * COUNTERS_MAX + 2));
});

test("evidence of another round takes its place if that is later, and is nothing if it is older", async () => {
  const catalog = new MemoryCatalog();
  await writeEvidence(catalog, "plays-1", COUNTED);
  await writeEvidence(catalog, "plays-1", { ...COUNTED, round: 1, readsCompared: 99 });
  deepEqual(await readEvidence(catalog, "plays-1"), [SUMMED]);
  await writeEvidence(catalog, "plays-1", {
    ...COUNTED,
    round: 3,
    readsCompared: 1,
    since: 60,
    marks: [],
  });
  deepEqual(await readEvidence(catalog, "plays-1"), [
    { ...SUMMED, round: 3, readsCompared: 1, splitsCompared: 0, since: 60 },
  ]);
});

test("C14: that a difference is not settled outlasts the round, and is known from the last process that reported it", async () => {
  const catalog = new MemoryCatalog();
  await writeEvidence(catalog, "plays-1", COUNTED);
  await markUnsettled(catalog, "plays-1", COUNTED, 70);
  deepEqual(await readEvidence(catalog, "plays-1"), [{ ...SUMMED, unsettledAt: 70 }]);
  await writeEvidence(catalog, "plays-1", { ...COUNTED, round: 3, readsCompared: 1 });
  const next = { ...SUMMED, round: 3, readsCompared: 1 };
  deepEqual(await readEvidence(catalog, "plays-1"), [{ ...next, unsettledAt: 70 }]);
  // From a server that saw it in the round before.
  for (const at of [90, 80]) await markUnsettled(catalog, "plays-1", COUNTED, at);
  deepEqual(await readEvidence(catalog, "plays-1"), [{ ...next, unsettledAt: 90 }]);
});

test("C28: evidence that cannot be decoded fails its readers and is not overwritten", async () => {
  const catalog = new MemoryCatalog();
  await catalog.write("evidence/plays-1", "PACKED/1|EVENT_BUCKETS", "{", 0);
  await rejects(readEvidence(catalog, "plays-1"), { code: "DATA_LOSS" });
  await rejects(writeEvidence(catalog, "plays-1", COUNTED), { code: "DATA_LOSS" });
});
