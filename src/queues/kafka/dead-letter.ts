/**
 * Publishes a message that can never be handled to the dead letters: unchanged, with headers for
 * the reason and the origin.
 *
 * If the dead topic refuses its size, because an operator allows larger messages on the other
 * topic, it is kept without its value, and a header holds the value's length: a message that could
 * neither be handled nor stored there would block its partition for ever.
 */
import { Buffer } from "node:buffer";
import type { Message, MessageToProduce } from "@platformatic/kafka";
import { isTooLarge } from "./kafka-producer.ts";

/** Headers are for people: enough to see the reason. */
const WHY_CHARS_MAX = 500;
/** Keys of Braid are far shorter; a longer one is dropped with the value. */
const KEY_BYTES_MAX = 64 * 1024;

/** Resolves when the dead letter is acknowledged: only then may the message be committed. */
export async function sendDeadLetter(
  message: Message,
  why: string,
  deadTopic: string,
  send: (messages: MessageToProduce[]) => Promise<void>,
): Promise<void> {
  // A message of another producer may lack either.
  const { key, value } = message as { key?: Buffer | null; value?: Buffer | null };
  const headers = {
    "braid-reason": why.slice(0, WHY_CHARS_MAX),
    "braid-topic": message.topic,
    "braid-partition": `${message.partition}`,
    "braid-offset": `${message.offset}`,
  };
  try {
    await send([letter(deadTopic, key, value, headers)]);
  } catch (error) {
    if (!isTooLarge(error)) throw error;
    const short = key !== undefined && key !== null && key.length <= KEY_BYTES_MAX;
    const bytes = `${value?.length ?? 0}`;
    await send([
      letter(deadTopic, short ? key : null, null, { ...headers, "braid-value-bytes": bytes }),
    ]);
  }
}

function letter(
  topic: string,
  key: Buffer | null | undefined,
  value: Buffer | null | undefined,
  headers: Readonly<Record<string, string>>,
): MessageToProduce {
  return {
    topic,
    ...(key && { key }),
    ...(value && { value }),
    headers: new Map(
      Object.entries(headers).map(([name, text]) => [Buffer.from(name), Buffer.from(text)]),
    ),
  };
}
