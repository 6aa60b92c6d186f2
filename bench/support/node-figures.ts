/**
 * Reads the figures of one Cassandra node, and gives it commands, through the agent that serves JMX
 * over HTTP.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { CassandraNode } from "../../scripts/services/cassandra-cluster.ts";
import { processorSeconds } from "./process-figures.ts";

const STORAGE = "org.apache.cassandra.db:type=StorageService";
const PENDING_READS =
  "org.apache.cassandra.metrics:type=ThreadPools,path=request,scope=ReadStage,name=PendingTasks";
const SAMPLE_MS = 100;
/** Of one processor, in consecutive checks: an idle node takes less. */
const QUIET_SHARE = 0.1;
const QUIET_LOOKS = 3;
const QUIET_LOOKS_MAX = 300;

/** What the node spent between two moments. */
export interface NodeSpent {
  readonly cpuSeconds: number;
  readonly seconds: number;
  /** Milliseconds in which collections stopped or slowed the node. */
  readonly gcMs: number;
  readonly readTimeouts: number;
  /** The most that waited at once. */
  readonly pendingReadsMax: number;
}

export class NodeFigures {
  readonly #node: CassandraNode;

  constructor(node: CassandraNode) {
    if (node.jolokiaUrl === undefined) throw new Error("the node has no Jolokia agent");
    this.#node = node;
  }

  async flush(keyspace: string, ...tables: readonly string[]): Promise<void> {
    await this.#exec("forceKeyspaceFlush(java.lang.String,[Ljava.lang.String;)", keyspace, tables);
  }

  /** A major compaction; resolves when it is over. */
  async compact(keyspace: string, ...tables: readonly string[]): Promise<void> {
    const operation = "forceKeyspaceCompaction(boolean,java.lang.String,[Ljava.lang.String;)";
    await this.#exec(operation, false, keyspace, tables);
  }

  async leaveUncompacted(keyspace: string, ...tables: readonly string[]): Promise<void> {
    const operation = "disableAutoCompaction(java.lang.String,[Ljava.lang.String;)";
    await this.#exec(operation, keyspace, tables);
  }

  sstables(keyspace: string, table: string): Promise<number> {
    return this.#metric(tableBean(keyspace, table, "LiveSSTableCount"), "Value");
  }

  diskBytes(keyspace: string, table: string): Promise<number> {
    return this.#metric(tableBean(keyspace, table, "LiveDiskSpaceUsed"), "Count");
  }

  /** Of the table, by this node, since it started. */
  reads(keyspace: string, table: string): Promise<number> {
    return this.#metric(tableBean(keyspace, table, "ReadLatency"), "Count");
  }

  /**
   * Resolves when the node has finished its background work: flushing, compacting, garbage
   * collection.
   */
  async untilQuiet(): Promise<void> {
    let quiet = 0;
    for (let looks = 0; quiet < QUIET_LOOKS && looks < QUIET_LOOKS_MAX; looks++) {
      const before = await processorSeconds(this.#node.pid);
      await pause(1_000);
      const spent = (await processorSeconds(this.#node.pid)) - before;
      quiet = spent < QUIET_SHARE ? quiet + 1 : 0;
    }
  }

  /** What the node spends while `work` runs. */
  async during(work: () => Promise<void>): Promise<NodeSpent> {
    const started = performance.now();
    const before = await this.#counters();
    let pendingReadsMax = 0;
    let over = false;
    const sampling = (async () => {
      while (!over) {
        const pending = await this.#metric(PENDING_READS, "Value").catch(() => 0);
        pendingReadsMax = Math.max(pendingReadsMax, pending);
        await pause(SAMPLE_MS);
      }
    })();
    try {
      await work();
    } finally {
      over = true;
      await sampling;
    }
    const after = await this.#counters();
    return {
      cpuSeconds: after.cpu - before.cpu,
      seconds: (performance.now() - started) / 1000,
      gcMs: after.gc - before.gc,
      readTimeouts: after.timeouts - before.timeouts,
      pendingReadsMax,
    };
  }

  async #counters(): Promise<{ cpu: number; gc: number; timeouts: number }> {
    const collectors = (await this.#ask({
      type: "read",
      mbean: "java.lang:type=GarbageCollector,name=*",
      attribute: ["CollectionTime"],
    })) as Record<string, { CollectionTime: number }>;
    const gc = Object.values(collectors).reduce((sum, each) => sum + each.CollectionTime, 0);
    const timeouts = await this.#metric(
      "org.apache.cassandra.metrics:type=ClientRequest,scope=Read,name=Timeouts",
      "Count",
    );
    return { cpu: await processorSeconds(this.#node.pid), gc, timeouts };
  }

  async #metric(mbean: string, attribute: string): Promise<number> {
    return Number(await this.#ask({ type: "read", mbean, attribute }));
  }

  async #exec(operation: string, ...args: readonly unknown[]): Promise<void> {
    await this.#ask({ type: "exec", mbean: STORAGE, operation, arguments: args });
  }

  async #ask(request: Record<string, unknown>): Promise<unknown> {
    const response = await fetch(`${this.#node.jolokiaUrl}/`, {
      method: "POST",
      body: JSON.stringify(request),
    });
    const answer = (await response.json()) as { status: number; value: unknown; error?: string };
    if (answer.status !== 200) {
      throw new Error(`${this.#node.name}: ${answer.error ?? `status ${answer.status}`}`);
    }
    return answer.value;
  }
}

function tableBean(keyspace: string, table: string, name: string): string {
  return `org.apache.cassandra.metrics:type=Table,keyspace=${keyspace},scope=${table},name=${name}`;
}
