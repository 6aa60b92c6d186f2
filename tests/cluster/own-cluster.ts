/** A Cassandra cluster for one test file alone, which may kill, freeze and restart its nodes. */
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { startCassandra } from "../../scripts/services/cassandra-cluster.ts";
import type {
  CassandraCluster,
  CassandraOptions,
} from "../../scripts/services/cassandra-cluster.ts";
import { SERVICES_CACHE } from "../../scripts/services/fetch-artifacts.ts";

export interface OwnCluster extends CassandraCluster {
  /** For logs; removed with the cluster. */
  readonly directory: string;
  /** The environment that connects a Braid process to it. */
  readonly env: Readonly<Record<string, string>>;
}

export async function startOwnCluster(
  options: Pick<CassandraOptions, "nodes" | "version" | "heapMiB">,
): Promise<OwnCluster> {
  await mkdir(SERVICES_CACHE, { recursive: true });
  const directory = await mkdtemp(join(SERVICES_CACHE, "test-"));
  const cluster = await startCassandra({
    ...options,
    directory,
    fastStart: true,
    jolokia: false,
    commitLogSync: "batch",
  });
  return {
    ...cluster,
    directory,
    env: {
      BRAID_CASSANDRA_CONTACT_POINTS: pointsOf(cluster).join(","),
      BRAID_CASSANDRA_REPLICATION: String(options.nodes),
      BRAID_CASSANDRA_JOLOKIA_PORT: "0",
    },
    async stop() {
      // Its data is removed, so it need not be flushed.
      await Promise.all(cluster.nodes.map((node) => node.kill()));
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** Each "host:port". */
export function pointsOf({ contactPoints, port }: CassandraCluster): string[] {
  return contactPoints.map((address) => `${address}:${port}`);
}
