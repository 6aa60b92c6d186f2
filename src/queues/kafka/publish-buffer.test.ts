import assert from "node:assert/strict";
import { test } from "node:test";
import { settle, VirtualClock } from "../../../tests/support/virtual-clock.ts";
import { ProtocolError } from "@platformatic/kafka";
import { fromUtf8, utf8 } from "../../lib/bytes.ts";
import type { QueueMessage } from "../../ports/work-queue.ts";
import { PublishBuffer } from "./publish-buffer.ts";

class Fixture {
  readonly clock = new VirtualClock(0);
  readonly batches: string[][] = [];
  readonly dropped: string[] = [];
  readonly troubles: string[] = [];
  /** The broker's answer. */
  answer: () => Promise<void> = async () => undefined;

  buffer(messagesMax = 1_000): PublishBuffer {
    return new PublishBuffer(
      {
        brokers: [],
        clientId: "test",
        clock: this.clock,
        random: { bytes: (length) => new Uint8Array(length), fraction: () => 1 },
        observer: {
          dropped: (why, messages) => this.dropped.push(`${why} ${messages}`),
          trouble: (what) => this.troubles.push(what),
        },
        topic: "t",
        deadTopic: "t.dead",
        group: "g",
        partitions: 1,
        replication: undefined,
        retentionMs: 1,
        messagesMax,
        bytesMax: 10_000_000,
        messageBytesMax: 200_000,
        backOff: { firstMs: 1, maxMs: 1 },
        reconnect: { firstMs: 100, maxMs: 400 },
        sessionTimeoutMs: 1,
        lagMs: 1,
        closeGraceMs: 1_000,
      },
      (messages) => {
        this.batches.push(messages.map(({ value }) => fromUtf8(value)));
        return this.answer();
      },
    );
  }
}

function message(text: string): QueueMessage {
  return { key: "k", value: utf8(text) };
}

test("messages added at once are sent together, in order, and only once", async () => {
  const fixture = new Fixture();
  const buffer = fixture.buffer();
  for (const text of ["a", "b", "c"]) assert.equal(buffer.add(message(text)), "accepted");
  await settle();
  buffer.add(message("d"));
  await settle();
  assert.deepEqual(fixture.batches, [["a", "b", "c"], ["d"]]);
});

test("a batch is bounded in messages and in bytes", async () => {
  const fixture = new Fixture();
  const buffer = fixture.buffer();
  for (let i = 0; i < 600; i++) buffer.add(message("x"));
  for (let i = 0; i < 3; i++) buffer.add(message("y".repeat(100_000)));
  await settle();
  assert.deepEqual(
    fixture.batches.map((batch) => batch.length),
    [500, 102, 1],
  );
});

test("Q9, O7: during an outage of the broker messages are held and retried, and the outage is reported once", async () => {
  const fixture = new Fixture();
  const buffer = fixture.buffer(2);
  fixture.answer = () => Promise.reject(new Error("away"));
  buffer.add(message("a"));
  buffer.add(message("b"));
  await fixture.clock.advance(1_000);
  assert.equal(buffer.add(message("c")), "dropped");
  // At 0, 100, 300 and 700 ms, and not before 1,100 ms.
  assert.equal(fixture.batches.length, 4);
  fixture.answer = async () => undefined;
  await fixture.clock.advance(400);
  assert.deepEqual(fixture.batches.at(-1), ["a", "b"]);
  assert.equal(buffer.add(message("d")), "accepted");
  await settle();
  assert.deepEqual(fixture.batches.at(-1), ["d"]);
  assert.deepEqual(fixture.dropped, ["full 1"]);
  assert.equal(fixture.troubles.length, 1);
});

test("messages that the broker refuses for good are dropped and counted, and the next are sent", async () => {
  const fixture = new Fixture();
  const buffer = fixture.buffer();
  fixture.answer = () => Promise.reject(new ProtocolError("MESSAGE_TOO_LARGE"));
  buffer.add(message("a"));
  await settle();
  fixture.answer = async () => undefined;
  buffer.add(message("b"));
  await settle();
  assert.deepEqual(fixture.batches, [["a"], ["b"]]);
  assert.deepEqual(fixture.dropped, ["refused 1"]);
});

test("closing gives the broker its grace and no more", async () => {
  const fixture = new Fixture();
  const buffer = fixture.buffer();
  fixture.answer = () => new Promise(() => undefined);
  buffer.add(message("a"));
  const closing = buffer.close();
  await fixture.clock.advance(1_000);
  await closing;
  assert.deepEqual(fixture.dropped, ["closed 1"]);
  assert.equal(buffer.add(message("b")), "dropped");
  assert.equal(fixture.clock.sleepers, 0);
});
