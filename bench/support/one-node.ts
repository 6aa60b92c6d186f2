/** One Cassandra node for a bench, in a directory of its own. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startCassandra } from "../../scripts/services/cassandra-cluster.ts";
import { note } from "./report.ts";

export interface OneNode {
  /** `host:port` for CQL. */
  readonly contactPoint: string;
  /** The agent that serves JMX over HTTP; empty without one. */
  readonly jolokiaUrl: string;
  /** Stops the node and removes its data. */
  stop(): Promise<void>;
}

/** `name` is part of the directory's name. */
export async function startOneNode(
  name: string,
  { jolokia = false }: { readonly jolokia?: boolean } = {},
): Promise<OneNode> {
  const directory = await mkdtemp(join(tmpdir(), `braid-bench-${name}-`));
  const remove = (): Promise<void> => rm(directory, { recursive: true, force: true });
  try {
    const cluster = await startCassandra({
      nodes: 1,
      directory,
      heapMiB: 2_048,
      // Cassandra's default: it syncs the log every ten seconds.
      commitLogSync: "periodic",
      jolokia,
      onProgress: note,
    });
    return {
      contactPoint: `${cluster.contactPoints[0]}:${cluster.port}`,
      jolokiaUrl: cluster.nodes[0]?.jolokiaUrl ?? "",
      stop: async () => {
        await cluster.stop();
        await remove();
      },
    };
  } catch (error) {
    await remove();
    throw error;
  }
}
