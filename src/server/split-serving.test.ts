import { deepEqual, equal, match, ok } from "node:assert/strict";
import { beforeEach, test } from "node:test";
import {
  BUCKET,
  EVENTS,
  everySecond,
  ids,
  idsOf,
  OnePartition,
  location,
  SECOND,
  START,
} from "../../tests/property/one-partition.ts";
import { inState } from "../../tests/support/split-in-state.ts";
import { ServedReads } from "../../tests/property/served-reads.ts";
import { splitTableOf } from "../model/split.ts";
import { moveSplit } from "../splits/record/move-split.ts";
import { readEvidence } from "../records/evidence-records.ts";
import { readSplit } from "../records/split-records.ts";
import { reopened } from "../../tests/support/reopened.ts";

const never = new AbortController().signal;

let fixture: OnePartition;

beforeEach(async () => {
  fixture = await OnePartition.open();
});

test("SERVE: the first read uses the original and is compared, the next uses the split", async () => {
  await fixture.split({});
  await fixture.filled();
  const first = await fixture.read({});
  equal(first.context.splitPartitionsRead, 0);
  await fixture.quiet();
  equal(fixture.count("compared MATCH"), 1);
  const calls = fixture.watchStore();
  const second = await fixture.read({ end: START + BUCKET });
  equal(second.context.splitPartitionsRead, 1);
  deepEqual(calls, ["scanBlocks"]);
  deepEqual(idsOf(second), ids(100));
});

test("C13: a recopied split is compared again before reads use it", async () => {
  await fixture.split({});
  await fixture.proven();
  await fixture.rollBack();
  await fixture.split({});
  fixture.serving.changed(location);
  equal((await fixture.read({})).context.splitPartitionsRead, 0);
  await fixture.quiet();
  equal((await fixture.read({})).context.splitPartitionsRead, 1);
});

test("R6: when a split completes between two pages, the next page uses it without gap or repeat", async () => {
  await fixture.filled();
  const seen: string[] = [];
  const from: number[] = [];
  let pageToken = "";
  do {
    const page = await fixture.read({ pageSize: 30, pageToken });
    seen.push(...idsOf(page));
    from.push(page.context.splitPartitionsRead);
    ({ nextPageToken: pageToken } = page);
    if (seen.length === 60) {
      await fixture.split({ cuts: everySecond(20) });
      fixture.serving.changed(location);
      await fixture.proven();
    }
  } while (pageToken !== "");
  deepEqual(seen, ids(EVENTS));
  deepEqual(from.slice(0, 3), [0, 0, 1]);
});

/**
 * Name, the end of the split that the first page is read from, the change, and the source of the
 * rest.
 */
const BETWEEN_PAGES: readonly (readonly [string, number, () => Promise<void>, 0 | 1])[] = [
  [
    "is extended by a further segment",
    START + 150 * SECOND,
    async () => {
      await fixture.split({ from: START + 150 * SECOND, cuts: everySecond(20), layout: "ROWS" });
      fixture.serving.changed(location);
      await fixture.proven();
    },
    1,
  ],
  [
    "is rolled back",
    START + BUCKET,
    async () => {
      await fixture.rollBack();
      fixture.serving.changed(location);
    },
    0,
  ],
  [
    "is rolled back and copied again into other parts",
    START + BUCKET,
    async () => {
      await fixture.rollBack();
      await fixture.split({ cuts: everySecond(7), layout: "ROWS" });
      fixture.serving.changed(location);
      await fixture.proven();
    },
    1,
  ],
];

for (const [what, to, change, restFromSplits] of BETWEEN_PAGES) {
  for (const order of ["NEWEST_FIRST", "OLDEST_FIRST"] as const) {
    test(`R6: a page token continues without gap or repeat when the split ${what} before the next page, ${order}`, async () => {
      await fixture.split({ to, cuts: everySecond(20) });
      await fixture.proven();
      const calls = fixture.watchStore();
      // Newest first also ends in the split, after everything that is not split yet.
      const first = await fixture.read({ order, pageSize: 60, end: START + BUCKET });
      ok(calls.includes("scanBlocks"));
      await change();
      const seen = idsOf(first);
      const from = [first.context.splitPartitionsRead];
      let pageToken = first.nextPageToken;
      while (pageToken !== "") {
        const page = await fixture.read({ order, pageSize: 60, end: START + BUCKET, pageToken });
        seen.push(...idsOf(page));
        from.push(page.context.splitPartitionsRead);
        ({ nextPageToken: pageToken } = page);
      }
      deepEqual(seen, order === "NEWEST_FIRST" ? ids(EVENTS) : ids(EVENTS).toReversed());
      deepEqual(from, [1, restFromSplits, restFromSplits, restFromSplits]);
    });
  }
}

test("C13: a kind of split without evidence is compared, not served, and the comparison becomes its evidence", async () => {
  await fixture.split({ layout: "ROWS" });
  const { namespace } = fixture.view;
  const kinds = ["PACKED/1 EVENT_BUCKETS"];
  const readMode = { ...namespace.readMode, round: 7, kinds };
  fixture.view = { ...fixture.view, namespace: { ...namespace, readMode } };
  await fixture.filled();
  for (let reads = 0; reads < 3; reads++) {
    equal((await fixture.read({})).context.splitPartitionsRead, 0);
    await fixture.quiet();
  }
  equal(fixture.count("compared MATCH"), 3);
  await fixture.clock.advance(4_000);
  const [evidence] = await readEvidence(fixture.catalog, "plays-1");
  deepEqual(
    [evidence?.layout, evidence?.layoutVersion, evidence?.round, evidence?.readsCompared],
    ["ROWS", 1, 7, 3],
  );
  kinds.push("ROWS/1 EVENT_BUCKETS");
  equal((await fixture.read({})).context.splitPartitionsRead, 1);
});

test("a page reads one or two blocks of the split, not all of it", async () => {
  await fixture.split({});
  await fixture.proven();
  let blocks = 0;
  fixture.onBlocks((fetched) => {
    blocks += fetched.length;
    return fetched;
  });
  await fixture.read({ pageSize: 20 });
  ok(blocks <= 2, `${blocks} blocks`);
});

test("DE8: reads use the split up to its end and the original after it; only the original counts as width", async () => {
  await fixture.split({ to: START + 150 * SECOND });
  await fixture.proven();
  fixture.reads.length = 0;
  const page = await fixture.read({ pageSize: 1_000 });
  deepEqual(idsOf(page), ids(EVENTS));
  const told = await fixture.reader.explain(fixture.query({ pageSize: 1_000 }), never);
  equal(told.partitions.find((row) => row.timeBucket === 0)?.route, "SPLIT_AND_ORIGINAL");
  for (const order of ["NEWEST_FIRST", "OLDEST_FIRST"] as const) {
    fixture.reads.length = 0;
    await fixture.read({ pageSize: 1_000, order });
    const seen = fixture.reads.find(({ partition }) => partition.timeBucket === 0);
    equal(seen?.events, 50, order);
    equal(seen?.whole, false);
  }
});

test("DE6, DE8, C10: time that a split covers does not count as width, from whichever source it was read", async () => {
  await fixture.split({});
  fixture.setMode("SHADOW");
  await fixture.filled();
  fixture.reads.length = 0;
  await fixture.read({ pageSize: 1_000 });
  deepEqual(
    fixture.reads.map(({ events }) => events),
    [0, 0],
  );
});

for (const mode of ["OFF", "SHADOW", "COMPARE"] as const) {
  test(`X8: ${mode}: the original is served`, async () => {
    await fixture.split({});
    await fixture.proven();
    fixture.setMode(mode);
    const page = await fixture.read({});
    equal(page.context.splitPartitionsRead, 0);
    deepEqual(idsOf(page), ids(100));
  });
}

test("OFF and the kill switch: a read does not touch the split", async () => {
  await fixture.split({});
  await fixture.proven();
  for (const off of [() => fixture.setMode("OFF"), () => (fixture.killed = true)]) {
    fixture.setMode("SERVE");
    off();
    fixture.told.clear();
    const calls = fixture.watchStore();
    await fixture.read({});
    await fixture.quiet();
    deepEqual([...fixture.told.keys()], []);
    deepEqual([...new Set(calls)], ["scan"]);
  }
});

test("V7: SHADOW compares a sample, COMPARE every read, SERVE a sample", async () => {
  await fixture.split({});
  await fixture.proven();
  const compared = async (mode: "SHADOW" | "COMPARE" | "SERVE", fraction: number) => {
    fixture.setMode(mode);
    fixture.fraction = fraction;
    const before = fixture.count("compared MATCH");
    await fixture.read({});
    await fixture.quiet();
    return fixture.count("compared MATCH") - before;
  };
  equal(await compared("SHADOW", 0.999), 0);
  equal(await compared("SHADOW", 0), 1);
  equal(await compared("COMPARE", 0.999), 1);
  equal(await compared("SERVE", 0.999), 0);
  equal(await compared("SERVE", 0), 1);
});

test("a comparison becomes evidence for its kind of split and the current round of the mode", async () => {
  await fixture.split({ to: START + 100 * SECOND, layout: "PACKED" });
  await fixture.split({ from: START + 100 * SECOND, layout: "ROWS" });
  fixture.setMode("COMPARE");
  await fixture.filled();
  await fixture.read({ pageSize: 1_000 });
  await fixture.read({ pageSize: 10 });
  await fixture.quiet();
  await fixture.clock.advance(4_000);
  const evidence = await readEvidence(fixture.catalog, "plays-1");
  deepEqual(
    evidence.map(({ layout, readsCompared, bytesDiffered, round }) => [
      layout,
      readsCompared,
      bytesDiffered,
      round,
    ]),
    [
      ["PACKED", 1, 0, 0],
      ["ROWS", 2, 0, 0],
    ],
  );
  ok(evidence.every(({ bytesMatched }) => bytesMatched > 0));
});

test("C13: a comparison without events proves nothing: the next read is compared again", async () => {
  const empty = { start: START + 10 * SECOND + 1, end: START + 10 * SECOND + 2 };
  await fixture.split({});
  await fixture.filled();
  for (let reads = 1; reads <= 3; reads++) {
    equal((await fixture.read(empty)).context.splitPartitionsRead, 0);
    await fixture.quiet();
    equal(fixture.count("compared MATCH"), reads);
  }
  equal((await fixture.read({ pageSize: 1_000 })).context.splitPartitionsRead, 0);
  await fixture.quiet();
  equal((await fixture.read(empty)).context.splitPartitionsRead, 1);
});

test("X7: a comparison covers exactly the positions that were read", async () => {
  await fixture.split({ cuts: [START + 77 * SECOND] });
  fixture.setMode("COMPARE");
  await fixture.filled();
  for (const order of ["NEWEST_FIRST", "OLDEST_FIRST"] as const) {
    for (const pageSize of [1, 7, 60, 133, 200]) {
      let pageToken = "";
      do {
        pageToken = (await fixture.read({ order, pageSize, pageToken })).nextPageToken;
        await fixture.quiet();
      } while (pageToken !== "");
    }
  }
  ok(fixture.count("compared MATCH") > 60);
  equal(fixture.count("compared DIFFER"), 0);
  equal(fixture.count("compared INTEGRITY_ERROR"), 0);
});

test("C18: a read whose split table is missing returns every event, from the original", async () => {
  await fixture.split({ cuts: everySecond(20) });
  await fixture.proven();
  equal((await fixture.read({})).context.splitPartitionsRead, 1);
  await fixture.store.dropSlice(splitTableOf(location));
  const page = await fixture.read({});
  equal(page.context.splitPartitionsRead, 0);
  deepEqual(idsOf(page), ids(100));
});

test("B10, C6: an unconfirmed segment is not served", async () => {
  await fixture.split({ confirmed: false });
  await fixture.proven();
  const page = await fixture.read({});
  equal(page.context.splitPartitionsRead, 0);
  ok(fixture.count("fallback unconfirmed") > 0);
});

test("C3: a split whose time was opened again is not served", async () => {
  await fixture.split({});
  await fixture.proven();
  fixture.view = { ...fixture.view, namespace: reopened(fixture.view.namespace) };
  const page = await fixture.read({});
  equal(page.context.splitPartitionsRead, 0);
  deepEqual(idsOf(page), ids(100));
  equal(fixture.count("fallback epoch"), 1);
});

const WITHDRAWALS: readonly (readonly [string, () => unknown])[] = [
  ["the kill switch", () => (fixture.killed = true)],
  ["another mode", () => fixture.setMode("SHADOW")],
  [
    "a mode that is not for its kind of split (C13)",
    () => {
      const { namespace } = fixture.view;
      const readMode = { ...namespace.readMode, kinds: ["ROWS/1 EVENT_BUCKETS"] };
      fixture.view = { ...fixture.view, namespace: { ...namespace, readMode } };
    },
  ],
  [
    "an epoch that opens its time again",
    () => {
      fixture.view = { ...fixture.view, namespace: reopened(fixture.view.namespace) };
    },
  ],
  [
    "a confirmation that is taken back (C6)",
    async () => {
      const record = await readSplit(fixture.catalog, location);
      ok(record);
      const segments = record.segments.map((segment) => ({ ...segment, confirmedAt: null }));
      await moveSplit(fixture.catalog, fixture.clock, record, { ...record, segments });
      await fixture.clock.advance(20_000);
    },
  ],
  [
    "a roll-back",
    async () => {
      await fixture.rollBack();
      // Nobody reports it: the server sees it when its copy is `viewMaxAge` old.
      await fixture.clock.advance(20_000);
    },
  ],
];

for (const [what, withdraw] of WITHDRAWALS) {
  test(`R7, B2, K1: a stream in the middle of a split continues with the original after ${what}`, async () => {
    await fixture.split({ cuts: everySecond(10) });
    await fixture.proven();
    const seen: string[] = [];
    const calls = fixture.watchStore();
    for await (const page of fixture.reader.stream(fixture.query({ pageSize: 5 }), never)) {
      seen.push(...idsOf(page));
      if (seen.length === 20) await withdraw();
    }
    deepEqual(seen, ids(EVENTS));
    ok(calls.includes("scanBlocks"));
    equal(fixture.count("fallback withdrawn"), 1);
  });
}

test("X6: comparisons beyond the limit are skipped, and the answers stay the same", async () => {
  await fixture.split({});
  fixture.setMode("COMPARE");
  await fixture.filled();
  let gate = (): void => undefined;
  const held = new Promise<void>((resolve) => (gate = resolve));
  const scanBlocks = fixture.store.scanBlocks.bind(fixture.store);
  fixture.store.scanBlocks = async function* (partition, range, signal) {
    await held;
    yield* scanBlocks(partition, range, signal);
  };
  for (let n = 0; n < 80; n++) deepEqual(idsOf(await fixture.read({ pageSize: 3 })), ids(3));
  ok(fixture.count("compared SKIPPED") >= 10);
  gate();
  await fixture.quiet();
  equal(fixture.count("compared MATCH") + fixture.count("compared SKIPPED"), 80);
});

test("an explanation of a split that is copied again does not say that it is held", async () => {
  await fixture.split({});
  await fixture.proven();
  const before = await readSplit(fixture.catalog, location);
  ok(before !== undefined);
  const after = inState(before, "DETECTED", { segments: [], dueAt: fixture.clock.nowMicros() });
  await moveSplit(fixture.catalog, fixture.clock, before, after);
  fixture.serving.changed(location);
  const { route } = await fixture.serving.opener.explain(fixture.view, location);
  equal(route, "ORIGINAL_NOT_SPLIT");
});

test("an explanation says how each partition is read", async () => {
  await fixture.split({ to: START + 150 * SECOND, cuts: [START + 50 * SECOND] });
  await fixture.proven();
  const route = await fixture.serving.opener.explain(fixture.view, location);
  equal(route.route, "SPLIT_AND_ORIGINAL");
  equal(route.parts, 2);
  match(route.why, /is split, the rest is not/);
  const other = await fixture.serving.opener.explain(fixture.view, { ...location, timeBucket: 1 });
  deepEqual([other.route, other.parts], ["ORIGINAL_FILTER_MISS", 0]);
  const dropped = await fixture.serving.opener.explain(fixture.view, { ...location, slice: "x" });
  deepEqual([dropped.route, dropped.parts], ["ORIGINAL_NOT_SPLIT", 0]);
  await fixture.split({ from: START + 150 * SECOND });
  fixture.serving.changed(location);
  await fixture.proven();
  equal((await fixture.serving.opener.explain(fixture.view, location)).route, "SPLIT");
});

for (const [what, hold, why] of [
  ["the read mode OFF", () => fixture.setMode("OFF"), /read mode is OFF/],
  ["the kill switch", () => (fixture.killed = true), /kill switch is on/],
  [
    "an operator's rollback",
    () => fixture.rollBack(),
    /held by operator since (?!1970).*: a test$/,
  ],
] as const) {
  test(`an explanation distinguishes a split held back by ${what} from no split`, async () => {
    await fixture.split({});
    await fixture.proven();
    await hold();
    fixture.serving.changed(location);
    const told = await fixture.reader.explain(fixture.query({ pageSize: 1_000 }), never);
    const [other, split] = told.partitions;
    deepEqual([other?.timeBucket, other?.route], [1, "ORIGINAL_FILTER_MISS"]);
    deepEqual([split?.timeBucket, split?.route, split?.read], [0, "ORIGINAL_HELD", true]);
    match(split?.why ?? "", why);
    // A filter that is filled again forgets a split that was rolled back.
    const fresh = new ServedReads(fixture.view, fixture);
    fresh.killed = fixture.killed;
    await fresh.loaded([location]);
    const again = await fresh.serving.opener.explain(fixture.view, location);
    deepEqual([again.route, again.parts], ["ORIGINAL_HELD", 0]);
    const read = await fresh.reader.explain(fixture.query({ pageSize: 1_000 }), never);
    equal(read.partitions.find(({ timeBucket }) => timeBucket === 0)?.route, "ORIGINAL_HELD");
    await fresh.close();
  });
}

test("the first read of a split is explained as held, the second as served", async () => {
  await fixture.split({});
  await fixture.filled();
  const route = async () => {
    const told = await fixture.reader.explain(fixture.query({ pageSize: 1_000 }), never);
    await fixture.quiet();
    return told.partitions.find(({ timeBucket }) => timeBucket === 0)?.route;
  };
  equal(await route(), "ORIGINAL_HELD");
  equal(await route(), "SPLIT");
});
