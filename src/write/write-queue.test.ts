import { deepEqual, equal, rejects } from "node:assert/strict";
import { test } from "node:test";
import { joinedSlices, staticView, viewSource } from "../../tests/support/static-view.ts";
import { MemoryStore } from "../../tests/support/memory-store.ts";
import { settle, VirtualClock } from "../../tests/support/virtual-clock.ts";
import { ByteBudget } from "../lib/byte-budget.ts";
import { utf8 } from "../lib/bytes.ts";
import { ServiceError } from "../lib/errors.ts";
import { encodeEvent } from "../wire/event-record.ts";
import type { EventBytes } from "../wire/event-record.ts";
import { EventWriter } from "./write-events.ts";
import { WriteQueue } from "./write-queue.ts";

const SECOND = 1_000_000;
const NOW = 1_790_000_100 * SECOND;
const SLICE = { namespaceId: "plays-1", slice: "data_0" };

test("queued events are held for a moment, then written together", async () => {
  const { queue, clock, appended } = await fixture();
  equal((await queue.enqueue(batch([event("a"), event("b")]))).taken, 2);
  equal((await queue.enqueue(batch([event("c")]))).taken, 1);
  deepEqual(appended, []);
  await clock.advance(20);
  deepEqual(appended, [3]);
  equal(queue.bytes, 0);
});

test("W20: closing writes what is held, and takes no more", async () => {
  const { queue, appended } = await fixture();
  await queue.enqueue(batch([event("a")]));
  await queue.close();
  deepEqual(appended, [1]);
  await rejects(queue.enqueue(batch([event("b")])), overloaded);
});

test("W19: events that do not fit are refused, and accepted ones are kept", async () => {
  const { queue, clock, appended } = await fixture();
  await queue.enqueue(batch([event("a")], 900));
  await rejects(queue.enqueue(batch([event("b")], 200)), overloaded);
  await clock.advance(20);
  deepEqual(appended, [1]);
  equal((await queue.enqueue(batch([event("b")], 200))).taken, 1);
});

test("refusals are answered on receipt, and only the other events are queued", async () => {
  const { queue, clock, appended } = await fixture();
  const result = await queue.enqueue(batch([event("old", -3600), event("a")]));
  equal(result.taken, 1);
  deepEqual(
    result.failures.map((failure) => [failure.index, failure.code]),
    [[0, "EVENT_TOO_OLD"]],
  );
  await clock.advance(20);
  deepEqual(appended, [1]);
});

test("C2: events that became too old while they were held are dropped and counted", async () => {
  const { queue, clock, store, appended, dropped } = await fixture();
  let down = true;
  store.before = (call) => {
    if (call === "append" && down) throw new ServiceError("STORAGE_UNAVAILABLE", "down");
  };
  await queue.enqueue(batch([event("a", -19), event("b", 0)]));
  await clock.advance(1_000);
  clock.stepWall(590 * SECOND);
  down = false;
  await clock.advance(2_000);
  deepEqual(appended, [1]);
  deepEqual(dropped, [["plays", "EVENT_TOO_OLD", 1]]);
});

test("a failing storage is retried, and after a while the events are dropped and counted", async () => {
  const { queue, clock, store, appended, dropped } = await fixture();
  let failing = 3;
  store.before = (call) => {
    if (call === "append" && failing-- > 0) throw new ServiceError("STORAGE_UNAVAILABLE", "down");
  };
  await queue.enqueue(batch([event("a")]));
  await clock.advance(5_000);
  deepEqual(appended, [1]);
  deepEqual(dropped, []);

  failing = Number.POSITIVE_INFINITY;
  await queue.enqueue(batch([event("b"), event("c")]));
  await clock.advance(60_000);
  deepEqual(dropped, [["plays", "STORAGE_UNAVAILABLE", 2]]);
  equal(queue.bytes, 0, "nothing stays behind");
});

test("O6: a namespace whose storage is away delays no other, and leaves it room", async () => {
  const { queue, clock, store, appended } = await fixture();
  const append = store.append.bind(store);
  store.append = (slice, events) => {
    const away = events.some(({ event: { bytes, idStart, idEnd } }) =>
      Buffer.from(bytes.subarray(idStart, idEnd)).toString().startsWith("away"),
    );
    return away
      ? Promise.reject(new ServiceError("STORAGE_UNAVAILABLE", "away"))
      : append(slice, events);
  };
  const held = async (n: number): Promise<unknown> =>
    queue.enqueue({ ...batch([event(`away-${n}`)]), namespace: "away" });
  for (let n = 0; n < 8; n++) await held(n);
  await rejects(held(8), overloaded, "it has its share");
  await clock.advance(100);
  await queue.enqueue(batch([event("here")]));
  await clock.advance(100);
  deepEqual(appended, [1]);
});

async function fixture() {
  const clock = new VirtualClock(NOW);
  const store = new MemoryStore();
  await store.createSlice(SLICE);
  const strategy = { secondsPerTimeSlice: 3600, secondsPerTimeBucket: 60, eventBuckets: 1 };
  const slices = joinedSlices(NOW - 1800 * SECOND, [strategy]);
  const views = viewSource(() => staticView({ slices }));
  const appended: number[] = [];
  const append = store.append.bind(store);
  store.append = async (slice, events) => {
    await append(slice, events);
    appended.push(events.length);
  };
  const dropped: [string, string, number][] = [];
  const writer = new EventWriter({ clock, store, views, budget: new ByteBudget(1 << 20) });
  const options = { bytesMax: 1_000, holdMs: 20, flushBytesMax: 950, giveUpMs: 30_000 };
  const queue = new WriteQueue(writer, clock, options, (...drop) => dropped.push(drop));
  await settle();
  return { queue, clock, store, appended, dropped };
}

function batch(events: EventBytes[], bytes = 100) {
  return { namespace: "plays", events, bytes };
}

function event(id: string, seconds = 0): EventBytes {
  return encodeEvent(utf8("s"), NOW + seconds * SECOND, utf8(id), []);
}

function overloaded(error: unknown): boolean {
  return error instanceof ServiceError && error.code === "OVERLOADED";
}
