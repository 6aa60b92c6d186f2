/**
 * One membership in the consumer group, from joining to leaving.
 *
 * It ends on request, or at the first problem of the connection, and the next session continues
 * from the committed offsets: that is easier to trust than a client that repairs itself. Messages
 * of one partition of the topic go through one serial queue, in order; the serial queues run in
 * parallel. A message is committed when its handler has resolved. When the group reassigns the
 * partitions, fetched but uncommitted messages are fetched again, here or elsewhere, so they may be
 * handled twice; none is skipped.
 *
 * Memory is bounded: a full serial queue pauses fetching. A queue whose first message keeps failing
 * would so block all others. Instead it drops the messages behind its own, and when it is free
 * again the session ends, so that the next one fetches them again.
 */
import {
  Consumer,
  MessagesStreamFallbackModes,
  MessagesStreamModes,
  type Message,
  type MessagesStream,
} from "@platformatic/kafka";
import { SerialQueue } from "../../lib/serial-queue.ts";
import { within } from "../../lib/within.ts";
import { clientOptions } from "./client-options.ts";
import type { KafkaSettings } from "./kafka-settings.ts";

const SERIAL_MESSAGES_MAX = 200;
/** After this many failures a serial queue no longer makes the others wait. */
const STUCK_FAILURES = 3;
const CLOSE_MS_MAX = 3_000;
/** Members have this long to notice that the partitions are reassigned. */
const REBALANCE_MS = 15_000;

type Stream = MessagesStream<Buffer, Buffer, Buffer, Buffer>;

export interface SessionWork {
  /** Resolves when the message is done for good. If it rejects, it is called again. */
  handle(message: Message, signal: AbortSignal): Promise<void>;
  /** Messages behind the committed offsets, in the partitions of this member. */
  lagSeen(messages: number): void;
}

/** A partition of the topic: its fetched messages, in order. */
interface PartitionQueue {
  readonly serial: SerialQueue<Message>;
  /** Messages behind those in the serial queue were dropped. */
  leaky: boolean;
}

export class ConsumerSession {
  readonly #settings: KafkaSettings;
  readonly #work: SessionWork;
  readonly #partitionQueues = new Map<number, PartitionQueue>();
  readonly #running: Promise<void>[] = [];
  readonly #ending = new AbortController();
  #failure: Error | undefined;
  #stream: Stream | undefined;
  #askingLag = false;

  constructor(settings: KafkaSettings, work: SessionWork) {
    this.#settings = settings;
    this.#work = work;
  }

  /**
   * Resolves when the signal has aborted, or when another session should follow; rejects if it
   * failed.
   */
  async run(signal: AbortSignal): Promise<void> {
    const stop = (): void => this.#end();
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) this.#end();
    const consumer = this.#newConsumer();
    try {
      await this.#join(consumer);
      await this.#watch(consumer);
    } catch (error) {
      this.#end(asError(error));
    } finally {
      signal.removeEventListener("abort", stop);
      await this.#leave(consumer);
    }
    if (this.#failure !== undefined) throw this.#failure;
  }

  #newConsumer(): Consumer {
    const { group, sessionTimeoutMs } = this.#settings;
    const consumer = new Consumer({
      ...clientOptions(this.#settings),
      groupId: group,
      autocommit: false,
      sessionTimeout: sessionTimeoutMs,
      heartbeatInterval: sessionTimeoutMs / 5,
      // Without a heartbeat for this long the group reassigns our partitions.
      heartbeatStallTimeout: sessionTimeoutMs,
      rebalanceTimeout: REBALANCE_MS,
      // Joining waits for all other members, and fetching waits for messages.
      requestTimeout: REBALANCE_MS + 5_000,
      maxWaitTime: 1_000,
      maxBytes: 4 * 1024 * 1024,
      highWaterMark: SERIAL_MESSAGES_MAX,
    });
    // An error without a listener would end the process.
    consumer.on("error", (error: Error) => this.#end(error));
    consumer.on("consumer:heartbeat:stalled", ({ lastError }) => {
      this.#end(lastError ?? new Error("the group has not answered a heartbeat for too long"));
    });
    return consumer;
  }

  async #join(consumer: Consumer): Promise<void> {
    const { clock, topic } = this.#settings;
    const joining = consumer.consume({
      topics: [topic],
      mode: MessagesStreamModes.COMMITTED,
      fallbackMode: MessagesStreamFallbackModes.EARLIEST,
    });
    const joined = within(clock, 3 * REBALANCE_MS, "joining the group", joining);
    const stream = await Promise.race([joined, ended(this.#ending.signal)]);
    if (stream === undefined) {
      // Stopped while joining: the close below deals with the result.
      joined.catch(() => undefined);
      return;
    }
    this.#stream = stream;
    stream.on("error", (error) => this.#end(error));
    stream.on("close", () => this.#end(new Error("the stream of messages has ended")));
    stream.on("data", (message) => this.#take(message));
  }

  /** Waits for the end, and asks for the lag meanwhile. */
  async #watch(consumer: Consumer): Promise<void> {
    const { clock, lagMs } = this.#settings;
    while (!this.#ending.signal.aborted) {
      if (!this.#askingLag && consumer.isActive()) void this.#askLag(consumer);
      await clock.sleep(lagMs, this.#ending.signal);
    }
  }

  /** A lag request that fails is repeated: heartbeats show whether the broker is there. */
  async #askLag(consumer: Consumer): Promise<void> {
    const { topic } = this.#settings;
    this.#askingLag = true;
    try {
      const lags = await consumer.getLag({ topics: [topic] });
      // A session that has ended no longer reports.
      if (this.#ending.signal.aborted) return;
      // Partitions of other members are negative.
      const ours = lags.get(topic)?.filter((lag) => lag > 0n) ?? [];
      this.#work.lagSeen(ours.reduce((sum, lag) => sum + Number(lag), 0));
    } catch (error) {
      this.#settings.observer.trouble?.("the consumer lag cannot be read", error);
    } finally {
      this.#askingLag = false;
    }
  }

  #take(message: Message): void {
    const entry = this.#serialOf(message.partition);
    const { serial } = entry;
    const full = serial.length >= SERIAL_MESSAGES_MAX;
    if (entry.leaky || (full && serial.failures >= STUCK_FAILURES)) {
      entry.leaky = true;
      return;
    }
    serial.push(message);
    if (!this.#hasRoom(entry)) this.#stream?.pause();
  }

  #serialOf(partition: number): PartitionQueue {
    const known = this.#partitionQueues.get(partition);
    if (known !== undefined) return known;
    const entry: PartitionQueue = { serial: new SerialQueue<Message>(), leaky: false };
    this.#partitionQueues.set(partition, entry);
    this.#running.push(this.#runSerial(entry));
    return entry;
  }

  #runSerial(entry: PartitionQueue): Promise<void> {
    const { clock, random, backOff, observer } = this.#settings;
    return entry.serial.run(
      {
        work: (message, signal) => this.#work.handle(message, signal),
        done: (message) => {
          this.#commit(message);
          if (entry.leaky && entry.serial.length === 0) this.#end();
          else this.#resumeIfRoom();
        },
        failed: (failures, error) => {
          observer.retried?.(failures, error);
          this.#resumeIfRoom();
        },
      },
      { clock, random, backOff },
      this.#ending.signal,
    );
  }

  /** Not awaited: the client combines commits, and the next message need not wait for them. */
  #commit(message: Message): void {
    const committed = Promise.resolve(message.commit());
    committed.catch((error: unknown) => this.#end(asError(error)));
  }

  #resumeIfRoom(): void {
    const stream = this.#stream;
    if (stream === undefined || !stream.isPaused() || this.#ending.signal.aborted) return;
    for (const entry of this.#partitionQueues.values()) if (!this.#hasRoom(entry)) return;
    stream.resume();
  }

  #hasRoom({ serial }: PartitionQueue): boolean {
    return serial.length < SERIAL_MESSAGES_MAX || serial.failures >= STUCK_FAILURES;
  }

  /** The first reason counts. */
  #end(failure?: Error): void {
    if (this.#ending.signal.aborted) return;
    this.#failure = failure;
    this.#ending.abort();
  }

  /**
   * Handlers under way end first, so that their results are committed; then the stream, which sends
   * the commits; then the consumer, which must always be closed: until then it sends heartbeats.
   */
  async #leave(consumer: Consumer): Promise<void> {
    await Promise.all(this.#running);
    const stream = this.#stream;
    if (stream !== undefined && !(await this.#closed("closing the stream", stream.close()))) {
      stream.destroy();
    }
    if (!(await this.#closed("leaving the group", consumer.close(true)))) {
      // It may have reconnected when it could not leave.
      consumer.connections.close(() => undefined);
    }
  }

  async #closed(what: string, closing: Promise<void>): Promise<boolean> {
    const { clock, observer } = this.#settings;
    try {
      await within(clock, CLOSE_MS_MAX, what, closing);
      return true;
    } catch (error) {
      observer.trouble?.("a Kafka consumer could not leave its group cleanly", error);
      return false;
    }
  }
}

function ended(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    else signal.addEventListener("abort", () => resolve(undefined), { once: true });
  });
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
