import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { MemoryCatalog } from "../../../tests/support/memory-catalog.ts";
import { VirtualClock } from "../../../tests/support/virtual-clock.ts";
import { readEvidence } from "../record/read-modes.ts";
import type { RouteSegment } from "../../model/split.ts";
import { EvidenceFlusher } from "./evidence-flusher.ts";

const PACKED: RouteSegment = {
  from: 0,
  to: 1,
  generation: 1,
  layout: "PACKED",
  strategy: "EVENT_BUCKETS",
  partRanges: [],
  bytes: 0,
  events: 0,
  confirmed: true,
};
const ROWS: RouteSegment = { ...PACKED, layout: "ROWS" };

test("evidence is kept by kind and written now and then; what fails is written later", async () => {
  const catalog = new MemoryCatalog();
  const clock = new VirtualClock(1_000);
  const troubles: string[] = [];
  const flusher = new EvidenceFlusher({ catalog, clock, trouble: (what) => troubles.push(what) });
  const leaving = new AbortController();
  const running = flusher.run(leaving.signal);
  flusher.add("plays-1", 3, PACKED, { matched: 10 });
  flusher.add("plays-1", 3, PACKED, { matched: 5 });
  flusher.add("plays-1", 3, ROWS, { differed: 7 });
  catalog.before = () => {
    throw new Error("down");
  };
  await clock.advance(3_000);
  equal(troubles.length, 2);
  catalog.before = () => undefined;
  flusher.add("plays-1", 3, PACKED, { matched: 1 });
  await clock.advance(3_000);
  deepEqual(await figures(catalog), [
    ["PACKED", 3, 3, 16, 0, 1_000],
    ["ROWS", 3, 1, 0, 7, 1_000],
  ]);
  // What is left is written when it ends; an older round's does not count any more.
  flusher.add("plays-1", 4, PACKED, { matched: 2 });
  flusher.add("plays-1", 3, PACKED, { matched: 2 });
  leaving.abort();
  await running;
  deepEqual((await figures(catalog))[0], ["PACKED", 4, 1, 2, 0, 6_001_000]);
});

async function figures(catalog: MemoryCatalog): Promise<unknown[]> {
  const evidence = await readEvidence(catalog, "plays-1");
  return evidence.map(({ layout, round, readsCompared, bytesMatched, bytesDiffered, since }) => [
    layout,
    round,
    readsCompared,
    bytesMatched,
    bytesDiffered,
    since,
  ]);
}
