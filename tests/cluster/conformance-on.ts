/**
 * Runs the suites of every engine, unchanged, on a cluster of the test file's own.
 *
 * All claims share the keyspace of the catalog, because creating tables takes the most time here,
 * and each uses its own names in it. The suites check what is stored, not how fast: a node may be
 * slow on a small, busy machine, so the default service level is long.
 */
import { openCassandraEngine } from "../../src/engines/cassandra/index.ts";
import type { CassandraEngine } from "../../src/engines/cassandra/index.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { systemRandom } from "../../src/lib/random.ts";
import type { Catalog } from "../../src/ports/catalog.ts";
import type { EventStore, ServiceLevel } from "../../src/ports/event-store.ts";
import { catalogSuite } from "../conformance/catalog.ts";
import { eventStoreSuite } from "../conformance/event-store.ts";
import { uniqueName } from "../support/services.ts";
import { pointsOf } from "./own-cluster.ts";
import type { OwnCluster } from "./own-cluster.ts";

const PATIENT: ServiceLevel = { consistency: "READ_YOUR_WRITES", targetMs: 2_000, maxMs: 5_000 };

/** Every node stores every event. */
export function conformanceOn(engine: string, cluster: () => OwnCluster): void {
  const keyspace = uniqueName("t");
  const open = (): Promise<CassandraEngine> => {
    const { datacenter, nodes } = cluster();
    return openCassandraEngine({
      contactPoints: pointsOf(cluster()),
      datacenter,
      replication: { [datacenter]: nodes.length },
      keyspace,
      clock: systemClock,
      random: systemRandom,
      viewMaxAgeMs: 10_000,
      writeMaxMs: 60_000,
    });
  };
  const underTest = async () => {
    let current = await open();
    const reopen = async (): Promise<CassandraEngine> => {
      await current.close();
      current = await open();
      return current;
    };
    return { opened: current, reopen, dispose: () => current.close(), own: uniqueName("") };
  };

  eventStoreSuite(engine, async () => {
    const { opened, reopen, dispose, own } = await underTest();
    return {
      store: storeOf(opened.store, own),
      reopen: async () => storeOf((await reopen()).store, own),
      dispose,
    };
  });

  catalogSuite(engine, async () => {
    const { opened, reopen, dispose, own } = await underTest();
    return {
      catalog: catalogOf(opened.catalog, own),
      reopen: async () => catalogOf((await reopen()).catalog, own),
      dispose,
    };
  });
}

/** The store with namespaces of its own. */
function storeOf(store: EventStore, own: string): EventStore {
  const owned = <T extends { readonly namespaceId: string }>(location: T): T => ({
    ...location,
    namespaceId: `${location.namespaceId}-${own}`,
  });
  return {
    createSlice: (slice) => store.createSlice(owned(slice)),
    dropSlice: (slice) => store.dropSlice(owned(slice)),
    dropNamespace: (namespaceId) => store.dropNamespace(`${namespaceId}-${own}`),
    append: (slice, events, level = PATIENT) => store.append(owned(slice), events, level),
    scan: (partition, range, signal) =>
      store.scan(owned(partition), { ...range, level: range.level ?? PATIENT }, signal),
    appendBlocks: (partition, blocks, level = PATIENT) =>
      store.appendBlocks(owned(partition), blocks, level),
    scanBlocks: (partition, range, signal) =>
      store.scanBlocks(owned(partition), { ...range, level: range.level ?? PATIENT }, signal),
    walkPartitions: (slice, walk, signal) => store.walkPartitions(owned(slice), walk, signal),
    sliceStats: (slice) => store.sliceStats(owned(slice)),
    isEmpty: (slice) => store.isEmpty(owned(slice)),
    close: () => store.close(),
  };
}

/** The catalog with spaces of its own. */
function catalogOf(catalog: Catalog, own: string): Catalog {
  return {
    shared: catalog.shared,
    read: (space, key) => catalog.read(`${own}/${space}`, key),
    list: (space, after, limit) => catalog.list(`${own}/${space}`, after, limit),
    versions: (space, after, limit) => catalog.versions(`${own}/${space}`, after, limit),
    write: (space, key, value, expected) => catalog.write(`${own}/${space}`, key, value, expected),
    remove: (space, key, expected) => catalog.remove(`${own}/${space}`, key, expected),
  };
}
