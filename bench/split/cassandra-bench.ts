/**
 * A Cassandra node, a Kafka broker, a server and a worker, each a process; all are stopped at the
 * end.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Client } from "cassandra-driver";
import { startCassandra } from "../../scripts/services/cassandra-cluster.ts";
import type { CassandraNode } from "../../scripts/services/cassandra-cluster.ts";
import { startKafka } from "../../scripts/services/kafka-broker.ts";
import { GrpcLoad } from "../support/grpc-load.ts";
import { NodeFigures } from "../support/node-figures.ts";
import { openDriver } from "../support/raw-cassandra.ts";
import { note } from "../support/report.ts";
import { startServer, startWorker } from "../support/server-process.ts";
import type { ServerProcess } from "../support/server-process.ts";
import type { WideSpace } from "../support/wide-space.ts";
import { QUICK_VIEWS_CASSANDRA } from "./options.ts";

export interface CassandraBench {
  readonly directory: string;
  readonly node: CassandraNode;
  readonly figures: NodeFigures;
  readonly client: Client;
  readonly server: ServerProcess;
  readonly worker: ServerProcess;
  readonly grpc: GrpcLoad;
  stop(): Promise<void>;
}

/**
 * The same events: unsplit, to be split in either layout, and in partitions that never were wide.
 */
export type Spaces = Readonly<Record<"wide" | "packed" | "rows" | "narrow", WideSpace>>;

const HEAP_MIB = 4_096;

/** `fanOut`: of the server's reads over time buckets. */
export async function startCassandraBench(fanOut?: string): Promise<CassandraBench> {
  const directory = await mkdtemp(join(tmpdir(), "braid-bench-split-"));
  const ends: (() => Promise<unknown>)[] = [() => rm(directory, { recursive: true, force: true })];
  const stop = async (): Promise<void> => {
    for (const end of ends.toReversed()) await end();
  };
  try {
    const cluster = await startCassandra({
      nodes: 1,
      directory,
      heapMiB: HEAP_MIB,
      commitLogSync: "periodic",
      onProgress: note,
    });
    ends.push(() => cluster.stop());
    const kafka = await startKafka({ directory, onProgress: note });
    ends.push(() => kafka.stop());
    const contactPoint = `${cluster.contactPoints[0]}:${cluster.port}`;
    const env = {
      ...QUICK_VIEWS_CASSANDRA,
      BRAID_ENGINE: "cassandra",
      BRAID_QUEUE: "kafka",
      BRAID_CASSANDRA_CONTACT_POINTS: contactPoint,
      BRAID_KAFKA_BROKERS: kafka.address,
    };
    const server = await startServer({
      ...env,
      ...(fanOut !== undefined && { BRAID_SERVER_READ_FAN_OUT: fanOut }),
    });
    ends.push(() => server.stop());
    const worker = await startWorker(env);
    ends.push(() => worker.stop());
    const client = await openDriver(contactPoint);
    ends.push(() => client.shutdown());
    const grpc = await GrpcLoad.open(server.port);
    ends.push(() => Promise.resolve(grpc.close()));
    const [node] = cluster.nodes;
    if (node === undefined) throw new Error("a cluster has a node");
    const figures = new NodeFigures(node);
    return { directory, node, figures, client, server, worker, grpc, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
