/** Opens the configured engine. The only file that knows more than one. */
import { openEmbeddedEngine } from "../engines/embedded/index.ts";
import type { FiguresOfNode } from "../engines/cassandra/node-figures.ts";
import type { Metrics } from "../lib/metrics.ts";
import type { Engine } from "../ports/engine.ts";
import { threadPoolSize } from "./config.ts";
import type { ServiceConfig } from "./config.ts";
import type { Lifecycle } from "./lifecycle.ts";
import { declareCassandraMetrics, declareEmbeddedMetrics } from "./process-metrics.ts";
import type { Runtime } from "./runtime.ts";

/** The lifecycle closes the storage. */
export async function openEngine(
  config: ServiceConfig,
  runtime: Runtime,
  metrics: Metrics,
  lifecycle: Lifecycle,
): Promise<Engine> {
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
): Promise<Engine> {
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
      tableVerified: (bytes) => measures.verifiedBytes.add(bytes),
      tableDamaged: () => measures.damagedTables.add(1),
    },
    warn: (message, cause) => log.warn({ err: cause }, message),
  });
  measures.diskFreeBytes.from(() => {
    const { freeBytes } = engine.disk() ?? {};
    return freeBytes === undefined ? [] : [{ value: freeBytes, labels: [] }];
  });
  measures.diskReadOnly.from(() => (engine.readOnly() === undefined ? 0 : 1));
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
): Promise<Engine> {
  // A server on the embedded engine need not load the driver.
  const { openCassandraEngine } = await import("../engines/cassandra/index.ts");
  const { contact_points, datacenter, replication, username, password, keyspace } =
    config.cassandra;
  const measures = declareCassandraMetrics(metrics);
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
    observe: (kind, ms, outcome) => measures.statementSeconds.observe(ms / 1000, kind, outcome),
    warn: (message) => log.warn(message),
  });
  measures.nodes.from(() => engine.nodes());
  measures.nodesUp.from(() => engine.nodesUp());
  const figure = (of: (figures: FiguresOfNode) => number | undefined) =>
    function* (): Generator<{ value: number; labels: [string] }, void, undefined> {
      for (const figures of engine.nodeFigures()) {
        const value = of(figures);
        if (value !== undefined) yield { value, labels: [figures.node] };
      }
    };
  measures.pendingReads.from(figure(({ pendingReads }) => pendingReads));
  measures.readTimeouts.from(figure(({ readTimeouts }) => readTimeouts));
  measures.gcSeconds.from(figure(({ gcSeconds }) => gcSeconds));
  measures.cpuShare.from(figure(({ cpuShare }) => cpuShare));
  lifecycle.started("the engine", () => engine.close());
  lifecycle.run("asking the nodes for their figures", (signal) => engine.watchNodes(signal));
  return engine;
}
