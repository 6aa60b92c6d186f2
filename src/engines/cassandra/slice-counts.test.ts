import { deepEqual } from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "../../../tests/support/virtual-clock.ts";
import { SliceCounts } from "./slice-counts.ts";
import type { CountsSession } from "./slice-counts.ts";
import { Speculation } from "./speculation.ts";

const SLICE = { namespaceId: "plays-1", slice: "data_20260328" };
const OTHER = { ...SLICE, slice: "data_20260329" };

/** A table of counters whose additions answer when the test says so. */
function fixture() {
  const clock = new VirtualClock(0);
  const stored = { events: 0, bytes: 0 };
  const waiting: { resolve: () => void; reject: (error: Error) => void }[] = [];
  const execute = async (_kind: string, query: string, params: unknown[]) => {
    if (query.startsWith("SELECT")) return { rows: params[1] === SLICE.slice ? [stored] : [] };
    await new Promise<void>((resolve, reject) => waiting.push({ resolve, reject }));
    if (params[3] === SLICE.slice) {
      stored.events += Number(params[0]);
      stored.bytes += Number(params[1]);
    }
    return { rows: [] };
  };
  const session = { execute, speculation: new Speculation() } as unknown as CountsSession;
  return { clock, waiting, counts: new SliceCounts(session, clock, "braid") };
}

test("the counts of a slice include this process's writes that no node has confirmed", async () => {
  const { clock, waiting, counts } = fixture();
  counts.add(OTHER, 7, 700);
  counts.add(SLICE, 2, 200);
  const reading = counts.read(SLICE);
  await clock.advance(1);
  // The addition to the other slice has no answer; later writes wait behind it.
  counts.add(SLICE, 1, 100);
  await clock.advance(1_000);
  deepEqual(await reading, { events: 3, bytes: 300 });
  waiting[0]?.reject(new Error("no answer in time"));
  await clock.advance(0);
  waiting[1]?.resolve();
  await clock.advance(0);
  const again = counts.read(SLICE);
  await clock.advance(1_000);
  deepEqual(await again, { events: 3, bytes: 300 });
});

test("a healthy node has every write of this process before the counts are read", async () => {
  const { clock, waiting, counts } = fixture();
  counts.add(SLICE, 2, 200);
  const reading = counts.read(SLICE);
  await clock.advance(1);
  waiting[0]?.resolve();
  deepEqual(await reading, { events: 2, bytes: 200 });
});
