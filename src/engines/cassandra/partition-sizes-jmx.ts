/** Partition sizes from the histogram that each node keeps of its data files: the best source. */
import type { Clock } from "../../lib/clock.ts";
import type { SliceRef } from "../../model/partition.ts";
import { SizeHistogram } from "../../model/size-histogram.ts";
import type { NoSizes, PartitionSizes, SizeReport } from "../../ports/partition-sizes.ts";
import { agentOf, readSizeHistogram } from "./jolokia.ts";
import { keyspaceOf, tableOf } from "./keyspaces.ts";
import { askNodes } from "./partition-sizes-nodes.ts";
import type { CassandraSizesOptions, SizesSession } from "./partition-sizes-nodes.ts";

const TELLS =
  "the sizes of all partitions in the data files (SSTables) of the slice's table, in bytes before " +
  "compression, each rounded up to its bucket: at most 20 % too large";
const DOES_NOT_TELL =
  "what is still in memory, until Cassandra flushes it; a partition that lies in k SSTables counts k " +
  "times, each time with its part, until they are compacted; copies are assumed to be as many as configured";

export class JmxSizes implements PartitionSizes {
  readonly source = "JMX";
  readonly #session: SizesSession;
  readonly #prefix: string;
  readonly #clock: Clock;
  readonly #port: number;

  constructor({ session, prefix, clock, jolokiaPort }: CassandraSizesOptions) {
    this.#session = session;
    this.#prefix = prefix;
    this.#clock = clock;
    this.#port = jolokiaPort;
  }

  async sizesOf(slice: SliceRef, signal: AbortSignal): Promise<SizeReport | NoSizes> {
    const { source } = this;
    if (this.#port === 0) {
      return { kind: "none", source, reason: "not asked for: cassandra.jolokia_port is 0" };
    }
    const asOf = this.#clock.nowMicros();
    const table = {
      keyspace: keyspaceOf(this.#prefix, slice.namespaceId),
      table: tableOf(slice.slice),
    };
    const answers = await askNodes(this.#session, signal, (node, nodeSignal) =>
      readSizeHistogram(this.#clock, agentOf(node, this.#port), table, nodeSignal),
    );
    if (answers.values.length === 0) return { kind: "none", source, reason: answers.reason };
    const all = new SizeHistogram();
    for (const histogram of answers.values) all.merge(histogram);
    const missing = answers.nodes / answers.values.length;
    const histogram = all.scaled(missing / this.#copies(answers.nodes));
    return {
      kind: "sizes",
      source,
      count: histogram.count,
      meanBytes: histogram.meanBytes,
      maxBytes: histogram.maxBytes,
      histogram,
      coverage: answers.coverage,
      tells: TELLS,
      doesNotTell: DOES_NOT_TELL,
      asOf,
    };
  }

  /** Replicas of each partition in this data centre. */
  #copies(nodes: number): number {
    const { replication, datacenter } = this.#session.options;
    return Math.max(1, Math.min(replication[datacenter] ?? 1, nodes));
  }
}
