/** The options, and the settings derived from them, which every file of this folder uses. */
import type { BackOff } from "../../lib/back-off.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Random } from "../../lib/random.ts";
import type { QueueObserver } from "../../ports/work-queue.ts";

export interface KafkaQueueOptions {
  /** `host:port`, one or more: any of them leads to the others. */
  readonly brokers: readonly string[];
  readonly clock: Clock;
  readonly random: Random;
  readonly observer?: QueueObserver | undefined;
  /** Prefix of the topics' and the group's names: tests have their own. */
  readonly prefix?: string;
  /** Shown in the broker's logs. */
  readonly clientId?: string;
  /** Partitions of the topic, if it has to be created: this many workers can share the work. */
  readonly partitions?: number;
  /** Replicas of each topic. Default: three, or as many as there are brokers. */
  readonly replication?: number;
  readonly retentionMs?: number;
  /** The buffer of messages that are accepted and not yet at the broker. */
  readonly messagesMax?: number;
  readonly bytesMax?: number;
  readonly messageBytesMax?: number;
  /** After a handler has rejected. */
  readonly backOff?: BackOff;
  /** After the broker could not be reached, or an operation failed. */
  readonly reconnect?: BackOff;
  /** A consumer that is silent for this long counts as dead, and its partitions go to others. */
  readonly sessionTimeoutMs?: number;
  /** How often the lag is requested while consuming. */
  readonly lagMs?: number;
  /** How long a closing queue may take to hand over what it holds. */
  readonly closeGraceMs?: number;
}

const TOPIC = "braid.detections";
const DEAD_TOPIC = "braid.detections.dead";
const GROUP = "braid-workers";

interface KafkaNames {
  readonly topic: string;
  readonly deadTopic: string;
  readonly group: string;
}

export type KafkaSettings = Required<
  Omit<KafkaQueueOptions, "observer" | "replication" | "prefix">
> &
  KafkaNames & { readonly observer: QueueObserver; readonly replication: number | undefined };

const DEFAULTS = {
  clientId: "braid",
  partitions: 12,
  retentionMs: 7 * 24 * 3_600_000,
  messagesMax: 10_000,
  bytesMax: 8 * 1024 * 1024,
  messageBytesMax: 64 * 1024,
  backOff: { firstMs: 100, maxMs: 30_000 },
  reconnect: { firstMs: 250, maxMs: 5_000 },
  sessionTimeoutMs: 10_000,
  lagMs: 5_000,
  closeGraceMs: 5_000,
};

export function kafkaSettings(options: KafkaQueueOptions): KafkaSettings {
  const { prefix = "", observer = {}, replication, ...given } = options;
  return {
    ...DEFAULTS,
    ...given,
    replication,
    observer,
    topic: prefix + TOPIC,
    deadTopic: prefix + DEAD_TOPIC,
    group: prefix + GROUP,
  };
}
