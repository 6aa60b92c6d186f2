import assert from "node:assert/strict";
import { test } from "node:test";
import { MemoryCatalog } from "../../../tests/support/memory-catalog.ts";
import { VirtualClock } from "../../../tests/support/virtual-clock.ts";
import { until } from "../../../tests/support/conditions.ts";
import { fromUtf8, utf8 } from "../../lib/bytes.ts";
import { systemRandom } from "../../lib/random.ts";
import { encodeDetection } from "../../model/detection.ts";
import type { DeadPosition, QueueMessage, WorkQueue } from "../../ports/work-queue.ts";
import { EmbeddedQueue } from "../../queues/embedded/embedded-queue.ts";
import { readDeadLetterRecord } from "../../records/dead-letter-records.ts";
import type { DeadLetterAction } from "../../records/dead-letter-records.ts";
import { DeadDetections, positionOf, positionText } from "./dead-detections.ts";

const FIRST: DeadPosition = { partition: 0, offset: 0 };
const REQUEST = { by: "ana", reason: "a test" };

const DETECTION = {
  namespace: "plays",
  timeSlice: "data_20260328",
  timeSeriesId: "profile:123",
  timeBucket: 7,
  eventBucket: 2,
  immutable: true,
  epoch: 0,
  bytes: 5,
  events: 1,
  detectedAt: 1_000_000,
};

/** A queue with these dead letters. `removes`: whether it can remove one, as Kafka cannot. */
async function fixture(texts: readonly string[], removes: boolean) {
  const clock = new VirtualClock(1_000_000);
  const embedded = new EmbeddedQueue({ clock, random: systemRandom, serialQueues: 1 });
  const stopping = new AbortController();
  const handled: string[] = [];
  let dead = true;
  const consuming = embedded.consume(async ({ value }) => {
    if (dead) return { kind: "malformed", why: `not today: ${fromUtf8(value)}` };
    handled.push(fromUtf8(value));
    return { kind: "done" };
  }, stopping.signal);
  for (const text of texts) embedded.publish({ key: `key ${text}`, value: utf8(text) });
  await until(() => embedded.lag() === 0);
  dead = false;
  const queue: WorkQueue = removes ? embedded : withoutRemoval(embedded);
  const catalog = new MemoryCatalog();
  const actions: DeadLetterAction[] = [];
  const detections = new DeadDetections({
    catalog,
    clock,
    queue,
    observe: (action) => actions.push(action),
  });
  const listed = async (): Promise<string[]> => {
    const { letters } = await detections.list(FIRST, 100);
    return letters.map(({ value }) => fromUtf8(value));
  };
  const close = async (): Promise<void> => {
    stopping.abort();
    await consuming;
    await embedded.close();
  };
  return { catalog, clock, embedded, detections, actions, handled, listed, close };
}

function withoutRemoval(queue: EmbeddedQueue): WorkQueue {
  return {
    publish: (message) => queue.publish(message),
    consume: (handler, signal) => queue.consume(handler, signal),
    lag: () => queue.lag(),
    state: () => queue.state(),
    deadLetters: (from, limit) => queue.deadLetters(from, limit),
    republish: (messages: readonly QueueMessage[]) => queue.republish(messages),
    close: () => queue.close(),
  };
}

test("dead letters are listed in pages, decoded where that is possible", async () => {
  const detection = fromUtf8(encodeDetection(DETECTION));
  const { detections, close } = await fixture(["a", detection, "c"], true);
  const first = await detections.list(FIRST, 2);
  assert.deepEqual(
    first.letters.map(({ key, why, at, detection: decoded }) => [key, why, at, decoded]),
    [
      ["key a", "not today: a", 1_000_000, undefined],
      [`key ${detection}`, `not today: ${detection}`, 1_000_000, DETECTION],
    ],
  );
  assert.ok(first.next);
  const second = await detections.list(first.next, 2);
  assert.deepEqual(
    second.letters.map(({ value }) => fromUtf8(value)),
    ["c"],
  );
  assert.equal(second.next, undefined);
  await close();
});

for (const removes of [true, false]) {
  const kind = removes ? "a queue that removes them" : "a queue that cannot remove one";
  test(`Q4, Q11: with ${kind}, a replayed dead letter is handled again and gone, a dropped one is gone`, async () => {
    const found = await fixture(["a", "b", "c", "d"], removes);
    const { detections, handled, listed, actions } = found;
    const { letters } = await detections.list(FIRST, 100);
    const [a, b, c] = letters;
    assert.ok(a && b && c);
    const gone = { partition: 0, offset: 99 };
    assert.deepEqual(await detections.replay([b, gone], REQUEST), {
      letters: 1,
      missing: [gone],
      notKept: [],
      more: false,
    });
    await until(() => handled.length === 1);
    assert.deepEqual(handled, ["b"]);
    assert.deepEqual(await listed(), ["a", "c", "d"]);
    assert.equal((await detections.drop([c], REQUEST)).letters, 1);
    assert.deepEqual(await listed(), ["a", "d"]);
    assert.equal((await detections.queue()).deadLetters, 2);
    const again = await detections.replay([b], REQUEST);
    assert.deepEqual([again.letters, again.missing.length], [0, 1]);
    assert.deepEqual(await detections.drop("all", REQUEST), {
      letters: 2,
      missing: [],
      notKept: [],
      more: false,
    });
    assert.deepEqual(await listed(), []);
    assert.equal((await detections.queue()).deadLetters, 0);
    assert.deepEqual(handled, ["b"]);
    const done = (action: "replayed" | "dropped", count: number): DeadLetterAction => {
      return { at: 1_000_000, action, letters: count, ...REQUEST };
    };
    const expected = [done("replayed", 1), done("dropped", 1), done("dropped", 2)];
    assert.deepEqual(actions, expected);
    const record = await readDeadLetterRecord(found.catalog);
    assert.deepEqual(record.actions, expected);
    // Neighbours are one range.
    assert.deepEqual([...record.settled.values()], removes ? [] : [[[0, 4]]]);
    await found.close();
  });
}

test("Q2, C17: a replayed detection keeps its epoch, so that an older one still does nothing", async () => {
  const old = fromUtf8(encodeDetection({ ...DETECTION, epoch: 3 }));
  const { detections, handled, close } = await fixture([old], true);
  await detections.replay("all", REQUEST);
  await until(() => handled.length === 1);
  assert.deepEqual(handled, [old]);
  await close();
});

test("a dead letter whose value was not kept is dropped, but not replayed", async () => {
  const { catalog, clock, embedded, close } = await fixture([], true);
  const letter = { ...FIRST, key: "k", value: utf8(""), why: "", at: 1, origin: "", valueBytes: 9 };
  const republished: unknown[] = [];
  const queue: WorkQueue = {
    ...withoutRemoval(embedded),
    state: async () => ({
      ...(await embedded.state()),
      dead: [{ partition: 0, from: 0, to: 1 }],
    }),
    deadLetters: async ({ offset }) => (offset === 0 ? [letter] : []),
    republish: async (messages) => void republished.push(...messages),
  };
  const detections = new DeadDetections({ catalog, clock, queue });
  const replayed = await detections.replay("all", REQUEST);
  assert.deepEqual([replayed.letters, replayed.notKept.map(positionText)], [0, ["0:0"]]);
  assert.deepEqual(republished, []);
  assert.equal((await detections.drop("all", REQUEST)).letters, 1);
  assert.deepEqual((await detections.list(FIRST, 10)).letters, []);
  await close();
});

test("a replay that the queue refuses settles nothing", async () => {
  const { detections, embedded, listed, close } = await fixture(["a"], true);
  await embedded.close();
  await assert.rejects(detections.replay("all", REQUEST), { code: "OVERLOADED" });
  assert.deepEqual(await listed(), ["a"]);
  await close();
});

test("the queue shows what waits since when, and how fast it moves since an earlier call", async () => {
  const clock = new VirtualClock(5_000_000);
  const queue = new EmbeddedQueue({ clock, random: systemRandom, serialQueues: 2 });
  const detections = new DeadDetections({ catalog: new MemoryCatalog(), clock, queue });
  const before = await detections.queue();
  assert.equal(before.rates, undefined);
  for (let i = 0; i < 10; i++) queue.publish({ key: "same", value: utf8(`${i}`) });
  await clock.advance(5_000);
  const report = await detections.queue();
  assert.deepEqual(report.rates, { published: 2, done: 0, overMs: 5_000 });
  const waiting = report.partitions.filter(({ oldestAt }) => oldestAt !== undefined);
  assert.deepEqual(
    waiting.map((each) => [each.waiting, each.oldestAt]),
    [[10, 5_000_000]],
  );
  assert.deepEqual([report.inFlight, report.buffered], [0, 0]);
  await queue.close();
});

test("positions are texts that no other text equals", () => {
  assert.deepEqual(positionOf(positionText({ partition: 2, offset: 17 })), {
    partition: 2,
    offset: 17,
  });
  for (const text of ["", "1", "1:", ":1", "-1:2", "1:2:3", "0:1234567890123456"]) {
    assert.equal(positionOf(text), undefined, text);
  }
});
