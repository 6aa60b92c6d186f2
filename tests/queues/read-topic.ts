/** What is in a topic, read without a group of anybody's. */
import { randomUUID } from "node:crypto";
import { Consumer, MessagesStreamModes } from "@platformatic/kafka";

export interface TopicMessage {
  readonly key: string;
  readonly value: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The first `count` messages: waits until there are that many. */
export async function readTopic(
  brokers: readonly string[],
  topic: string,
  count: number,
): Promise<TopicMessage[]> {
  const consumer = new Consumer({
    clientId: "braid-test",
    groupId: `test-${randomUUID()}`,
    bootstrapBrokers: [...brokers],
    autocommit: false,
  });
  const found: TopicMessage[] = [];
  try {
    const stream = await consumer.consume({
      topics: [topic],
      mode: MessagesStreamModes.EARLIEST,
      maxWaitTime: 500,
    });
    for await (const { key, value, headers } of stream) {
      found.push({
        key: key.toString(),
        value: value.toString(),
        headers: Object.fromEntries(
          [...headers].map(([name, text]) => [name.toString(), text.toString()]),
        ),
      });
      if (found.length >= count) break;
    }
    return found;
  } finally {
    await consumer.close(true);
  }
}
