import { deepEqual, equal, match, ok } from "node:assert/strict";
import { beforeEach, test } from "node:test";
import {
  BUCKET,
  EVENTS,
  everySecond,
  ids,
  idsOf,
  OnePartition,
  place,
  SECOND,
  START,
} from "../../tests/property/one-partition.ts";
import { moveSplit } from "../splits/record/move-split.ts";
import { readEvidence } from "../splits/record/read-modes.ts";
import { readSplit } from "../records/split-records.ts";

const never = new AbortController().signal;

let world: OnePartition;

beforeEach(async () => {
  world = await OnePartition.open();
});

test("SERVE: the first read is served from the original and compared, the next from the split", async () => {
  await world.split({});
  await world.filled();
  const first = await world.read({});
  equal(first.context.splitPartitionsRead, 0);
  await world.quiet();
  equal(world.count("compared MATCH"), 1);
  const calls = world.watchStore();
  const second = await world.read({ end: START + BUCKET });
  equal(second.context.splitPartitionsRead, 1);
  deepEqual(calls, ["scanBlocks"]);
  deepEqual(idsOf(second), ids(100));
});

test("C13: a split that was copied anew is compared again before it is served", async () => {
  await world.split({});
  await world.proven();
  await world.rollBack();
  await world.split({});
  world.serving.changed(place);
  equal((await world.read({})).context.splitPartitionsRead, 0);
  await world.quiet();
  equal((await world.read({})).context.splitPartitionsRead, 1);
});

test("R6: a split that completes between two pages is taken up by the next one, without gap or repeat", async () => {
  await world.filled();
  const seen: string[] = [];
  const from: number[] = [];
  let pageToken = "";
  do {
    const page = await world.read({ pageSize: 30, pageToken });
    seen.push(...idsOf(page));
    from.push(page.context.splitPartitionsRead);
    ({ nextPageToken: pageToken } = page);
    if (seen.length === 60) {
      await world.split({ cuts: everySecond(20) });
      world.serving.changed(place);
      await world.proven();
    }
  } while (pageToken !== "");
  deepEqual(seen, ids(EVENTS));
  deepEqual(from.slice(0, 3), [0, 0, 1]);
});

/** What, the end of the split that the first page is read from, the change, and where the rest is read from. */
const BETWEEN_PAGES: readonly (readonly [string, number, () => Promise<void>, 0 | 1])[] = [
  [
    "is extended by a further segment",
    START + 150 * SECOND,
    async () => {
      await world.split({ from: START + 150 * SECOND, cuts: everySecond(20), layout: "ROWS" });
      world.serving.changed(place);
      await world.proven();
    },
    1,
  ],
  [
    "is rolled back",
    START + BUCKET,
    async () => {
      await world.rollBack();
      world.serving.changed(place);
    },
    0,
  ],
  [
    "is rolled back and copied anew into other parts",
    START + BUCKET,
    async () => {
      await world.rollBack();
      await world.split({ cuts: everySecond(7), layout: "ROWS" });
      world.serving.changed(place);
      await world.proven();
    },
    1,
  ],
];

for (const [what, to, change, restFromSplits] of BETWEEN_PAGES) {
  for (const order of ["NEWEST_FIRST", "OLDEST_FIRST"] as const) {
    test(`R6: a page token goes on without gap or repeat when the split ${what} before the next page, ${order}`, async () => {
      await world.split({ to, cuts: everySecond(20) });
      await world.proven();
      const calls = world.watchStore();
      // Newest first it ends in the split too, behind all that is not split yet.
      const first = await world.read({ order, pageSize: 60, end: START + BUCKET });
      ok(calls.includes("scanBlocks"));
      await change();
      const seen = idsOf(first);
      const from = [first.context.splitPartitionsRead];
      let pageToken = first.nextPageToken;
      while (pageToken !== "") {
        const page = await world.read({ order, pageSize: 60, end: START + BUCKET, pageToken });
        seen.push(...idsOf(page));
        from.push(page.context.splitPartitionsRead);
        ({ nextPageToken: pageToken } = page);
      }
      deepEqual(seen, order === "NEWEST_FIRST" ? ids(EVENTS) : ids(EVENTS).toReversed());
      deepEqual(from, [1, restFromSplits, restFromSplits, restFromSplits]);
    });
  }
}

test("C13: a kind of split without evidence of its own is compared, not served, and that becomes its evidence", async () => {
  await world.split({ layout: "ROWS" });
  const { namespace } = world.view;
  const kinds = ["PACKED/1 EVENT_BUCKETS"];
  const readMode = { ...namespace.readMode, round: 7, kinds };
  world.view = { ...world.view, namespace: { ...namespace, readMode } };
  await world.filled();
  for (let reads = 0; reads < 3; reads++) {
    equal((await world.read({})).context.splitPartitionsRead, 0);
    await world.quiet();
  }
  equal(world.count("compared MATCH"), 3);
  await world.clock.advance(4_000);
  const [evidence] = await readEvidence(world.catalog, "plays-1");
  deepEqual(
    [evidence?.layout, evidence?.layoutVersion, evidence?.round, evidence?.readsCompared],
    ["ROWS", 1, 7, 3],
  );
  kinds.push("ROWS/1 EVENT_BUCKETS");
  equal((await world.read({})).context.splitPartitionsRead, 1);
});

test("a page touches one or two blocks of the split, not all of it", async () => {
  await world.split({});
  await world.proven();
  let blocks = 0;
  world.onBlocks((fetched) => {
    blocks += fetched.length;
    return fetched;
  });
  await world.read({ pageSize: 20 });
  ok(blocks <= 2, `${blocks} blocks`);
});

test("before the end of the split comes the split, behind it the original; width is counted behind it", async () => {
  await world.split({ to: START + 150 * SECOND });
  await world.proven();
  world.reads.length = 0;
  const page = await world.read({ pageSize: 1_000 });
  deepEqual(idsOf(page), ids(EVENTS));
  const told = await world.reader.explain(world.query({ pageSize: 1_000 }), never);
  equal(told.partitions.find((row) => row.timeBucket === 0)?.route, "SPLIT_AND_ORIGINAL");
  for (const order of ["NEWEST_FIRST", "OLDEST_FIRST"] as const) {
    world.reads.length = 0;
    await world.read({ pageSize: 1_000, order });
    const seen = world.reads.find(({ partition }) => partition.timeBucket === 0);
    equal(seen?.events, 50, order);
    equal(seen?.whole, false);
  }
});

test("C10: what a split covers is not width, whichever side it was read from", async () => {
  await world.split({});
  world.setMode("SHADOW");
  await world.filled();
  world.reads.length = 0;
  await world.read({ pageSize: 1_000 });
  deepEqual(
    world.reads.map(({ events }) => events),
    [0, 0],
  );
});

for (const mode of ["OFF", "SHADOW", "COMPARE"] as const) {
  test(`${mode}: the original is served`, async () => {
    await world.split({});
    await world.proven();
    world.setMode(mode);
    const page = await world.read({});
    equal(page.context.splitPartitionsRead, 0);
    deepEqual(idsOf(page), ids(100));
  });
}

test("OFF, and the kill switch: the split is not even looked at", async () => {
  await world.split({});
  await world.proven();
  for (const off of [() => world.setMode("OFF"), () => (world.killed = true)]) {
    world.setMode("SERVE");
    off();
    world.told.clear();
    const calls = world.watchStore();
    await world.read({});
    await world.quiet();
    deepEqual([...world.told.keys()], []);
    deepEqual([...new Set(calls)], ["scan"]);
  }
});

test("SHADOW compares a sample, COMPARE every read, SERVE a sample", async () => {
  await world.split({});
  await world.proven();
  const compared = async (mode: "SHADOW" | "COMPARE" | "SERVE", fraction: number) => {
    world.setMode(mode);
    world.fraction = fraction;
    const before = world.count("compared MATCH");
    await world.read({});
    await world.quiet();
    return world.count("compared MATCH") - before;
  };
  equal(await compared("SHADOW", 0.999), 0);
  equal(await compared("SHADOW", 0), 1);
  equal(await compared("COMPARE", 0.999), 1);
  equal(await compared("SERVE", 0.999), 0);
  equal(await compared("SERVE", 0), 1);
});

test("what was compared becomes evidence for its kind of split and the round of the mode", async () => {
  await world.split({ to: START + 100 * SECOND, layout: "PACKED" });
  await world.split({ from: START + 100 * SECOND, layout: "ROWS" });
  world.setMode("COMPARE");
  await world.filled();
  await world.read({ pageSize: 1_000 });
  await world.read({ pageSize: 10 });
  await world.quiet();
  await world.clock.advance(4_000);
  const evidence = await readEvidence(world.catalog, "plays-1");
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

test("a comparison is of exactly the positions that were read", async () => {
  await world.split({ cuts: [START + 77 * SECOND] });
  world.setMode("COMPARE");
  await world.filled();
  for (const order of ["NEWEST_FIRST", "OLDEST_FIRST"] as const) {
    for (const pageSize of [1, 7, 60, 133, 200]) {
      let pageToken = "";
      do {
        pageToken = (await world.read({ order, pageSize, pageToken })).nextPageToken;
        await world.quiet();
      } while (pageToken !== "");
    }
  }
  ok(world.count("compared MATCH") > 60);
  equal(world.count("compared DIFFER"), 0);
  equal(world.count("compared DOUBT"), 0);
});

test("C6: a segment that nobody has confirmed is not served", async () => {
  await world.split({ confirmed: false });
  await world.proven();
  const page = await world.read({});
  equal(page.context.splitPartitionsRead, 0);
  ok(world.count("fallback unconfirmed") > 0);
});

test("C3: a split of another epoch is not served", async () => {
  await world.split({});
  await world.proven();
  const { namespace } = world.view;
  world.view = { ...world.view, namespace: { ...namespace, epoch: 2 } };
  const page = await world.read({});
  equal(page.context.splitPartitionsRead, 0);
  deepEqual(idsOf(page), ids(100));
  equal(world.count("fallback epoch"), 1);
});

const WITHDRAWALS: readonly (readonly [string, () => unknown])[] = [
  ["the kill switch", () => (world.killed = true)],
  ["another mode", () => world.setMode("SHADOW")],
  [
    "a mode that is not for its kind of split (C13)",
    () => {
      const { namespace } = world.view;
      const readMode = { ...namespace.readMode, kinds: ["ROWS/1 EVENT_BUCKETS"] };
      world.view = { ...world.view, namespace: { ...namespace, readMode } };
    },
  ],
  [
    "another epoch",
    () => {
      const { namespace } = world.view;
      world.view = { ...world.view, namespace: { ...namespace, epoch: 2 } };
    },
  ],
  [
    "a confirmation that is taken back (C6)",
    async () => {
      const record = await readSplit(world.catalog, place);
      ok(record);
      const segments = record.segments.map((segment) => ({ ...segment, confirmedAt: null }));
      await moveSplit(world.catalog, world.clock, record, { ...record, segments });
      await world.clock.advance(20_000);
    },
  ],
  [
    "a roll-back",
    async () => {
      await world.rollBack();
      // Not told: it is seen when what is known is L old.
      await world.clock.advance(20_000);
    },
  ],
];

for (const [what, withdraw] of WITHDRAWALS) {
  test(`R7: a stream in the middle of a split goes on with the original after ${what}`, async () => {
    await world.split({ cuts: everySecond(10) });
    await world.proven();
    const seen: string[] = [];
    const calls = world.watchStore();
    for await (const page of world.reader.stream(world.query({ pageSize: 5 }), never)) {
      seen.push(...idsOf(page));
      if (seen.length === 20) await withdraw();
    }
    deepEqual(seen, ids(EVENTS));
    ok(calls.includes("scanBlocks"));
    equal(world.count("fallback withdrawn"), 1);
  });
}

test("more comparisons than there is room for are skipped, and the answers are the same", async () => {
  await world.split({});
  world.setMode("COMPARE");
  await world.filled();
  let gate = (): void => undefined;
  const held = new Promise<void>((resolve) => (gate = resolve));
  const scanBlocks = world.store.scanBlocks.bind(world.store);
  world.store.scanBlocks = async function* (partition, range, signal) {
    await held;
    yield* scanBlocks(partition, range, signal);
  };
  for (let n = 0; n < 80; n++) deepEqual(idsOf(await world.read({ pageSize: 3 })), ids(3));
  ok(world.count("compared SKIPPED") >= 10);
  gate();
  await world.quiet();
  equal(world.count("compared MATCH") + world.count("compared SKIPPED"), 80);
});

test("an explanation says how each partition would be read", async () => {
  await world.split({ to: START + 150 * SECOND, cuts: [START + 50 * SECOND] });
  await world.proven();
  const route = await world.serving.door.explain(world.view, place);
  equal(route.route, "SPLIT_AND_ORIGINAL");
  equal(route.parts, 2);
  match(route.why, /is split, the rest is not/);
  const other = await world.serving.door.explain(world.view, { ...place, timeBucket: 1 });
  equal(other.route, "ORIGINAL_FILTER_MISS");
  await world.split({ from: START + 150 * SECOND });
  world.serving.changed(place);
  await world.proven();
  equal((await world.serving.door.explain(world.view, place)).route, "SPLIT");
});
