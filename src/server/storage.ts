/** Opens the configured engine. The only file that knows more than one. */
import { openEmbeddedEngine } from "../engines/embedded/index.ts";
import type { Metrics } from "../lib/metrics.ts";
import type { Micros } from "../lib/time-units.ts";
import type { SliceRef } from "../model/partition.ts";
import type { Catalog } from "../ports/catalog.ts";
import type { EventStore } from "../ports/event-store.ts";
import type { Fragments } from "../ports/fragments.ts";
import type { PartitionSizes } from "../ports/partition-sizes.ts";
import { threadPoolSize } from "./config.ts";
import type { ServiceConfig } from "./config.ts";
import type { Lifecycle } from "./lifecycle.ts";
import { declareCassandraMetrics, declareEmbeddedMetrics } from "./process-metrics.ts";
import type { Runtime } from "./runtime.ts";

export interface Storage {
  readonly store: EventStore;
  readonly catalog: Catalog;
  /** What the engine itself knows about the sizes of its partitions. */
  readonly sizes: readonly PartitionSizes[];
  /** Whether events are kept in more than one data centre. */
  readonly severalDatacenters: boolean;
  /** How fragmented a slice is on disk, where that matters and is known. Never rejects. */
  fragments(slice: SliceRef): Promise<Fragments | undefined>;
  /** Why the engine cannot serve now; undefined if it can. */
  notReady(): string | undefined;
  /** Why reads are answered and events are refused now, or undefined. */
  readOnly?(): string | undefined;
  /** What time it is by other machines' clocks, where the engine has some. */
  clockMicros(): Promise<Micros | undefined>;
}

/** The lifecycle closes the storage. */
export async function openStorage(
  config: ServiceConfig,
  runtime: Runtime,
  metrics: Metrics,
  lifecycle: Lifecycle,
): Promise<Storage> {
  switch (config.engine) {
    case "embedded":
      return openEmbedded(config, runtime, metrics, lifecycle);
    case "cassandra":
      return openCassandra(config, runtime, metrics, lifecycle);
  }
}

async function openEmbedded(
  config: ServiceConfig,
  { clock, log }: Runtime,
  metrics: Metrics,
  lifecycle: Lifecycle,
): Promise<Storage> {
  const measures = declareEmbeddedMetrics(metrics);
  let openStores = 0;
  measures.openSlices.from(() => openStores);
  const engine = await openEmbeddedEngine({
    directory: config.data,
    clock,
    openStoresMax: config.server.open_slices,
    threads: threadPoolSize(),
    freeBytesMin: config.server.free_space_min,
    observer: {
      committed: (commit) => {
        measures.commitSeconds.observe(commit.ms / 1000);
        measures.appends.add(commit.appends);
        measures.committedBytes.add(commit.bytes);
      },
      openStoresChanged: (count) => {
        openStores = count;
      },
    },
    warn: (message, cause) => log.warn({ err: cause }, message),
  });
  lifecycle.started("the engine", () => engine.close());
  return {
    ...engine,
    sizes: [],
    severalDatacenters: false,
    fragments: async () => undefined,
    notReady: () => undefined,
    clockMicros: async () => undefined,
  };
}

async function openCassandra(
  config: ServiceConfig,
  { clock, random, log }: Runtime,
  metrics: Metrics,
  lifecycle: Lifecycle,
): Promise<Storage> {
  // A server on the embedded engine need not load the driver.
  const { openCassandraEngine } = await import("../engines/cassandra/index.ts");
  const { contact_points, datacenter, replication, username, password, keyspace } =
    config.cassandra;
  const { statementSeconds, nodesUp } = declareCassandraMetrics(metrics);
  const engine = await openCassandraEngine({
    contactPoints: contact_points,
    datacenter,
    replication: typeof replication === "number" ? { [datacenter]: replication } : replication,
    username: username === "" ? undefined : username,
    password,
    keyspace,
    clock,
    random,
    viewMaxAgeMs: config.view_max_age,
    writeMaxMs: config.write_max,
    jolokiaPort: config.cassandra.jolokia_port,
    observe: (kind, ms, outcome) => statementSeconds.observe(ms / 1000, kind, outcome),
    warn: (message) => log.warn(message),
  });
  nodesUp.from(() => engine.nodesUp());
  lifecycle.started("the engine", () => engine.close());
  return engine;
}
