/**
 * The processes of the demo: a server on the embedded engine, or Cassandra, Kafka, a server and a worker.
 *
 * Views, writes in flight and the evidence for a read mode are set small, so that what takes minutes in
 * production takes seconds here.
 */
import { closeSync, openSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { GrpcLoad } from "../../bench/support/grpc-load.ts";
import { startServer, startWorker } from "../../bench/support/server-process.ts";
import type { ServerProcess } from "../../bench/support/server-process.ts";
import { startCassandra } from "../services/cassandra-cluster.ts";
import type { CassandraNode } from "../services/cassandra-cluster.ts";
import { startKafka } from "../services/kafka-broker.ts";
import { headline, line } from "./tell.ts";

export interface DemoSetup {
  readonly server: ServerProcess;
  readonly grpc: GrpcLoad;
  /** Undefined on the embedded engine. */
  readonly node: CassandraNode | undefined;
  /** The last warnings of server and worker, shortened, to explain a failure. */
  warnings(): Promise<readonly string[]>;
  /** May be called again. */
  stop(): Promise<void>;
}

const WARNINGS_SHOWN = 3;
const WARNING_LENGTH = 300;

const SMALL = {
  BRAID_VIEW_MAX_AGE: "1s",
  BRAID_WRITE_MAX: "1s",
  BRAID_SPLITS_SWEEP_EVERY: "500ms",
  BRAID_SPLITS_SHADOW_SAMPLE: "2",
  BRAID_SPLITS_ADVANCE_READS: "40",
  BRAID_SPLITS_ADVANCE_BYTES: "1MiB",
  BRAID_SPLITS_ADVANCE_AFTER: "2s",
};

export async function startDemo(cassandra: boolean, signal: AbortSignal): Promise<DemoSetup> {
  const ends: (() => Promise<unknown>)[] = [];
  let stopping: Promise<void> | undefined;
  const stopAll = async (): Promise<void> => {
    for (const end of ends.toReversed()) await end().catch(() => undefined);
  };
  const stop = (): Promise<void> => (stopping ??= stopAll());
  try {
    const directory = await mkdtemp(join(tmpdir(), "braid-demo-"));
    ends.push(() => rm(directory, { recursive: true, force: true }));
    const logPath = join(directory, "braid.log");
    const log = openSync(logPath, "a");
    ends.push(() => Promise.resolve(closeSync(log)));
    headline(
      cassandra
        ? "Starting Cassandra, Kafka, a Braid server and a Braid worker"
        : "Starting a Braid server on its embedded engine",
    );
    const shared = cassandra ? await startServices(directory, signal, ends) : undefined;
    const env = { ...SMALL, ...shared?.env };
    const server = await startServer(env, log);
    ends.push(() => server.stop());
    signal.throwIfAborted();
    line(`  the server answers on http://127.0.0.1:${server.port}`);
    if (shared !== undefined) {
      const worker = await startWorker(env, log);
      ends.push(() => worker.stop());
      line("  the worker waits for detections on Kafka");
    }
    const grpc = await GrpcLoad.open(server.port);
    ends.push(() => Promise.resolve(grpc.close()));
    signal.throwIfAborted();
    return { server, grpc, node: shared?.node, warnings: () => lastLines(logPath), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function lastLines(path: string): Promise<string[]> {
  const lines = (await readFile(path, "utf8")).trimEnd().split("\n");
  return lines.slice(-WARNINGS_SHOWN).map((text) => text.slice(0, WARNING_LENGTH));
}

async function startServices(
  directory: string,
  signal: AbortSignal,
  ends: (() => Promise<unknown>)[],
): Promise<{ env: NodeJS.ProcessEnv; node: CassandraNode | undefined }> {
  const onProgress = (text: string): void => line(`  ${text}`);
  const cluster = await startCassandra({
    nodes: 1,
    directory,
    heapMiB: 2_048,
    signal,
    onProgress,
  });
  ends.push(() => cluster.stop());
  const kafka = await startKafka({ directory, signal, onProgress });
  ends.push(() => kafka.stop());
  return {
    node: cluster.nodes[0],
    env: {
      BRAID_ENGINE: "cassandra",
      BRAID_QUEUE: "kafka",
      BRAID_CASSANDRA_CONTACT_POINTS: `${cluster.contactPoints[0]}:${cluster.port}`,
      BRAID_KAFKA_BROKERS: kafka.address,
      // A write has a quarter of it for one try, which a node on a busy machine needs.
      BRAID_WRITE_MAX: "8s",
      // The demo pauses no machine.
      BRAID_PAUSE_MAX: "1s",
    },
  };
}
