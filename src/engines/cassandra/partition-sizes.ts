/**
 * What a Cassandra cluster tells about the sizes of partitions: its histogram over JMX, where an agent
 * gives that out over HTTP, and its estimates over CQL, which are always there.
 */
import type { PartitionSizes } from "../../ports/partition-sizes.ts";
import { EstimatedSizes } from "./partition-sizes-estimated.ts";
import { JmxSizes } from "./partition-sizes-jmx.ts";
import type { CassandraSizesOptions } from "./partition-sizes-nodes.ts";

export function cassandraPartitionSizes(options: CassandraSizesOptions): PartitionSizes[] {
  return [new JmxSizes(options), new EstimatedSizes(options)];
}
