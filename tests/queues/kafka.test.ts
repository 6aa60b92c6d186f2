/**
 * The work queue on a real broker.
 * @needs kafka
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { Admin, ConfigResourceTypes } from "@platformatic/kafka";
import { utf8 } from "../../src/lib/bytes.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { ServiceError } from "../../src/lib/errors.ts";
import { systemRandom } from "../../src/lib/random.ts";
import type { DeadPosition, QueueObserver, WorkQueue } from "../../src/ports/work-queue.ts";
import { openKafkaQueue } from "../../src/queues/kafka/index.ts";
import type { KafkaQueueOptions } from "../../src/queues/kafka/kafka-settings.ts";
import { workQueueSuite } from "../conformance/work-queue.ts";
import { readDeadLetterRecord } from "../../src/records/dead-letter-records.ts";
import { DeadDetections } from "../../src/splits/detect/dead-detections.ts";
import type { DeadPage } from "../../src/splits/detect/dead-detections.ts";
import { until } from "../support/conditions.ts";
import { MemoryCatalog } from "../support/memory-catalog.ts";
import { testKafka, uniqueName } from "../support/services.ts";
import { readTopic } from "./read-topic.ts";

const brokers = testKafka();
const CHILD = fileURLToPath(new URL("consumer-child.ts", import.meta.url));

workQueueSuite("kafka", async (limits, observer) => {
  const fixture = new KafkaFixture();
  const queue = await fixture.open({ ...limits, observer });
  const reader = await fixture.open({ observer });
  const deadLetters = async () => {
    const found = await readTopic(brokers, `${fixture.prefix}braid.detections.dead`, 1);
    return found.map(({ key, value, headers }) => ({
      key,
      value,
      why: headers["braid-reason"] ?? "",
    }));
  };
  return { queue, reader, deadLetters, dispose: () => fixture[Symbol.asyncDispose]() };
});

test("kafka: the topics are created with our settings", async () => {
  await using fixture = new KafkaFixture();
  await fixture.open({ partitions: 5 });
  const topic = `${fixture.prefix}braid.detections`;
  const { topics } = await fixture.admin.metadata({ topics: [topic, `${topic}.dead`] });
  assert.equal(topics.get(topic)?.partitionsCount, 5);
  assert.equal(topics.get(`${topic}.dead`)?.partitionsCount, 1);
  const [described] = await fixture.admin.describeConfigs({
    resources: [{ resourceType: ConfigResourceTypes.TOPIC, resourceName: topic }],
  });
  const configs = new Map(described?.configs.map(({ name, value }) => [name, value]));
  assert.equal(configs.get("cleanup.policy"), "delete");
  assert.equal(configs.get("retention.ms"), "604800000");
});

test("Q14: kafka: a topic that would lose messages is refused, with the remedy", async () => {
  await using fixture = new KafkaFixture();
  const topic = `${fixture.prefix}braid.detections`;
  const configs = [{ name: "cleanup.policy", value: "compact" }];
  await fixture.admin.createTopics({ topics: [topic], partitions: 1, replicas: 1, configs });
  // It exists before the broker lists it.
  await until(async () => (await fixture.admin.listTopics()).includes(topic));
  await assert.rejects(fixture.open(), (error) => {
    assert.ok(error instanceof ServiceError);
    assert.equal(error.code, "CONFIG_INVALID");
    assert.match(error.message, /cleanup.policy=compact/);
    assert.match(error.message, /--partitions 3 .*--config cleanup.policy=delete/);
    return true;
  });
});

test("Q14: kafka: a topic that cannot be created is refused, with the remedy", async () => {
  await using fixture = new KafkaFixture();
  await assert.rejects(fixture.open({ replication: 99 }), (error) => {
    assert.ok(error instanceof ServiceError);
    assert.match(error.message, /creating it was refused .*kafka-topics.sh --create/);
    return true;
  });
});

test("kafka: a dead letter has its origin", async () => {
  await using fixture = new KafkaFixture();
  const queue = await fixture.open();
  await using _ = consuming(queue, async () => ({ kind: "malformed", why: "no good" }));
  queue.publish({ key: "k", value: utf8("\u0000{") });
  const [letter] = await readTopic(brokers, `${fixture.prefix}braid.detections.dead`, 1);
  assert.equal(letter?.key, "k");
  assert.equal(letter.value, "\u0000{");
  const { "braid-partition": partition, ...headers } = letter.headers;
  assert.match(partition ?? "", /^[0-2]$/);
  assert.deepEqual(headers, {
    "braid-reason": "no good",
    "braid-topic": `${fixture.prefix}braid.detections`,
    "braid-offset": "0",
  });
});

test("Q6: kafka: two consumers share the work, and all of it is done", async () => {
  await using fixture = new KafkaFixture();
  const [first, second] = [await fixture.open(), await fixture.open()];
  const handled = [new Set<string>(), new Set<string>()] as const;
  const into = (set: Set<string>) => async (message: { key: string }) => {
    set.add(message.key);
    return { kind: "done" } as const;
  };
  await using _first = consuming(first, into(handled[0]));
  await using _second = consuming(second, into(handled[1]));
  // Until the group has assigned its partitions, one of them may do all the work.
  let sent = 0;
  await until(() => {
    for (let i = 0; i < 5; i++) first.publish({ key: `key ${sent++}`, value: utf8("x") });
    return handled[0].size > 0 && handled[1].size > 0;
  });
  await until(() => new Set([...handled[0], ...handled[1]]).size === sent);
});

test("kafka: a message that keeps failing blocks its partition, and only that", async () => {
  await using fixture = new KafkaFixture();
  let failures = 0;
  const queue = await fixture.open({
    observer: {
      retried: (count) => {
        failures = count;
      },
    },
  });
  let broken = true;
  const handled = new Map<string, number[]>();
  await using _ = consuming(queue, async ({ key, value }) => {
    if (key === "stuck" && broken) throw new Error("not now");
    handled.set(key, [...(handled.get(key) ?? []), value.length]);
    return { kind: "done" };
  });
  // More than one partition holds in memory: the messages behind are fetched again later.
  const lengths = Array.from({ length: 600 }, (_, i) => i);
  for (const length of lengths) queue.publish({ key: "stuck", value: new Uint8Array(length) });
  await until(() => failures > 3);
  const others = Array.from({ length: 40 }, (_, i) => `other ${i}`);
  for (const key of others) queue.publish({ key, value: utf8("x") });
  await until(() => handled.size > 0);
  assert.ok(!handled.has("stuck"));

  broken = false;
  await until(() => handled.size === 41 && new Set(handled.get("stuck")).size === 600);
  assert.deepEqual([...new Set(handled.get("stuck"))], lengths);
});

test("Q6, Q7: kafka: another consumer handles what a killed consumer had not finished", async () => {
  await using fixture = new KafkaFixture();
  const queue = await fixture.open();
  const [broker = ""] = brokers;
  const child = spawn(process.execPath, [CHILD, broker, fixture.prefix], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "close");
  try {
    queue.publish({ key: "unfinished", value: utf8("x") });
    const [line] = (await once(createInterface(child.stdout), "line")) as string[];
    assert.equal(line, "unfinished");
  } finally {
    child.kill("SIGKILL");
    await ended;
  }
  const handled: string[] = [];
  await using _ = consuming(queue, async ({ key }) => {
    handled.push(key);
    return { kind: "done" };
  });
  await until(() => handled.includes("unfinished"));
});

test("kafka: a message of another producer without key or value reaches the handler", async () => {
  await using fixture = new KafkaFixture();
  const queue = await fixture.open({ partitions: 1 });
  const lengths: number[] = [];
  await using _ = consuming(queue, async ({ key, value }) => {
    lengths.push(key.length, value.length);
    return { kind: "done" };
  });
  const { Producer } = await import("@platformatic/kafka");
  const producer = new Producer({ clientId: "braid-test", bootstrapBrokers: [...brokers] });
  await producer.send({ messages: [{ topic: `${fixture.prefix}braid.detections` }] });
  await producer.close();
  await until(() => lengths.length > 0);
  assert.deepEqual(lengths, [0, 0]);
});

test("kafka: dead letters are replayed and dropped by notes in the catalog, because Kafka keeps them", async () => {
  await using fixture = new KafkaFixture();
  const queue = await fixture.open({ partitions: 1 });
  const catalog = new MemoryCatalog();
  const detections = new DeadDetections({ catalog, clock: systemClock, queue });
  const handled: string[] = [];
  let isGood = false;
  await using _ = consuming(queue, async ({ key }) => {
    if (!isGood) return { kind: "malformed", why: "not yet" };
    handled.push(key);
    return { kind: "done" };
  });
  for (const key of ["a", "b", "c", "d"]) queue.publish({ key, value: utf8(key) });
  const listed = async (pageSize = 100): Promise<string[]> => {
    const keys: string[] = [];
    let from: DeadPosition | undefined = { partition: 0, offset: 0 };
    while (from !== undefined) {
      const page: DeadPage = await detections.list(from, pageSize);
      keys.push(...page.letters.map(({ key }) => key));
      from = page.next;
    }
    return keys;
  };
  await until(async () => (await listed()).length === 4);
  assert.deepEqual(await listed(1), ["a", "b", "c", "d"]);
  isGood = true;
  const { letters } = await detections.list({ partition: 0, offset: 0 }, 100);
  const request = { by: "ana", reason: "a test" };
  assert.equal((await detections.replay(letters.slice(1, 2), request)).letters, 1);
  await until(() => handled.length === 1);
  assert.equal((await detections.drop(letters.slice(3), request)).letters, 1);
  assert.deepEqual(await listed(), ["a", "c"]);
  assert.equal((await detections.queue()).deadLetters, 2);
  // Another server finds the same notes.
  const other = await fixture.open({ partitions: 1 });
  const second = new DeadDetections({ catalog, clock: systemClock, queue: other });
  assert.equal((await second.drop("all", request)).letters, 2);
  assert.deepEqual(await listed(), []);
  assert.deepEqual(handled, ["b"]);
  // The topic still has them all, and the group has not moved.
  assert.equal((await readTopic(brokers, `${fixture.prefix}braid.detections.dead`, 4)).length, 4);
  const { settled } = await readDeadLetterRecord(catalog);
  assert.deepEqual([...settled], [[0, [[0, 4]]]]);
});

/** Topics of its own, removed at the end. */
class KafkaFixture {
  readonly prefix = `${uniqueName("queue")}.`;
  readonly admin = new Admin({ clientId: "braid-test", bootstrapBrokers: [...brokers] });
  readonly #queues: WorkQueue[] = [];

  async open(options: Partial<KafkaQueueOptions> & { observer?: QueueObserver } = {}) {
    const queue = await openKafkaQueue({
      brokers,
      prefix: this.prefix,
      clock: systemClock,
      random: systemRandom,
      partitions: 3,
      backOff: { firstMs: 10, maxMs: 100 },
      lagMs: 100,
      ...options,
    });
    this.#queues.push(queue);
    return queue;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const queue of this.#queues) await queue.close();
    const topics = (await this.admin.listTopics()).filter((name) => name.startsWith(this.prefix));
    if (topics.length > 0) await this.admin.deleteTopics({ topics });
    await this.admin.close();
  }
}

function consuming(queue: WorkQueue, handler: Parameters<WorkQueue["consume"]>[0]) {
  const stopping = new AbortController();
  const done = queue.consume(handler, stopping.signal);
  return {
    async [Symbol.asyncDispose](): Promise<void> {
      stopping.abort();
      await done;
    },
  };
}
