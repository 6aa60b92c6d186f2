import { deepEqual, equal } from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { MemoryCatalog } from "../../../tests/support/memory-catalog.ts";
import { VirtualClock } from "../../../tests/support/virtual-clock.ts";
import type { SplitLayout } from "../../model/layouts.ts";
import { readEvidence } from "../../records/evidence-records.ts";
import type { Comparison } from "../serve/comparison.ts";
import { EvidenceFlusher } from "./evidence-flusher.ts";

interface Read {
  readonly round?: number;
  readonly layout?: SplitLayout;
  readonly timeBucket?: number;
  readonly namespaceId?: string;
  readonly events?: number;
  readonly bytes?: number;
}

function comparisonOf(read: Read): Comparison {
  const { round = 3, layout = "PACKED", timeBucket = 0, namespaceId = "plays-1" } = read;
  const { events = 1, bytes = 10 } = read;
  const segment = {
    from: 0,
    to: 1,
    epoch: 0,
    generation: 1,
    layout,
    strategy: "EVENT_BUCKETS",
    partRanges: [],
    bytes: 0,
    events: 0,
    confirmed: true,
  } as const;
  const run = { runBytesMax: 1, runEventsMax: 1 };
  const range = { from: 0, to: 1, order: "NEWEST_FIRST", after: undefined, ...run } as const;
  const routeRange = { from: 0, to: 1, segment, readFrom: "SPLIT", compare: "DIGEST" } as const;
  const sum = { events, bytes, digest: "" };
  return {
    namespace: "plays",
    partition: { namespaceId, slice: "data", seriesId: "s", timeBucket, eventBucket: 0 },
    round,
    read: { routeRange, segment, range, last: undefined, sum },
  };
}

let catalog: MemoryCatalog;
let clock: VirtualClock;
let troubles: string[];

beforeEach(() => {
  catalog = new MemoryCatalog();
  clock = new VirtualClock(1_000);
  troubles = [];
});

function flusherOf(by = "server-1", kindsMax = 100): EvidenceFlusher {
  const trouble = (what: string): void => void troubles.push(what);
  return new EvidenceFlusher({ catalog, clock, by, trouble, kindsMax });
}

test("evidence is kept by kind and written at intervals; a failed write is repeated later", async () => {
  const flusher = flusherOf();
  const leaving = new AbortController();
  const running = flusher.run(leaving.signal);
  flusher.matched(comparisonOf({ bytes: 10 }));
  flusher.matched(comparisonOf({ bytes: 5 }));
  flusher.differed(comparisonOf({ layout: "ROWS", bytes: 7 }));
  catalog.before = () => {
    throw new Error("down");
  };
  await clock.advance(3_000);
  equal(troubles.length, 2);
  catalog.before = () => undefined;
  flusher.matched(comparisonOf({ bytes: 1 }));
  await clock.advance(3_000);
  deepEqual(await figures(), [
    ["PACKED", 3, 3, 16, 0, 1, 1_000],
    ["ROWS", 3, 1, 0, 7, 1, 1_000],
  ]);
  // The rest is written when it ends; evidence of an older round no longer counts.
  flusher.matched(comparisonOf({ round: 4, bytes: 2 }));
  flusher.matched(comparisonOf({ round: 3, bytes: 2 }));
  leaving.abort();
  await running;
  deepEqual((await figures())[0], ["PACKED", 4, 1, 2, 0, 1, 6_001_000]);
});

test("C29: a write whose answer is lost is repeated and counts once", async () => {
  const flusher = flusherOf();
  const write = catalog.write.bind(catalog);
  for (let n = 0; n < 4; n++) {
    flusher.matched(comparisonOf({ bytes: 10 }));
    catalog.write = async (...args) => {
      await write(...args);
      throw new Error("the answer was lost");
    };
    await flusher.flush();
    equal(troubles.length, n + 1);
  }
  catalog.write = write;
  await flusher.flush();
  deepEqual(await figures(), [["PACKED", 3, 4, 40, 0, 1, 1_000]]);
});

test("C29: a restarted process adds to what was counted before", async () => {
  for (const by of ["server-1", "server-2"]) {
    const flusher = flusherOf(by);
    flusher.matched(comparisonOf({ bytes: 10 }));
    await flusher.flush();
  }
  deepEqual(await figures(), [["PACKED", 3, 2, 20, 0, 1, 1_000]]);
});

test("C29: a hundred reads without events count for nothing", async () => {
  const flusher = flusherOf();
  for (let n = 0; n < 100; n++) flusher.matched(comparisonOf({ events: 0, bytes: 0 }));
  await flusher.flush();
  deepEqual(await figures(), []);
});

test("C29: many reads of one split are one split", async () => {
  const flusher = flusherOf();
  for (let n = 0; n < 100; n++) flusher.matched(comparisonOf({ timeBucket: n % 3 }));
  await flusher.flush();
  deepEqual(await figures(), [["PACKED", 3, 100, 1_000, 0, 3, 1_000]]);
});

test("a difference counts even if the read had no events", async () => {
  const flusher = flusherOf();
  flusher.differed(comparisonOf({ events: 0, bytes: 0 }));
  await flusher.flush();
  deepEqual(await figures(), [["PACKED", 3, 1, 0, 1, 1, 1_000]]);
});

test("evidence counted during a write is stored by the next one", async () => {
  const flusher = flusherOf();
  flusher.matched(comparisonOf({}));
  catalog.before = (call) => {
    if (call !== "write") return;
    catalog.before = () => undefined;
    flusher.matched(comparisonOf({}));
  };
  await flusher.flush();
  equal((await readEvidence(catalog, "plays-1"))[0]?.readsCompared, 1);
  await flusher.flush();
  equal((await readEvidence(catalog, "plays-1"))[0]?.readsCompared, 2);
});

test("unchanged evidence is not written again", async () => {
  const flusher = flusherOf();
  flusher.matched(comparisonOf({}));
  await flusher.flush();
  let calls = 0;
  catalog.before = () => void calls++;
  await flusher.flush();
  equal(calls, 0);
});

test("a kind that was evicted for others continues from its stored count", async () => {
  const flusher = flusherOf("server-1", 2);
  for (let n = 0; n < 5; n++) {
    for (const namespaceId of ["plays-1", "songs-1", "shows-1"]) {
      flusher.matched(comparisonOf({ namespaceId }));
      await flusher.flush();
    }
  }
  for (const namespaceId of ["plays-1", "songs-1", "shows-1"]) {
    equal((await readEvidence(catalog, namespaceId))[0]?.readsCompared, 5, namespaceId);
  }
  // Before the next write there is no room for a third.
  for (const namespaceId of ["plays-1", "songs-1", "shows-1"]) {
    flusher.matched(comparisonOf({ namespaceId }));
  }
  await flusher.flush();
  equal((await readEvidence(catalog, "songs-1"))[0]?.readsCompared, 6);
  equal((await readEvidence(catalog, "shows-1"))[0]?.readsCompared, 5);
});

test("C14: a difference is counted though there is no room; matches make room for it", async () => {
  const flusher = flusherOf("server-1", 2);
  for (const namespaceId of ["songs-1", "shows-1"]) flusher.matched(comparisonOf({ namespaceId }));
  flusher.differed(comparisonOf({}));
  await flusher.flush();
  equal((await readEvidence(catalog, "plays-1"))[0]?.bytesDiffered, 10);
  equal((await readEvidence(catalog, "songs-1")).length, 0);
  equal((await readEvidence(catalog, "shows-1"))[0]?.readsCompared, 1);
  deepEqual(troubles, []);
});

test("C14: a difference that finds room nowhere is reported", () => {
  const flusher = flusherOf("server-1", 2);
  for (const namespaceId of ["songs-1", "shows-1"]) flusher.differed(comparisonOf({ namespaceId }));
  flusher.differed(comparisonOf({}));
  deepEqual(troubles, ["a difference is not part of the evidence"]);
});

async function figures(): Promise<unknown[]> {
  const evidence = await readEvidence(catalog, "plays-1");
  return evidence.map((each) => [
    each.layout,
    each.round,
    each.readsCompared,
    each.bytesMatched,
    each.bytesDiffered,
    each.splitsCompared,
    each.since,
  ]);
}
