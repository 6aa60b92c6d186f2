/** What every WorkQueue guarantees on any broker. Each queue's test calls this with a factory. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { fromUtf8, utf8 } from "../../src/lib/bytes.ts";
import type { DropReason, Handled, QueueObserver, WorkQueue } from "../../src/ports/work-queue.ts";
import { until } from "../support/conditions.ts";

export interface QueueLimits {
  readonly messagesMax?: number;
  readonly bytesMax?: number;
  readonly messageBytesMax?: number;
}

export interface FoundDeadLetter {
  readonly key: string;
  readonly value: string;
  readonly why: string;
}

export interface WorkQueueUnderTest {
  readonly queue: WorkQueue;
  /** Consumes what `queue` publishes: the same object, or another on the same topic. */
  readonly reader: WorkQueue;
  deadLetters(): Promise<readonly FoundDeadLetter[]>;
  /** Closes everything that was opened. */
  dispose(): Promise<void>;
}

export type MakeWorkQueue = (
  limits: QueueLimits,
  observer: QueueObserver,
) => Promise<WorkQueueUnderTest>;

const DONE: Handled = { kind: "done" };

export function workQueueSuite(name: string, make: MakeWorkQueue): void {
  const claim = (
    what: string,
    work: (under: WorkQueueUnderTest, seen: Seen) => Promise<void>,
    limits: QueueLimits = {},
  ): void => {
    void test(`${name}: ${what}`, async () => {
      const seen = new Seen();
      const under = await make(limits, seen);
      try {
        await work(under, seen);
      } finally {
        await under.dispose();
      }
    });
  };

  claim("every message is handled, with its key and its bytes", async ({ queue, reader }) => {
    await using reading = new Reading(reader);
    const sent = Array.from({ length: 50 }, (_, i) => `key ${i % 7} é|message ${i}`);
    for (const text of sent) assert.equal(publish(queue, text), "accepted");
    await until(() => reading.handled.length >= sent.length);
    assert.deepEqual(new Set(reading.handled), new Set(sent));
  });

  claim("messages of one key are handled in order", async ({ queue, reader }) => {
    for (let i = 0; i < 60; i++) publish(queue, `key ${i % 3}|${i}`);
    await using reading = new Reading(reader);
    await until(() => reading.handled.length >= 60);
    for (const key of ["key 0", "key 1", "key 2"]) {
      const order = reading.handled.filter((text) => text.startsWith(`${key}|`));
      const numbers = firstTimes(order.map((text) => Number(text.split("|")[1])));
      assert.deepEqual(
        numbers,
        numbers.toSorted((a, b) => a - b),
      );
    }
  });

  claim(
    "a handler that rejects gets the message again, and no message of its key overtakes it",
    async ({ queue, reader }, seen) => {
      let failures = 0;
      await using reading = new Reading(reader, (text) => {
        if (text === "stuck|0" && failures < 3) {
          failures++;
          throw new Error("not now");
        }
        return DONE;
      });
      publish(queue, "stuck|0");
      publish(queue, "stuck|1");
      for (let i = 0; i < 30; i++) publish(queue, `other ${i}|x`);
      await until(() => new Set(reading.handled).size >= 32);
      assert.equal(failures, 3);
      assert.ok(seen.retries >= 3);
      assert.ok(reading.handled.indexOf("stuck|0") < reading.handled.indexOf("stuck|1"));
    },
  );

  claim("a message that keeps failing does not delay other keys", async ({ queue, reader }) => {
    let broken = true;
    await using reading = new Reading(reader, (text) => {
      if (text === "stuck|0" && broken) throw new Error("not now");
      return DONE;
    });
    publish(queue, "stuck|0");
    // Enough keys that some of them are in other partitions of the queue, whatever the hash.
    for (let i = 0; i < 40; i++) publish(queue, `other ${i}|x`);
    await until(() => reading.handled.length > 0);
    assert.ok(!reading.handled.includes("stuck|0"));
    broken = false;
    await until(() => new Set(reading.handled).size >= 41);
  });

  claim(
    "Q4: a malformed message is kept with the reason, and the next message is handled",
    async ({ queue, reader, deadLetters }, seen) => {
      await using reading = new Reading(reader, (text) =>
        text.endsWith("bad") ? { kind: "malformed", why: `not good: ${text}` } : DONE,
      );
      publish(queue, "k|good");
      publish(queue, "k|bad");
      publish(queue, "k|better");
      await until(() => reading.handled.includes("k|better"));
      await until(() => seen.dead.length > 0);
      const found = await deadLetters();
      assert.deepEqual(found[0], { key: "k", value: "bad", why: "not good: k|bad" });
    },
  );

  claim(
    "dead letters are read from any position as often as wanted, and published again",
    async ({ queue, reader }) => {
      let isGood = false;
      await using reading = new Reading(reader, () =>
        isGood ? DONE : { kind: "malformed", why: "not yet" },
      );
      const start = { partition: 0, offset: 0 };
      const read = async (limit: number, offset = 0) => {
        const letters = await queue.deadLetters({ ...start, offset }, limit);
        return letters.map(({ value }) => fromUtf8(value));
      };
      assert.deepEqual(await read(10), []);
      for (const text of ["a", "b", "c"]) publish(queue, `k|${text}`);
      await until(async () => (await read(10)).length === 3);
      assert.deepEqual(await read(10), ["a", "b", "c"]);
      assert.deepEqual(await read(2), ["a", "b"]);
      const [, second] = await queue.deadLetters(start, 10);
      assert.ok(second !== undefined);
      assert.deepEqual([second.key, second.why, second.valueBytes], ["k", "not yet", 1]);
      assert.ok(second.at > 0 && second.origin !== "");
      assert.deepEqual(await read(10, second.offset), ["b", "c"]);
      assert.deepEqual(await read(10, second.offset + 100), []);
      const { dead } = await queue.state();
      assert.equal(
        dead.reduce((sum, { from, to }) => sum + to - from, 0),
        3,
      );
      isGood = true;
      reading.handled.length = 0;
      await queue.republish([second]);
      await until(() => reading.handled.length > 0);
      assert.deepEqual(new Set(reading.handled), new Set(["k|b"]));
    },
  );

  claim("its state shows what waits, since when, and what is done", async ({ queue, reader }) => {
    const gate = Promise.withResolvers<Handled>();
    const held = async () => {
      await using reading = new Reading(reader, () => gate.promise);
      for (let i = 0; i < 3; i++) publish(queue, `k|${i}`);
      await until(() => reading.begun > 0);
      const inFlight = (await reader.state()).inFlight;
      const state = await queue.state();
      gate.resolve(DONE);
      await until(async () =>
        (await queue.state()).partitions.every(({ waiting }) => waiting === 0),
      );
      return { state, inFlight };
    };
    const { state, inFlight } = await held();
    assert.ok(inFlight >= 1);
    const waiting = state.partitions.filter((each) => each.waiting > 0);
    assert.deepEqual(
      waiting.map((each) => [
        each.waiting,
        each.published - each.done,
        each.oldestAt !== undefined,
      ]),
      [[3, 3, true]],
    );
    assert.ok(state.partitions.every(({ topic }) => topic.endsWith("braid.detections")));
    const after = await queue.state();
    assert.ok(after.partitions.every(({ oldestAt }) => oldestAt === undefined));
  });

  claim(
    "Q7: a message whose handler did not finish is handled by the next consumer",
    async ({ queue, reader }) => {
      const first = new Reading(reader, (_, signal) => endOf(signal));
      publish(queue, "k|unfinished");
      await until(() => first.begun > 0);
      await first[Symbol.asyncDispose]();
      await using second = new Reading(reader);
      await until(() => second.handled.includes("k|unfinished"));
      assert.deepEqual(first.handled, []);
    },
  );

  claim(
    "DE12: beyond its bound in messages it drops at once, and counts",
    async ({ queue, reader }, seen) => {
      const outcomes = Array.from({ length: 50 }, (_, i) => publish(queue, `k|${i}`));
      assert.equal(outcomes.filter((outcome) => outcome === "accepted").length, 10);
      assert.deepEqual(seen.drops, { full: 40 });
      await using reading = new Reading(reader);
      await until(() => new Set(reading.handled).size === 10);
    },
    { messagesMax: 10 },
  );

  claim(
    "beyond its bound in bytes it drops too, and a too large message at once",
    async ({ queue }, seen) => {
      assert.equal(publish(queue, `k|${"x".repeat(101)}`), "dropped");
      assert.equal(publish(queue, `k|${"x".repeat(100)}`), "accepted");
      assert.equal(publish(queue, `k|${"x".repeat(100)}`), "accepted");
      assert.equal(publish(queue, "k|x"), "dropped");
      assert.deepEqual(seen.drops, { too_large: 1, full: 1 });
    },
    { bytesMax: 200, messageBytesMax: 100 },
  );

  claim("closing hands over accepted messages, and accepts no more", async (under, seen) => {
    const { queue, reader } = under;
    await using reading = new Reading(reader);
    for (let i = 0; i < 20; i++) publish(queue, `k|${i}`);
    await queue.close();
    await until(() => new Set(reading.handled).size === 20);
    assert.equal(publish(queue, "k|late"), "dropped");
    assert.deepEqual(seen.drops, { closed: 1 });
    await queue.close();
  });

  claim("the lag counts waiting messages, and returns to zero", async ({ queue, reader }) => {
    const gate = Promise.withResolvers<Handled>();
    await using reading = new Reading(reader, () => gate.promise);
    for (let i = 0; i < 5; i++) publish(queue, `k|${i}`);
    await until(() => reading.begun > 0);
    await until(() => reader.lag() === 5);
    gate.resolve(DONE);
    await until(() => reader.lag() === 0);
  });
}

type Answer = (text: string, signal: AbortSignal) => Handled | Promise<Handled>;

/** A consumer for as long as it is in scope. */
class Reading {
  readonly #stopping = new AbortController();
  readonly #consuming: Promise<void>;
  /** Handled for good, in order. */
  readonly handled: string[] = [];
  begun = 0;

  constructor(queue: WorkQueue, answer: Answer = () => DONE) {
    this.#consuming = queue.consume(async ({ key, value }, signal) => {
      const text = `${key}|${fromUtf8(value)}`;
      this.begun++;
      const handled = await answer(text, signal);
      this.handled.push(text);
      return handled;
    }, this.#stopping.signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    await this.#consuming;
  }
}

class Seen implements QueueObserver {
  readonly drops: Partial<Record<DropReason, number>> = {};
  readonly dead: string[] = [];
  retries = 0;

  dropped(why: DropReason, messages: number): void {
    this.drops[why] = (this.drops[why] ?? 0) + messages;
  }

  retried(): void {
    this.retries++;
  }

  deadLettered(why: string): void {
    this.dead.push(why);
  }
}

/** `key|value`: the key ends at the last bar. */
function publish(queue: WorkQueue, text: string): string {
  const bar = text.lastIndexOf("|");
  return queue.publish({ key: text.slice(0, bar), value: utf8(text.slice(bar + 1)) });
}

/** Without repeats. */
function firstTimes(numbers: readonly number[]): number[] {
  return [...new Set(numbers)];
}

function endOf(signal: AbortSignal): Promise<Handled> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(new Error("stopped")), { once: true });
  });
}
