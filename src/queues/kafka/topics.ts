/**
 * The two topics: created with the right settings if they are missing, checked if they exist.
 *
 * Settings that cannot work are CONFIG_INVALID, with the command that creates the topic correctly.
 * Settings that work less well than requested are returned as sentences. Every other failure is
 * temporary and worth a retry.
 */
import { Admin, ConfigResourceTypes, findErrorBy } from "@platformatic/kafka";
import { ServiceError } from "../../lib/errors.ts";
import { clientOptions } from "./client-options.ts";
import type { KafkaSettings } from "./kafka-settings.ts";

/** Room for one batch of the producer; Kafka's own default. */
const BATCH_BYTES_MAX = 1_048_588;
/** A dead letter is a stored message with additional headers. */
const DEAD_BATCH_BYTES_MAX = 2 * BATCH_BYTES_MAX;
const REPLICATION_MAX = 3;

interface Wanted {
  readonly topic: string;
  readonly partitions: number;
  readonly configs: Readonly<Record<string, string>>;
}

const NOT_ALLOWED = [
  "TOPIC_AUTHORIZATION_FAILED",
  "CLUSTER_AUTHORIZATION_FAILED",
  "POLICY_VIOLATION",
  "INVALID_REPLICATION_FACTOR",
  "INVALID_CONFIG",
];

/** A sentence for each topic that has fewer replicas than it should. */
export async function ensureTopics(settings: KafkaSettings): Promise<readonly string[]> {
  const admin = new Admin(clientOptions(settings));
  try {
    const { brokers } = await admin.metadata({ topics: [] });
    const replicas = settings.replication ?? Math.min(REPLICATION_MAX, brokers.size);
    const there = new Set(await admin.listTopics());
    const problems: string[] = [];
    for (const wanted of wantedTopics(settings)) {
      const problem = there.has(wanted.topic)
        ? await checkTopic(admin, wanted, replicas)
        : await createTopic(admin, wanted, replicas);
      if (problem !== undefined) problems.push(problem);
    }
    return problems;
  } finally {
    await admin.close();
  }
}

function wantedTopics({ topic, deadTopic, partitions, retentionMs }: KafkaSettings): Wanted[] {
  const configs = { "cleanup.policy": "delete", "retention.ms": `${retentionMs}` };
  return [
    { topic, partitions, configs: { ...configs, "max.message.bytes": `${BATCH_BYTES_MAX}` } },
    {
      topic: deadTopic,
      partitions: 1,
      configs: { ...configs, "max.message.bytes": `${DEAD_BATCH_BYTES_MAX}` },
    },
  ];
}

/**
 * Undefined, unless another process was faster: then the sentence about the topic it created, if
 * any.
 */
async function createTopic(
  admin: Admin,
  wanted: Wanted,
  replicas: number,
): Promise<string | undefined> {
  try {
    await admin.createTopics({
      topics: [wanted.topic],
      partitions: wanted.partitions,
      replicas,
      configs: Object.entries(wanted.configs).map(([name, value]) => ({ name, value })),
    });
    return undefined;
  } catch (error) {
    // Another process was faster, or the broker did not know of it yet.
    if (hasApiId(error, "TOPIC_ALREADY_EXISTS")) return checkTopic(admin, wanted, replicas);
    const refused = NOT_ALLOWED.find((id) => hasApiId(error, id));
    if (refused === undefined) throw error;
    throw misconfigured(
      wanted,
      replicas,
      `is missing, and creating it was refused (${refused})`,
      error,
    );
  }
}

async function checkTopic(
  admin: Admin,
  wanted: Wanted,
  replicas: number,
): Promise<string | undefined> {
  const { topics } = await admin.metadata({ topics: [wanted.topic] });
  const partitions = topics.get(wanted.topic)?.partitions ?? [];
  if (partitions.length < 1) throw misconfigured(wanted, replicas, "has no partitions");
  const found = await topicConfigs(admin, wanted.topic);
  const policy = found?.get("cleanup.policy");
  if (policy !== undefined && policy !== "delete") {
    const what = `has cleanup.policy=${policy}, which would remove messages before they are handled`;
    throw misconfigured(wanted, replicas, what);
  }
  const bytesMax = found?.get("max.message.bytes");
  const neededBytes = wanted.configs["max.message.bytes"];
  if (bytesMax !== undefined && Number(bytesMax) < Number(neededBytes)) {
    throw misconfigured(wanted, replicas, `has max.message.bytes=${bytesMax}, less than it needs`);
  }
  return tooFewCopies(wanted.topic, partitions, replicas);
}

/** The sentence about a topic with fewer replicas than wanted in some partition. */
export function tooFewCopies(
  topic: string,
  partitions: readonly { readonly replicas: readonly number[] }[],
  wanted: number,
): string | undefined {
  const fewest = Math.min(...partitions.map(({ replicas }) => replicas.length));
  if (fewest >= wanted) return undefined;
  return (
    `Kafka's topic ${topic} has replication factor ${fewest}, and ${wanted} is wanted: it survives fewer broker failures ` +
    "than intended; raise it with kafka-reassign-partitions.sh, or set kafka.replication to the intended number"
  );
}

/** Undefined if we may not ask: then the topic is used unchanged. */
async function topicConfigs(
  admin: Admin,
  topic: string,
): Promise<ReadonlyMap<string, string> | undefined> {
  const resource = {
    resourceType: ConfigResourceTypes.TOPIC,
    resourceName: topic,
    configurationKeys: ["cleanup.policy", "max.message.bytes"],
  };
  try {
    const [described] = await admin.describeConfigs({ resources: [resource] });
    return new Map(described?.configs.map(({ name, value }) => [name, value ?? ""]));
  } catch (error) {
    if (NOT_ALLOWED.some((id) => hasApiId(error, id))) return undefined;
    throw error;
  }
}

function misconfigured(
  { topic, partitions, configs }: Wanted,
  replicas: number,
  what: string,
  cause?: unknown,
): ServiceError {
  const settings = Object.entries(configs).map(([name, value]) => `--config ${name}=${value}`);
  return new ServiceError(
    "CONFIG_INVALID",
    `Kafka's topic ${topic} ${what}; create it with: kafka-topics.sh --create --topic ${topic} ` +
      `--partitions ${partitions} --replication-factor ${replicas} ${settings.join(" ")}`,
    { details: { topic }, cause },
  );
}

function hasApiId(error: unknown, id: string): boolean {
  return error instanceof Error && findErrorBy(error, "apiId", id) !== null;
}
