/**
 * The table `partition_histogram`, which shows the histograms of slices to anybody who can query
 * the cluster. A copy for people: Braid itself reads the records of the catalog, and writes here
 * without compare-and-set.
 */
import cassandra from "cassandra-driver";
import { namespaceNameOf } from "../../model/namespace.ts";
import type { Namespace } from "../../model/namespace.ts";
import { exclusionsOf, percentilesOf } from "../../model/slice-histogram.ts";
import type { SliceHistogram } from "../../model/slice-histogram.ts";
import type { Distribution } from "../../model/size-histogram.ts";
import type { HistogramTable } from "../../ports/histogram-table.ts";
import type { SizeReport } from "../../ports/partition-sizes.ts";
import { unavailable } from "./driver-errors.ts";
import type { Session } from "./session.ts";

const { consistencies } = cassandra.types;
const OPTIONS = { consistency: consistencies.localQuorum, readTimeout: 5_000 };
const PERCENTILES = ["min", "p50", "p75", "p95", "p98", "p99", "max"] as const;

export class CassandraHistogramTable implements HistogramTable {
  readonly #session: Pick<Session, "execute">;
  readonly #table: string;

  constructor(session: Pick<Session, "execute">, keyspace: string) {
    this.#session = session;
    this.#table = `${keyspace}.partition_histogram`;
  }

  async publish(
    { name, id }: Pick<Namespace, "name" | "id">,
    histogram: SliceHistogram,
  ): Promise<void> {
    await this.#insert([
      ["namespace", name],
      ["namespace_id", id],
      ["time_slice", histogram.timeSlice],
      ...columnsOf(histogram),
    ]);
  }

  async publishReport(
    { name, id }: Pick<Namespace, "name" | "id">,
    slice: Pick<SliceHistogram, "timeSlice" | "start" | "end" | "timePartition">,
    report: SizeReport,
  ): Promise<void> {
    await this.#insert([
      ["namespace", name],
      ["namespace_id", id],
      ["time_slice", slice.timeSlice],
      ...reportColumns(slice, report),
    ]);
  }

  async remove({ name, id }: Pick<Namespace, "name" | "id">, timeSlice: string): Promise<void> {
    const where = "namespace = ? AND namespace_id = ? AND time_slice = ?";
    await this.#execute(`DELETE FROM ${this.#table} WHERE ${where}`, [name, id, timeSlice]);
  }

  async removeNamespace(namespaceId: string): Promise<void> {
    const where = "namespace = ? AND namespace_id = ?";
    const key = [namespaceNameOf(namespaceId), namespaceId];
    await this.#execute(`DELETE FROM ${this.#table} WHERE ${where}`, key);
  }

  async #insert(columns: readonly (readonly [string, unknown])[]): Promise<void> {
    const names = columns.map(([column]) => column).join(", ");
    const marks = columns.map(() => "?").join(", ");
    const query = `INSERT INTO ${this.#table} (${names}) VALUES (${marks})`;
    await this.#execute(
      query,
      columns.map(([, value]) => value),
    );
  }

  async #execute(query: string, params: unknown[]): Promise<void> {
    try {
      await this.#session.execute("sizes", query, params, OPTIONS);
    } catch (error) {
      throw unavailable("the table partition_histogram cannot be changed now", error);
    }
  }
}

/** The columns beside the key, in the table's order. */
function columnsOf(histogram: SliceHistogram): [string, unknown][] {
  const { start, end, timePartition, partitions, timeBuckets } = histogram;
  return [
    ["slice_start", millis(start)],
    ["slice_end", millis(end)],
    ["seconds_per_time_bucket", timePartition.secondsPerTimeBucket],
    ["event_buckets", timePartition.eventBuckets],
    ["as_of", millis(histogram.asOf)],
    ["source", histogram.source],
    ["sealed", histogram.sealed],
    ["complete", histogram.complete],
    ["excludes", exclusionsOf(histogram).join("; ")],
    ["partitions", partitions.bytes.count],
    ["bytes", partitions.bytes.total],
    ["events", partitions.events.total],
    ...PERCENTILES.map(percentileColumn("bytes", partitions.bytes)),
    ...PERCENTILES.map(percentileColumn("events", partitions.events)),
    ...PERCENTILES.map(percentileColumn("time_bucket_bytes", timeBuckets.bytes)),
    ["bytes_buckets", bucketsOf(partitions.bytes)],
    ["events_buckets", bucketsOf(partitions.events)],
  ];
}

/** Those that the source knows; the others stay empty until the walk. */
function reportColumns(
  { start, end, timePartition }: Pick<SliceHistogram, "start" | "end" | "timePartition">,
  { source, asOf, count, meanBytes, maxBytes, histogram, coverage, doesNotTell }: SizeReport,
): [string, unknown][] {
  const sizes = histogram?.distribution();
  return [
    ["slice_start", millis(start)],
    ["slice_end", millis(end)],
    ["seconds_per_time_bucket", timePartition.secondsPerTimeBucket],
    ["event_buckets", timePartition.eventBuckets],
    ["as_of", millis(asOf)],
    ["source", source],
    ["sealed", true],
    ["complete", false],
    ["excludes", `${doesNotTell}; events per partition; seen: ${coverage}`],
    ["partitions", count],
    ["bytes", sizes?.total ?? count * meanBytes],
    ...(sizes === undefined
      ? [["bytes_max", maxBytes] as [string, unknown]]
      : [...PERCENTILES.map(percentileColumn("bytes", sizes)), bytesBuckets(sizes)]),
  ];
}

function bytesBuckets(sizes: Distribution): [string, unknown] {
  return ["bytes_buckets", bucketsOf(sizes)];
}

function percentileColumn(unit: string, distribution: Distribution) {
  const percentiles = percentilesOf(distribution);
  return (name: (typeof PERCENTILES)[number]): [string, number] => [
    `${unit}_${name}`,
    percentiles[name],
  ];
}

/** Upper bound to number. The driver takes an object's names as keys of any type. */
function bucketsOf({ buckets }: Distribution): Readonly<Record<string, number>> {
  return Object.fromEntries(buckets);
}

function millis(micros: number): number {
  return Math.floor(micros / 1_000);
}

/** As CQL, for `createHistogramTable`. */
export const HISTOGRAM_COLUMNS: string = [
  "namespace text, namespace_id text, time_slice text",
  "slice_start timestamp, slice_end timestamp, seconds_per_time_bucket int, event_buckets int",
  "as_of timestamp, source text, sealed boolean, complete boolean, excludes text",
  "partitions bigint, bytes bigint, events bigint",
  ...["bytes", "events", "time_bucket_bytes"].map((unit) =>
    PERCENTILES.map((name) => `${unit}_${name} bigint`).join(", "),
  ),
  "bytes_buckets frozen<map<bigint, bigint>>, events_buckets frozen<map<bigint, bigint>>",
  "PRIMARY KEY (namespace, namespace_id, time_slice)",
].join(", ");
