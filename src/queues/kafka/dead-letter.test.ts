import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import { ProtocolError } from "@platformatic/kafka";
import type { Message, MessageToProduce } from "@platformatic/kafka";
import { sendDeadLetter } from "./dead-letter.ts";

/** Accepts letters up to a size, as a topic does. */
class DeadTopic {
  readonly letters: MessageToProduce[] = [];
  readonly #bytesMax: number;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  readonly send = async ([letter]: MessageToProduce[]): Promise<void> => {
    assert.ok(letter !== undefined);
    const bytes = (letter.key?.length ?? 0) + (letter.value?.length ?? 0);
    if (bytes > this.#bytesMax) throw new ProtocolError("MESSAGE_TOO_LARGE");
    this.letters.push(letter);
  };

  get headers(): Record<string, string> {
    const headers = this.letters[0]?.headers;
    assert.ok(headers instanceof Map);
    return Object.fromEntries([...headers].map(([name, value]) => [String(name), String(value)]));
  }
}

function messageOf(key: Buffer | null, value: Buffer | null): Message {
  // Only the fields that a dead letter uses.
  return { key, value, topic: "t", partition: 3, offset: 7n } as unknown as Message;
}

test("a dead letter is the unchanged message, with the reason and its origin", async () => {
  const topic = new DeadTopic(1_000);
  const [key, value] = [Buffer.from("k"), Buffer.from("nonsense")];
  await sendDeadLetter(messageOf(key, value), "not JSON", "t.dead", topic.send);
  const [letter] = topic.letters;
  assert.deepEqual([letter?.topic, letter?.key, letter?.value], ["t.dead", key, value]);
  assert.deepEqual(topic.headers, {
    "braid-reason": "not JSON",
    "braid-topic": "t",
    "braid-partition": "3",
    "braid-offset": "7",
  });
});

test("Q4: a message too large for the dead topic is kept without its value", async () => {
  const topic = new DeadTopic(1_000);
  const key = Buffer.from("k");
  await sendDeadLetter(messageOf(key, Buffer.alloc(5_000)), "too much", "t.dead", topic.send);
  const [letter] = topic.letters;
  assert.deepEqual([letter?.key, letter?.value], [key, undefined]);
  assert.equal(topic.headers["braid-value-bytes"], "5000");
  assert.equal(topic.headers["braid-reason"], "too much");
});

test("a letter with a huge key, or without key or value, is kept as well", async () => {
  const topic = new DeadTopic(100_000);
  await sendDeadLetter(messageOf(Buffer.alloc(200_000), null), "odd", "t.dead", topic.send);
  await sendDeadLetter(messageOf(null, null), "empty", "t.dead", topic.send);
  assert.deepEqual(
    topic.letters.map(({ key, value }) => [key, value]),
    [
      [undefined, undefined],
      [undefined, undefined],
    ],
  );
});

test("any other failure is thrown, so that the message comes again", async () => {
  const away = new Error("no broker");
  const send = (): Promise<void> => Promise.reject(away);
  await assert.rejects(sendDeadLetter(messageOf(null, null), "odd", "t.dead", send), away);
});
