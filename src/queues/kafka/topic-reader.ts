/**
 * Reads what lies in a topic, for operators: without joining a group and without committing
 * anything, so that no worker notices. Each call uses a client of its own and takes a bounded time.
 */
import { Buffer } from "node:buffer";
import { Consumer, ListOffsetTimestamps } from "@platformatic/kafka";
import { ServiceError } from "../../lib/errors.ts";
import { within } from "../../lib/within.ts";
import type {
  DeadLetter,
  DeadPosition,
  DeadRange,
  QueuePartition,
} from "../../ports/work-queue.ts";
import { clientOptions } from "./client-options.ts";
import type { KafkaSettings } from "./kafka-settings.ts";

const CALL_MS_MAX = 15_000;
const CLOSE_MS_MAX = 2_000;
/** Of one fetch; a larger message comes alone. */
const FETCH_BYTES_MAX = 1024 * 1024;
/** Enough for one message of ours: the broker returns a whole batch anyway. */
const FIRST_BYTES_MAX = 4 * 1024;
/** A fetch that is behind the end returns at once with nothing. */
const FETCH_WAIT_MS = 100;
/** Of a read-committed fetch nothing is needed: Braid writes no transactions. */
const READ_UNCOMMITTED = 0;
const CONTROL_BATCH = 0b10_0000;

interface FetchedMessage {
  readonly offset: number;
  /** Microseconds. */
  readonly at: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: ReadonlyMap<string, string>;
}

/** What waits in each partition of the detections. */
export function readPartitions(settings: KafkaSettings): Promise<QueuePartition[]> {
  const { topic } = settings;
  return withConsumer(settings, "reading the state of the queue", async (consumer) => {
    const { EARLIEST, LATEST } = ListOffsetTimestamps;
    const first = (await consumer.listOffsets({ topics: [topic], timestamp: EARLIEST })).get(topic);
    const end = (await consumer.listOffsets({ topics: [topic], timestamp: LATEST })).get(topic);
    const ends = (end ?? []).map(Number);
    const numbers = [...ends.keys()];
    const asked = { topics: [{ topic, partitions: numbers }] };
    const committed = (await consumer.listCommittedOffsets(asked)).get(topic);
    const found: QueuePartition[] = [];
    for (const partition of numbers) {
      const published = ends[partition] ?? 0;
      // Without a commit, workers begin with the first message that is still there.
      const done = Math.max(Number(committed?.[partition] ?? -1), Number(first?.[partition] ?? 0));
      const waiting = Math.max(0, published - done);
      const next =
        waiting === 0
          ? undefined
          : (await fetchFrom(consumer, topic, { partition, offset: done }, FIRST_BYTES_MAX))[0];
      found.push({ topic, partition, published, done, waiting, oldestAt: next?.at });
    }
    return found;
  });
}

/** From the first dead letter that is still there to the end, for each partition. */
export function readDeadRanges(settings: KafkaSettings): Promise<DeadRange[]> {
  const { deadTopic } = settings;
  return withConsumer(settings, "looking for dead letters", async (consumer) => {
    const { EARLIEST, LATEST } = ListOffsetTimestamps;
    const topics = [deadTopic];
    const first = (await consumer.listOffsets({ topics, timestamp: EARLIEST })).get(deadTopic);
    const end = (await consumer.listOffsets({ topics, timestamp: LATEST })).get(deadTopic);
    return (end ?? []).map((to, partition) => {
      return { partition, from: Number(first?.[partition] ?? 0n), to: Number(to) };
    });
  });
}

export function readDeadLetters(
  settings: KafkaSettings,
  from: DeadPosition,
  limit: number,
): Promise<readonly DeadLetter[]> {
  const { deadTopic } = settings;
  return withConsumer(settings, "reading dead letters", async (consumer) => {
    const { EARLIEST, LATEST } = ListOffsetTimestamps;
    const asked = { topics: [deadTopic], partitions: { [deadTopic]: [from.partition] } };
    const offsetAt = async (timestamp: bigint): Promise<number> => {
      const offsets = await consumer.listOffsets({ ...asked, timestamp });
      return Number(offsets.get(deadTopic)?.[from.partition] ?? 0n);
    };
    // Retention may have removed the first ones.
    const offset = Math.max(from.offset, await offsetAt(EARLIEST));
    if (offset >= (await offsetAt(LATEST))) return [];
    const position = { partition: from.partition, offset };
    const found = await fetchFrom(consumer, deadTopic, position, FETCH_BYTES_MAX);
    return found.slice(0, limit).map((message) => letterOf(message, from.partition));
  });
}

function letterOf(
  { offset, at, key, value, headers }: FetchedMessage,
  partition: number,
): DeadLetter {
  const where = ["braid-topic", "braid-partition", "braid-offset"].map((name) => headers.get(name));
  return {
    partition,
    offset,
    at,
    key: key?.toString("utf8") ?? "",
    value: value ?? Buffer.alloc(0),
    why: headers.get("braid-reason") ?? "",
    origin: where.every((part) => part !== undefined) ? where.join("/") : "",
    valueBytes: Number(headers.get("braid-value-bytes") ?? value?.length ?? 0),
  };
}

/** The messages at and behind an offset, as many as come with one fetch. */
async function fetchFrom(
  consumer: Consumer,
  topic: string,
  { partition, offset }: DeadPosition,
  bytesMax: number,
): Promise<FetchedMessage[]> {
  const metadata = await consumer.metadata({ topics: [topic] });
  const known = metadata.topics.get(topic);
  const leader = known?.partitions[partition];
  if (known === undefined || leader === undefined) return [];
  const wanted = {
    partition,
    currentLeaderEpoch: -1,
    fetchOffset: BigInt(offset),
    lastFetchedEpoch: -1,
    partitionMaxBytes: bytesMax,
  };
  const response = await consumer.fetch({
    node: leader.leader,
    topics: [{ topicId: known.id, partitions: [wanted] }],
    maxWaitTime: FETCH_WAIT_MS,
    minBytes: 1,
    maxBytes: bytesMax,
    isolationLevel: READ_UNCOMMITTED,
  });
  const found: FetchedMessage[] = [];
  for (const { partitions } of response.responses) {
    for (const batch of partitions.flatMap(({ records }) => records ?? [])) {
      if ((batch.attributes & CONTROL_BATCH) !== 0) continue;
      for (const record of batch.records) {
        const at = Number(batch.firstOffset) + record.offsetDelta;
        // A batch may begin before the offset.
        if (at < offset) continue;
        found.push({
          offset: at,
          at: Number(batch.firstTimestamp + record.timestampDelta) * 1000,
          key: record.key,
          value: record.value,
          headers: new Map(
            record.headers.map(([name, text]) => [`${name?.toString()}`, text?.toString() ?? ""]),
          ),
        });
      }
    }
  }
  return found;
}

async function withConsumer<T>(
  settings: KafkaSettings,
  what: string,
  work: (consumer: Consumer) => Promise<T>,
): Promise<T> {
  const { clock, group, observer } = settings;
  // The group's name is for its committed offsets: this client never joins it.
  const options = { ...clientOptions(settings), groupId: group, autocommit: false };
  const consumer = new Consumer(options);
  consumer.on("error", (error: Error) => observer.trouble?.(what, error));
  try {
    return await within(clock, CALL_MS_MAX, what, work(consumer));
  } catch (cause) {
    throw new ServiceError("STORAGE_UNAVAILABLE", `Kafka does not answer (${what}); try again`, {
      retryAfterMs: 1_000,
      cause,
    });
  } finally {
    const closing = within(clock, CLOSE_MS_MAX, "closing a reader", consumer.close(true));
    closing.catch((error: unknown) => observer.trouble?.("a Kafka client was not closed", error));
  }
}
