/** A Cassandra cluster for one test file alone, which it may kill, freeze and start again. */
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { startCassandra } from "../../scripts/services/cassandra-cluster.ts";
import type {
  CassandraCluster,
  CassandraOptions,
} from "../../scripts/services/cassandra-cluster.ts";
import { SERVICES_CACHE } from "../../scripts/services/fetch-artifacts.ts";

export interface OwnCluster extends CassandraCluster {
  /** For logs; goes with the cluster. */
  readonly directory: string;
  /** What a process of Braid needs to be told of it. */
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
      // Nothing of it is kept, so nothing need be written out.
      await Promise.all(cluster.nodes.map((node) => node.kill()));
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** Each "host:port". */
export function pointsOf({ contactPoints, port }: CassandraCluster): string[] {
  return contactPoints.map((address) => `${address}:${port}`);
}
