import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { framesOf, ORIGINAL, testEvent } from "./part-events.ts";
import { MemoryStore } from "./memory-store.ts";
import { staticView } from "./static-view.ts";
import { until } from "./conditions.ts";
import { VirtualClock } from "./virtual-clock.ts";
import { ServiceError } from "../../src/lib/errors.ts";
import type { ScanRange } from "../../src/ports/event-store.ts";
import { eventOfFrame } from "../../src/wire/frames.ts";
import { OriginalOpener } from "./original-opener.ts";

const RANGE: ScanRange = {
  from: 0,
  to: 2_000,
  order: "NEWEST_FIRST",
  after: undefined,
  runEventsMax: 2,
  runBytesMax: 1_000_000,
};

test("an original is read whole, counted as such, and resumed after a short storage failure", async () => {
  const events = [1_004, 1_003, 1_002, 1_001, 1_000].map((time) => testEvent(time, "a", 10));
  const store = new MemoryStore();
  await store.createSlice(ORIGINAL);
  const placed = events.flatMap(({ frame }) => {
    const event = eventOfFrame(frame, 0);
    const { timeBucket, eventBucket } = ORIGINAL;
    return event === undefined ? [] : [{ event, timeBucket, eventBucket }];
  });
  await store.append(ORIGINAL, placed);
  let scans = 0;
  store.before = () => {
    if (++scans === 1) throw new ServiceError("STORAGE_UNAVAILABLE", "planted");
  };
  const clock = new VirtualClock(0);
  const opener = new OriginalOpener(store, clock);
  const view = staticView({ slices: [] });
  const source = opener.open(view, ORIGINAL, RANGE, new AbortController().signal);
  equal(scans, 0);
  const chunks: Uint8Array[] = [];
  const reading = (async () => {
    for (let run = await source.next(); run !== undefined; run = await source.next()) {
      chunks.push(...run.chunks);
    }
  })();
  await until(() => clock.sleepers === 1);
  await clock.advance(20);
  await reading;
  const frames = framesOf(events);
  deepEqual(Buffer.concat(chunks), frames);
  deepEqual([source.events, source.originalEvents], [5, 5]);
  deepEqual([source.bytes, source.originalBytes], [frames.length, frames.length]);
  equal(source.route.route, "ORIGINAL_NOT_SPLIT");
  deepEqual(await opener.explain(), source.route);
});
