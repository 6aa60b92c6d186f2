/** Reads the contents of a topic, without joining a group. */
import { randomUUID } from "node:crypto";
import { Consumer, ListOffsetTimestamps, MessagesStreamModes } from "@platformatic/kafka";

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
  return withConsumer(brokers, (consumer) => readFrom(consumer, topic, count));
}

/** Everything in it now. */
export async function readWholeTopic(
  brokers: readonly string[],
  topic: string,
): Promise<TopicMessage[]> {
  return withConsumer(brokers, async (consumer) => {
    const { EARLIEST, LATEST } = ListOffsetTimestamps;
    const first = await offsetsOf(consumer, topic, EARLIEST);
    const end = await offsetsOf(consumer, topic, LATEST);
    return readFrom(consumer, topic, Number(end - first));
  });
}

async function withConsumer<T>(
  brokers: readonly string[],
  work: (consumer: Consumer) => Promise<T>,
): Promise<T> {
  const consumer = new Consumer({
    clientId: "braid-test",
    groupId: `test-${randomUUID()}`,
    bootstrapBrokers: [...brokers],
    autocommit: false,
  });
  try {
    return await work(consumer);
  } finally {
    await consumer.close(true);
  }
}

/** Of all its partitions, added up. */
async function offsetsOf(consumer: Consumer, topic: string, timestamp: bigint): Promise<bigint> {
  const offsets = await consumer.listOffsets({ topics: [topic], timestamp });
  return (offsets.get(topic) ?? []).reduce((sum, offset) => sum + offset, 0n);
}

async function readFrom(consumer: Consumer, topic: string, count: number): Promise<TopicMessage[]> {
  const found: TopicMessage[] = [];
  if (count === 0) return found;
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
}
