/**
 * Partition sizes from the tables of statistics that each node keeps: no percentiles, but always
 * available.
 */
import cassandra from "cassandra-driver";
import type { Clock } from "../../lib/clock.ts";
import type { SliceRef } from "../../model/partition.ts";
import type { NoSizes, PartitionSizes, SizeReport } from "../../ports/partition-sizes.ts";
import { readFailure } from "./driver-errors.ts";
import { keyspaceOf, tableOf } from "./keyspaces.ts";
import { askNodes } from "./partition-sizes-nodes.ts";
import type { CassandraSizesOptions, NodeAnswer, SizesSession } from "./partition-sizes-nodes.ts";
import type { Host } from "./session.ts";

const TELLS =
  "the mean size and about how many partitions there are, and the largest that one data file (SSTable) " +
  "holds, rounded up to a MiB, in bytes before compression";
const DOES_NOT_TELL =
  "percentiles; what is still in memory, until Cassandra flushes it; what changed in the last minutes (it " +
  "estimates every five); counts go in steps of 128 for each SSTable, and a partition counts in each it lies in";

const MIB = 1_048_576;

/**
 * For the ranges that a node owns first within its data centre: each partition is counted by one
 * node, however many replicas there are.
 */
const ESTIMATES = `SELECT mean_partition_size, partitions_count FROM system.table_estimates
  WHERE keyspace_name = ? AND table_name = ? AND range_type = 'local_primary'`;
const LARGEST = `SELECT mebibytes FROM system_views.max_partition_size
  WHERE keyspace_name = ? AND table_name = ?`;

interface NodeEstimate {
  readonly count: number;
  readonly bytes: number;
  readonly maxBytes: number;
}

export class EstimatedSizes implements PartitionSizes {
  readonly source = "TABLE_ESTIMATES";
  readonly #session: SizesSession;
  readonly #prefix: string;
  readonly #clock: Clock;

  constructor({ session, prefix, clock }: Omit<CassandraSizesOptions, "jolokiaPort">) {
    this.#session = session;
    this.#prefix = prefix;
    this.#clock = clock;
  }

  async sizesOf(slice: SliceRef, signal: AbortSignal): Promise<SizeReport | NoSizes> {
    const { source } = this;
    const asOf = this.#clock.nowMicros();
    const table = [keyspaceOf(this.#prefix, slice.namespaceId), tableOf(slice.slice)];
    const answers = await askNodes(this.#session, signal, (node, nodeSignal) =>
      this.#askNode(node, table, nodeSignal),
    );
    if (answers.values.length === 0) return { kind: "none", source, reason: answers.reason };
    const sum = (of: (node: NodeEstimate) => number): number =>
      answers.values.reduce((all, node) => all + of(node), 0);
    const count = sum((node) => node.count);
    return {
      kind: "sizes",
      source,
      count: Math.round((count * answers.nodes) / answers.values.length),
      meanBytes: count === 0 ? 0 : Math.round(sum((node) => node.bytes) / count),
      maxBytes: Math.max(...answers.values.map((node) => node.maxBytes)),
      histogram: undefined,
      coverage: answers.coverage,
      tells: TELLS,
      doesNotTell: DOES_NOT_TELL,
      asOf,
    };
  }

  async #askNode(
    node: Host,
    table: readonly string[],
    signal: AbortSignal,
  ): Promise<NodeAnswer<NodeEstimate>> {
    signal.throwIfAborted();
    try {
      const [estimates, largest] = await Promise.all(
        [ESTIMATES, LARGEST].map((query) =>
          this.#session.execute("sizes", query, [...table], optionsFor(node)),
        ),
      );
      signal.throwIfAborted();
      let count = 0;
      let bytes = 0;
      for (const row of estimates?.rows ?? []) {
        const partitions = Number(row["partitions_count"]);
        count += partitions;
        bytes += partitions * Number(row["mean_partition_size"]);
      }
      const maxBytes = Number(largest?.rows[0]?.["mebibytes"] ?? 0) * MIB;
      return { value: { count, bytes, maxBytes } };
    } catch (error) {
      signal.throwIfAborted();
      return { reason: readFailure(error, `the statistics of ${node.address}`).message };
    }
  }
}

/** These tables are local to each node: another node would answer with its own. */
function optionsFor(host: Host) {
  return { host, consistency: cassandra.types.consistencies.one, readTimeout: 2_000 };
}
