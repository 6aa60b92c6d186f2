import assert from "node:assert/strict";
import { test } from "node:test";
import { workQueueSuite } from "../../../tests/conformance/work-queue.ts";
import { settle, VirtualClock } from "../../../tests/support/virtual-clock.ts";
import { fromUtf8, utf8 } from "../../lib/bytes.ts";
import { systemClock } from "../../lib/clock.ts";
import { systemRandom } from "../../lib/random.ts";
import { EmbeddedQueue } from "./embedded-queue.ts";

const FIRST = { partition: 0, offset: 0 };

workQueueSuite("embedded", async (limits, observer) => {
  const queue = new EmbeddedQueue({
    ...limits,
    observer,
    clock: systemClock,
    random: systemRandom,
    backOff: { firstMs: 1, maxMs: 10 },
  });
  const deadLetters = async () =>
    (await queue.deadLetters(FIRST, 100)).map(({ key, value, why }) => {
      return { key, value: fromUtf8(value), why };
    });
  return { queue, reader: queue, deadLetters, dispose: () => queue.close() };
});

test("the pause before a repeat doubles up to its bound", async () => {
  const clock = new VirtualClock(0);
  const queue = new EmbeddedQueue({
    clock,
    random: { bytes: (length) => new Uint8Array(length), fraction: () => 1 },
    backOff: { firstMs: 100, maxMs: 400 },
  });
  const stopping = new AbortController();
  const calledAtMs: number[] = [];
  const consuming = queue.consume(async () => {
    calledAtMs.push(clock.monotonicMs());
    throw new Error("never");
  }, stopping.signal);
  queue.publish({ key: "k", value: utf8("x") });
  await settle();
  await clock.advance(1_500);
  stopping.abort();
  await consuming;
  assert.deepEqual(calledAtMs, [0, 100, 300, 700, 1_100, 1_500]);
  assert.equal(queue.lag(), 1);
});

test("closing gives up on messages not handled within the grace, and counts them", async () => {
  const clock = new VirtualClock(0);
  const dropped: unknown[] = [];
  const queue = new EmbeddedQueue({
    clock,
    random: systemRandom,
    observer: { dropped: (why, messages) => dropped.push([why, messages]) },
    closeGraceMs: 1_000,
  });
  const stopping = new AbortController();
  const gate = Promise.withResolvers<{ kind: "done" }>();
  const consuming = queue.consume(() => gate.promise, stopping.signal);
  for (let i = 0; i < 3; i++) queue.publish({ key: "k", value: utf8(`${i}`) });
  const closing = queue.close();
  await clock.advance(1_000);
  await closing;
  assert.deepEqual(dropped, [["closed", 3]]);
  stopping.abort();
  gate.resolve({ kind: "done" });
  await consuming;
});

test("without a consumer closing does not wait", async () => {
  const queue = new EmbeddedQueue({ clock: new VirtualClock(0), random: systemRandom });
  queue.publish({ key: "k", value: utf8("x") });
  await queue.close();
});

test("only the newest dead letters are kept", async () => {
  const queue = new EmbeddedQueue({
    clock: systemClock,
    random: systemRandom,
    deadLettersMax: 2,
    serialQueues: 1,
  });
  const stopping = new AbortController();
  const consuming = queue.consume(
    async ({ value }) => ({ kind: "malformed", why: fromUtf8(value) }),
    stopping.signal,
  );
  for (let i = 0; i < 4; i++) queue.publish({ key: "k", value: utf8(`${i}`) });
  await queue.close();
  stopping.abort();
  await consuming;
  assert.deepEqual(
    (await queue.deadLetters(FIRST, 100)).map(({ why }) => why),
    ["2", "3"],
  );
});
