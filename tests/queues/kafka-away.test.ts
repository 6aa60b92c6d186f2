/**
 * A broker that is killed, paused, or not started yet: nothing waits for it, and everything resumes
 * by itself when it returns. With a broker of its own. @needs java
 */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { startKafka } from "../../scripts/services/kafka-broker.ts";
import type { KafkaBroker } from "../../scripts/services/kafka-broker.ts";
import { utf8 } from "../../src/lib/bytes.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { systemRandom } from "../../src/lib/random.ts";
import type { WorkQueue } from "../../src/ports/work-queue.ts";
import { openKafkaQueue } from "../../src/queues/kafka/index.ts";
import { until } from "../support/conditions.ts";
import { uniqueName } from "../support/services.ts";

const MESSAGES_MAX = 100;

let directory: string;
let broker: KafkaBroker;

before(async () => {
  directory = await mkdtemp(join(tmpdir(), "braid-kafka-away-"));
  broker = await startKafka({ directory });
});

after(async () => {
  await broker.kill();
  await rm(directory, { recursive: true, force: true });
});

test("Q9: a killed broker costs only the messages that the buffer cannot hold", async () => {
  await using worker = await Worker.open(uniqueName("killed"));
  worker.publish("before");
  await until(() => worker.handled.has("before"));

  await broker.kill();
  const accepted = Array.from({ length: 3 * MESSAGES_MAX }, (_, i) => `away ${i}`).filter((key) =>
    worker.publish(key),
  );
  assert.equal(accepted.length, MESSAGES_MAX);
  assert.equal(worker.dropped, 2 * MESSAGES_MAX);
  await until(() => worker.troubles.length >= 2);
  // The broker is still down, and the call still returns at once.
  assert.equal(worker.publish("later"), false);

  await broker.start();
  await untilLong(() => accepted.every((key) => worker.handled.has(key)));
  assert.ok(worker.publish("after"));
  await until(() => worker.handled.has("after"));
});

test("Q9: a paused broker is abandoned and found again", async () => {
  await using worker = await Worker.open(uniqueName("still"));
  worker.publish("before");
  await until(() => worker.handled.has("before"));

  broker.pause();
  try {
    assert.ok(worker.publish("meanwhile"));
    await untilLong(() => worker.troubles.length > 0);
  } finally {
    broker.resume();
  }
  await untilLong(() => worker.handled.has("meanwhile"));
  assert.ok(worker.publish("after"));
  await untilLong(() => worker.handled.has("after"));
});

test("U5: a queue opens without a broker, and works when there is one", async () => {
  await broker.kill();
  await using worker = await Worker.open(uniqueName("none"));
  assert.ok(worker.troubles.length > 0);
  assert.ok(worker.publish("early"));
  await broker.start();
  await untilLong(() => worker.handled.has("early"));
});

test("a queue that closes without a broker gives up within its grace, and counts the messages", async () => {
  await using worker = await Worker.open(uniqueName("close"));
  await broker.kill();
  worker.publish("lost");
  await worker.queue.close();
  assert.equal(worker.dropped, 1);
  await broker.start();
});

/** A queue, and its consumer. */
class Worker {
  readonly handled = new Set<string>();
  readonly troubles: string[] = [];
  readonly #stopping = new AbortController();
  #queue: WorkQueue | undefined;
  #consuming: Promise<void> | undefined;
  dropped = 0;

  static async open(prefix: string): Promise<Worker> {
    const worker = new Worker();
    worker.#queue = await openKafkaQueue({
      brokers: [broker.address],
      prefix: `${prefix}.`,
      clock: systemClock,
      random: systemRandom,
      partitions: 3,
      messagesMax: MESSAGES_MAX,
      reconnect: { firstMs: 100, maxMs: 1_000 },
      closeGraceMs: 500,
      observer: {
        dropped: (_, messages) => {
          worker.dropped += messages;
        },
        trouble: (what) => worker.troubles.push(what),
      },
    });
    worker.#consuming = worker.#queue.consume(async ({ key }) => {
      worker.handled.add(key);
      return { kind: "done" };
    }, worker.#stopping.signal);
    return worker;
  }

  get queue(): WorkQueue {
    assert.ok(this.#queue);
    return this.#queue;
  }

  publish(key: string): boolean {
    return this.queue.publish({ key, value: utf8("x") }) === "accepted";
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    await this.#consuming;
    await this.queue.close();
  }
}

/** The group may have to wait until lost members count as dead. */
async function untilLong(claim: () => boolean): Promise<void> {
  await until(claim).catch(() => until(claim));
}
