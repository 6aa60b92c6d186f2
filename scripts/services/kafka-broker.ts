/**
 * A real Kafka broker on loopback, its own controller, in one process.
 *
 * It is ready when it answers a client. One that was begun and failed, or was aborted, leaves no
 * process behind; the directory and its log stay.
 */
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Admin } from "@platformatic/kafka";
import { fetchArtifacts, SERVICES } from "./fetch-artifacts.ts";
import { JavaProcess } from "./java-process.ts";
import type { Lifetime } from "./java-process.ts";
import { accepts, freeNetwork, takenAddresses } from "./loopback.ts";
import { runTool } from "./run-tool.ts";

const KAFKA_VERSION = "4.2.0";

const PORT = 9092;

export interface KafkaOptions {
  /** For the configuration, the log and the data, in a folder `kafka`. */
  readonly directory: string;
  /** The controller takes the next one. */
  readonly port?: number;
  /** A free one in 127.0.0.0/8 if it is not given. */
  readonly host?: string;
  readonly heapMiB?: number;
  /** "parent" if it is not given. */
  readonly lifetime?: Lifetime;
  /** Leaves the processor to others while they want it. */
  readonly lowPriority?: boolean;
  readonly signal?: AbortSignal;
  readonly onProgress?: (line: string) => void;
}

export interface KafkaBroker {
  /** host:port */
  readonly address: string;
  readonly pid: number;
  /** SIGKILL; resolves when it has ended. */
  kill(): Promise<void>;
  /** Starts it again; resolves when it answers. */
  start(): Promise<void>;
  /** SIGTERM; resolves when it has ended. */
  stop(): Promise<void>;
  /** SIGSTOP. */
  pause(): void;
  /** SIGCONT. */
  resume(): void;
}

export async function startKafka(options: KafkaOptions): Promise<KafkaBroker> {
  const { port = PORT, onProgress, signal, heapMiB = 512 } = options;
  const { lib, java } = await fetchArtifacts("kafka", KAFKA_VERSION, options);
  const host = options.host ?? `${await freeNetwork([port, port + 1])}.1`;
  const taken = await takenAddresses([
    { host, port },
    { host, port: port + 1 },
  ]);
  if (taken.length > 0) throw new Error(`kafka cannot listen on ${taken.join(", ")}`);

  const startedAt = performance.now();
  const seconds = (): string => ((performance.now() - startedAt) / 1000).toFixed(1);
  const address = `${host}:${port}`;
  const directory = join(options.directory, "kafka");
  const config = await writeConfig(directory, host, port);
  const jvm = [`-Xms128m`, `-Xmx${heapMiB}m`, "-XX:+UseSerialGC", "-cp", `${lib}/*`];
  onProgress?.(`kafka: starting ${address}`);
  // A broker wants to find a cluster id in its storage; one that ran before has it.
  if (!existsSync(join(directory, "data", "meta.properties"))) {
    const format = ["format", "-t", clusterId(), "-c", config];
    const tool = [java, ...jvm, "-XX:TieredStopAtLevel=1", "kafka.tools.StorageTool", ...format];
    await runTool("formatting Kafka's storage", tool, { signal });
  }

  const logging = join(SERVICES, "kafka", "log4j2.properties");
  const process = new JavaProcess({
    name: "kafka",
    version: KAFKA_VERSION,
    address,
    directory,
    java,
    args: [...jvm, `-Dlog4j2.configurationFile=${logging}`, "kafka.Kafka", config],
    lifetime: options.lifetime ?? "parent",
    lowPriority: options.lowPriority ?? false,
  });
  const start = async (): Promise<void> => {
    await process.start();
    await process.untilReady(
      async () => (await accepts(host, port)) && (await answersKafka(address)),
      signal,
    );
  };
  try {
    await start();
  } catch (error) {
    await process.kill();
    throw error;
  }
  onProgress?.(`kafka: answers (${seconds()} s)`);
  return {
    address,
    get pid() {
      return process.pid;
    },
    start,
    kill: () => process.kill(),
    stop: () => process.stop(),
    pause: () => process.pause(),
    resume: () => process.resume(),
  };
}

async function writeConfig(directory: string, host: string, port: number): Promise<string> {
  await mkdir(directory, { recursive: true });
  const common = await readFile(join(SERVICES, "kafka", "server.properties"), "utf8");
  const own = [
    `listeners=PLAINTEXT://${host}:${port},CONTROLLER://${host}:${port + 1}`,
    `advertised.listeners=PLAINTEXT://${host}:${port}`,
    `controller.quorum.voters=1@${host}:${port + 1}`,
    `log.dirs=${join(directory, "data")}`,
    "",
  ];
  const config = join(directory, "server.properties");
  await writeFile(config, `${common}\n${own.join("\n")}`);
  return config;
}

/** Sixteen bytes, of which the tool would take a leading dash for an option. */
function clusterId(): string {
  return randomBytes(16).toString("base64url").replace(/^-/, "A");
}

async function answersKafka(address: string): Promise<boolean> {
  const admin = new Admin({
    clientId: "braid-services",
    bootstrapBrokers: [address],
    retries: 0,
    connectTimeout: 2_000,
    timeout: 5_000,
  });
  try {
    await admin.listTopics();
    return true;
  } catch {
    return false; // Not yet; the caller shows the log in the end.
  } finally {
    await admin.close();
  }
}
