/**
 * A real Cassandra cluster on loopback: one process a node, each on an address of its own.
 *
 * It is ready when every node answers CQL and reaches all the others. A cluster that was begun and
 * failed, or was aborted, leaves no process behind; the directory and its logs stay.
 */
import { globSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { answersCql } from "./answers-cql.ts";
import { fetchArtifacts, SERVICES } from "./fetch-artifacts.ts";
import type { Artifacts } from "./fetch-artifacts.ts";
import { JavaProcess } from "./java-process.ts";
import type { Command, Lifetime } from "./java-process.ts";
import { accepts, freeNetwork, freePort, takenAddresses } from "./loopback.ts";

export const CASSANDRA_VERSION = "5.0.8";

const STORAGE_PORT = 7000;
const NATIVE_PORT = 9042;
const JOLOKIA_PORT = 8778;

export interface CassandraOptions {
  readonly nodes: number;
  readonly version?: string;
  /** For the configuration, the logs and the data; a folder each node. */
  readonly directory: string;
  /** "127.0.77": node i is 127.0.77.i. A free one if it is not given. */
  readonly network?: string;
  readonly nativePort?: number;
  readonly heapMiB?: number;
  /** Up sooner and slower afterwards: the small garbage collector, the quick compiler only. */
  readonly fastStart?: boolean;
  /**
   * Quick changes of the schema, for a cluster that is never started again: it could not read its
   * own.
   */
  readonly unsafeSystem?: boolean;
  /**
   * When a write is on disk. "periodic" is Cassandra's own: what was acknowledged in the last
   * moments before every replica is killed at once is lost. "batch": before it is acknowledged.
   */
  readonly commitLogSync?: "periodic" | "batch";
  /** The agent that serves JMX over HTTP. */
  readonly jolokia?: boolean;
  /** "parent" if it is not given. */
  readonly lifetime?: Lifetime;
  /** Leaves the processor to others while they want it. */
  readonly lowPriority?: boolean;
  readonly signal?: AbortSignal;
  readonly onProgress?: (line: string) => void;
}

export interface CassandraCluster {
  readonly contactPoints: string[];
  readonly port: number;
  readonly datacenter: string;
  readonly nodes: readonly CassandraNode[];
  stop(): Promise<void>;
}

export interface CassandraNode {
  readonly name: string;
  readonly address: string;
  readonly jolokiaUrl: string | undefined;
  /** On 127.0.0.1. */
  readonly jmxPort: number;
  readonly artifacts: Artifacts;
  readonly log: string;
  readonly pid: number;
  /** SIGKILL; resolves when it has ended. */
  kill(): Promise<void>;
  /** SIGSTOP. */
  pause(): void;
  /** SIGCONT. */
  resume(): void;
  /**
   * Starts it again; resolves when it answers, and it and the other nodes that are awake reach each
   * other.
   */
  start(): Promise<void>;
  /** SIGTERM; resolves when it has written out everything and ended. */
  stop(): Promise<void>;
}

export async function startCassandra(options: CassandraOptions): Promise<CassandraCluster> {
  const { onProgress, signal, nativePort: port = NATIVE_PORT } = options;
  const artifacts = await fetchArtifacts(
    "cassandra",
    options.version ?? CASSANDRA_VERSION,
    options,
  );
  const ports = [port, STORAGE_PORT, ...(options.jolokia === false ? [] : [JOLOKIA_PORT])];
  const network = options.network ?? (await freeNetwork(ports));
  const addresses = Array.from({ length: options.nodes }, (_, i) => `${network}.${i + 1}`);
  const taken = await takenAddresses(
    addresses.flatMap((host) => ports.map((each) => ({ host, port: each }))),
  );
  if (taken.length > 0) throw new Error(`cassandra cannot listen on ${taken.join(", ")}`);

  const startedAt = performance.now();
  const seconds = (): string => ((performance.now() - startedAt) / 1000).toFixed(1);
  const processes: JavaProcess[] = [];
  const untilTogether = async (starting: JavaProcess): Promise<void> => {
    await Promise.all(
      processes.map(async (process, i) => {
        const host = addresses[i] ?? "";
        if (!process.awake) return;
        const awake = (): number => processes.filter((each) => each.awake).length;
        await starting.untilReady(() => answersCql(host, port, awake()), signal);
      }),
    );
  };
  const nodes: CassandraNode[] = [];
  for (const [i, address] of addresses.entries()) {
    const jmxPort = await freePort();
    const layout = { address, port, jmxPort, addresses, artifacts };
    const process = new JavaProcess(await prepareNode(i, layout, options));
    processes.push(process);
    nodes.push({
      name: process.name,
      address,
      jolokiaUrl:
        options.jolokia === false ? undefined : `http://${address}:${JOLOKIA_PORT}/jolokia`,
      jmxPort,
      artifacts,
      log: process.log,
      get pid() {
        return process.pid;
      },
      kill: () => process.kill(),
      pause: () => process.pause(),
      resume: () => process.resume(),
      async start() {
        await process.start();
        await process.untilReady(() => accepts(address, port));
        await untilTogether(process);
      },
      stop: () => process.stop(),
    });
  }
  const stop = async (): Promise<void> => {
    // What cannot be started again need not write out anything.
    const end = options.unsafeSystem === true ? "kill" : "stop";
    await Promise.all(processes.map((process) => process[end]()));
  };

  onProgress?.(`cassandra: starting ${addresses.join(", ")}, port ${port}`);
  try {
    await Promise.all(
      processes.map(async (process, i) => {
        await process.start();
        await process.untilReady(() => accepts(addresses[i] ?? "", port), signal);
        onProgress?.(`${process.name}: listens (${seconds()} s)`);
      }),
    );
    await Promise.all(processes.map(untilTogether));
  } catch (error) {
    await Promise.all(processes.map((process) => process.kill()));
    throw error;
  }
  onProgress?.(`cassandra: every node answers and reaches the others (${seconds()} s)`);
  return { contactPoints: addresses, port, datacenter: "datacenter1", nodes, stop };
}

interface NodeLayout {
  readonly address: string;
  readonly port: number;
  readonly jmxPort: number;
  readonly addresses: readonly string[];
  readonly artifacts: Artifacts;
}

async function prepareNode(
  i: number,
  layout: NodeLayout,
  options: CassandraOptions,
): Promise<Command> {
  const { address, port, artifacts } = layout;
  const name = `cassandra-${i + 1}`;
  const directory = join(options.directory, name);
  await mkdir(join(directory, "triggers"), { recursive: true });
  const common = await readFile(join(SERVICES, "cassandra", "cassandra.yaml"), "utf8");
  await writeFile(
    join(directory, "cassandra.yaml"),
    `${common}\n${ownSettings(i, layout, options)}`,
  );
  return {
    name,
    version: options.version ?? CASSANDRA_VERSION,
    address: `${address}:${port}`,
    directory,
    java: artifacts.java,
    args: javaArgs(directory, layout, options),
    lifetime: options.lifetime ?? "parent",
    lowPriority: options.lowPriority ?? false,
  };
}

function ownSettings(
  i: number,
  { address, port, addresses }: NodeLayout,
  options: CassandraOptions,
): string {
  const { commitLogSync = options.unsafeSystem === true ? "periodic" : "batch" } = options;
  // The tokens are -2^63 .. 2^63 - 1; each node takes an equal range.
  const token = -(2n ** 63n) + (BigInt(i) * 2n ** 64n) / BigInt(addresses.length);
  return [
    `listen_address: ${address}`,
    `rpc_address: ${address}`,
    `storage_port: ${STORAGE_PORT}`,
    `native_transport_port: ${port}`,
    `initial_token: ${token}`,
    // A seed starts without waiting for another, so with all of them seeds they can start at once.
    "seed_provider:",
    "  - class_name: org.apache.cassandra.locator.SimpleSeedProvider",
    `    parameters: [{ seeds: "${addresses.join(",")}" }]`,
    `commitlog_sync: ${commitLogSync}`,
    ...(commitLogSync === "periodic" ? ["commitlog_sync_period: 10000ms"] : []),
    "",
  ].join("\n");
}

function javaArgs(
  directory: string,
  { address, jmxPort, addresses, artifacts }: NodeLayout,
  options: CassandraOptions,
): string[] {
  const { heapMiB = addresses.length === 1 ? 1024 : 768 } = options;
  const speed =
    options.fastStart === true
      ? ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
      : ["-XX:+UseG1GC", "-XX:MaxGCPauseMillis=300"];
  const jolokia = `=host=${address},port=${JOLOKIA_PORT},discoveryEnabled=false`;
  return [
    `-Xms${heapMiB}m`,
    `-Xmx${heapMiB}m`,
    ...speed,
    "-XX:+ExitOnOutOfMemoryError",
    `@${join(SERVICES, "cassandra", "jvm17.args")}`,
    // 4.1 dies without it on Java 17; 5.0 measures its memory better with it.
    `-javaagent:${jarIn(artifacts.lib, "jamm-*.jar")}`,
    ...(options.jolokia === false
      ? []
      : [`-javaagent:${jarIn(artifacts.lib, "jolokia-agent-jvm-*-javaagent.jar")}${jolokia}`]),
    "-Dcassandra-foreground=yes",
    `-Dcassandra.config=file:${join(directory, "cassandra.yaml")}`,
    `-Dcassandra.storagedir=${directory}`,
    `-Dcassandra.triggers_dir=${join(directory, "triggers")}`,
    `-Dlogback.configurationFile=file:${join(SERVICES, "cassandra", "logback.xml")}`,
    `-Dcassandra.jmx.local.port=${jmxPort}`,
    // A node joins at once: there is nothing to wait for in a ring laid out by hand.
    "-Dcassandra.ring_delay_ms=0",
    "-Dcassandra.skip_wait_for_gossip_to_settle=0",
    "-Dcassandra.superuser_setup_delay_ms=0",
    // The estimates of partition sizes every ten seconds instead of every five minutes.
    "-Dcassandra.size_recorder_interval=10",
    "-Dcassandra.libjemalloc=-",
    ...(options.unsafeSystem === true ? ["-Dcassandra.unsafesystem=true"] : []),
    "-cp",
    `${artifacts.lib}/*`,
    "org.apache.cassandra.service.CassandraDaemon",
  ];
}

function jarIn(lib: string, pattern: string): string {
  const [jar] = globSync(join(lib, pattern));
  if (jar === undefined) throw new Error(`no ${pattern} in ${lib}: remove it to fetch it again`);
  return jar;
}
