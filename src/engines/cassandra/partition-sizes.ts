/**
 * The sources of partition sizes on Cassandra: its histogram over JMX, where an agent serves that
 * over HTTP, and its estimates over CQL, which are always available.
 */
import type { PartitionSizes } from "../../ports/partition-sizes.ts";
import { EstimatedSizes } from "./partition-sizes-estimated.ts";
import { JmxSizes } from "./partition-sizes-jmx.ts";
import type { CassandraSizesOptions } from "./partition-sizes-nodes.ts";

export function cassandraPartitionSizes(options: CassandraSizesOptions): PartitionSizes[] {
  return [new JmxSizes(options), new EstimatedSizes(options)];
}
