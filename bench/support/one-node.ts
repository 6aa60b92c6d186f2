/** One Cassandra node for a bench, in a directory of its own. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startCassandra } from "../../scripts/services/cassandra-cluster.ts";
import { note } from "./report.ts";

export interface OneNode {
  /** `host:port` for CQL. */
  readonly contactPoint: string;
  /** Stops the node and removes its data. */
  stop(): Promise<void>;
}

/** `name` is part of the directory's name. */
export async function startOneNode(name: string): Promise<OneNode> {
  const directory = await mkdtemp(join(tmpdir(), `braid-bench-${name}-`));
  const remove = (): Promise<void> => rm(directory, { recursive: true, force: true });
  try {
    const cluster = await startCassandra({
      nodes: 1,
      directory,
      heapMiB: 2_048,
      // Cassandra's default: it syncs the log every ten seconds.
      commitLogSync: "periodic",
      jolokia: false,
      onProgress: note,
    });
    return {
      contactPoint: `${cluster.contactPoints[0]}:${cluster.port}`,
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
