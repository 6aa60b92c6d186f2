/**
 * The engine for more than one machine: events and catalog on a Cassandra cluster that other Braid
 * processes use at the same time.
 *
 * An acknowledged append is stored with its consistency: by a majority of the replicas of the data
 * centre, or, for a namespace that asks for EVENTUAL, by one. How durable that is depends on the
 * cluster's own settings (`docs/operate/cassandra.md`).
 */
import type { Clock } from "../../lib/clock.ts";
import { ServiceError } from "../../lib/errors.ts";
import type { Random } from "../../lib/random.ts";
import type { Engine } from "../../ports/engine.ts";
import { CassandraCatalog } from "./cassandra-catalog.ts";
import { CassandraStore } from "./cassandra-store.ts";
import type { ClusterOptions } from "./cluster-options.ts";
import { dataFilesOf } from "./data-files.ts";
import { droppedSnapshotsOf } from "./dropped-snapshots.ts";
import { CassandraHistogramTable, HISTOGRAM_COLUMNS } from "./histogram-table.ts";
import { keyspaceOf, tableOf } from "./keyspaces.ts";
import { NodeFiguresWatch } from "./node-figures.ts";
import type { FiguresOfNode } from "./node-figures.ts";
import { cassandraPartitionSizes } from "./partition-sizes.ts";
import {
  createCatalogTable,
  createCountsTable,
  createHistogramTable,
  createKeyspace,
} from "./schema.ts";
import type { Replication } from "./schema.ts";
import { Session } from "./session.ts";
import type { ObserveStatement } from "./session.ts";
import { inEventBytes } from "./sizes-in-event-bytes.ts";
import { SliceRegister } from "./slice-register.ts";
import type { Micros, Millis } from "../../lib/time-units.ts";

export interface CassandraEngineOptions extends ClusterOptions {
  /** The keyspace of the catalog, and the prefix of all other keyspaces. */
  readonly keyspace: string;
  readonly clock: Clock;
  readonly random: Random;
  /** The oldest shared state on which this process may act. */
  readonly viewMaxAgeMs: Millis;
  /** The longest a write may be in flight. */
  readonly writeMaxMs: Millis;
  /** The port of each node's agent that serves JMX over HTTP; 0: no agent is asked. */
  readonly jolokiaPort?: number;
  /** Called with every statement; must return at once. */
  readonly observe?: ObserveStatement;
  /** For the log: information for operators that no caller gets. */
  readonly warn?: (message: string) => void;
}

export interface CassandraEngine extends Engine {
  /** What nodes with a Jolokia agent say of themselves; none before `watchNodes` runs. */
  nodeFigures(): readonly FiguresOfNode[];
  /** Asks the nodes for their figures, until the signal aborts. Never rejects. */
  watchNodes(signal: AbortSignal): Promise<void>;
  /** Nodes of this process's data centre, including those that are down. */
  nodes(): number;
  /** Nodes that this process can reach now. */
  nodesUp(): number;
}

/** Connects, and creates the catalog's tables if they are missing. */
export async function openCassandraEngine(
  options: CassandraEngineOptions,
): Promise<CassandraEngine> {
  const { keyspace, clock, random, replication } = options;
  const session = await Session.connect(options, clock, {
    observe: options.observe ?? (() => undefined),
    warn: options.warn ?? (() => undefined),
  });
  try {
    await session.changeSchema(createKeyspace(keyspace, replication));
    requireReplication(keyspace, await session.replicationOf(keyspace), replication);
    await session.changeSchema(createCatalogTable(keyspace));
    await session.changeSchema(createCountsTable(keyspace));
    await session.changeSchema(createHistogramTable(keyspace, HISTOGRAM_COLUMNS));
  } catch (error) {
    await session.close();
    throw error;
  }
  const catalog = new CassandraCatalog({ session, keyspace, clock, random });
  const register = new SliceRegister(catalog, clock, options.viewMaxAgeMs);
  const histogramTable = new CassandraHistogramTable(session, keyspace);
  const store = new CassandraStore({
    session,
    histogramTable,
    register,
    clock,
    prefix: keyspace,
    writeMaxMs: options.writeMaxMs,
  });
  const nodes = { session, prefix: keyspace, clock, jolokiaPort: options.jolokiaPort ?? 0 };
  const figures = new NodeFiguresWatch(nodes);
  return {
    store,
    catalog,
    nodeFigures: () => figures.current(),
    watchNodes: (signal) => figures.run(signal),
    sizes: cassandraPartitionSizes(nodes).map((source) =>
      inEventBytes(source, (slice) => store.sliceStats(slice)),
    ),
    histogramTable,
    severalDatacenters: session.spansDatacenters,
    fragments: async (slice) => {
      const files = await dataFilesOf(nodes, slice);
      if (files === undefined) return undefined;
      const table = `${keyspaceOf(keyspace, slice.namespaceId)} ${tableOf(slice.slice)}`;
      return { files, fileWord: "SSTable", compactCommand: `nodetool compact ${table}` };
    },
    droppedSnapshots: (namespaceId) => droppedSnapshotsOf(nodes, namespaceId),
    notReady: () =>
      session.hostsUp.length > 0 ? undefined : "no node of Cassandra can be reached",
    nodes: () => session.localHosts.length,
    nodesUp: () => session.hostsUp.length,
    clockMicros: () => nodesClock(session),
    close: async () => {
      await store.close();
      await session.close();
    },
  };
}

/** The driver asks another node each time. */
const NODES_ASKED = 3;

async function nodesClock(session: Session): Promise<Micros | undefined> {
  const answers: Micros[] = [];
  for (let node = 0; node < NODES_ASKED; node++) {
    const query = "SELECT toUnixTimestamp(now()) AS ms FROM system.local";
    const { rows } = await session.execute("counts", query, [], { isIdempotent: true });
    const ms = Number(rows[0]?.["ms"]);
    if (Number.isFinite(ms)) answers.push(ms * 1_000);
  }
  return answers.toSorted((a, b) => a - b)[answers.length >> 1];
}

/**
 * An existing keyspace keeps its replication, whatever is configured. Its data centres decide how
 * changes are agreed upon, so every process must know them correctly.
 */
function requireReplication(keyspace: string, found: Replication, wanted: Replication): void {
  const [there, here] = [textOf(found), textOf(wanted)];
  if (there === here) return;
  throw new ServiceError(
    "CONFIG_INVALID",
    `keyspace ${keyspace} has the replication "${there}", and this process is set to "${here}": ` +
      `set cassandra.replication (BRAID_CASSANDRA_REPLICATION) to "${there}" for all of them, or change the keyspaces ` +
      "(ALTER KEYSPACE, then nodetool repair) while none runs",
  );
}

function textOf(replication: Replication): string {
  return Object.entries(replication)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([datacenter, count]) => `${datacenter}:${count}`)
    .join(",");
}
