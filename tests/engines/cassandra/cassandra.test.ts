/**
 * The engine on a real Cassandra passes the suites that every engine passes. @needs cassandra
 */
import { systemClock } from "../../../src/lib/clock.ts";
import { systemRandom } from "../../../src/lib/random.ts";
import { openCassandraEngine } from "../../../src/engines/cassandra/index.ts";
import type { CassandraEngine } from "../../../src/engines/cassandra/index.ts";
import { catalogSuite } from "../../conformance/catalog.ts";
import { eventStoreSuite } from "../../conformance/event-store.ts";
import { testCassandra, uniqueName } from "../../support/services.ts";

function open(keyspace: string): Promise<CassandraEngine> {
  return openCassandraEngine({
    ...testCassandra(),
    replication: { datacenter1: 1 },
    keyspace,
    clock: systemClock,
    random: systemRandom,
    viewMaxAgeMs: 10_000,
    writeMaxMs: 10_000,
  });
}

/** Each test has keyspaces of its own, since they all use the same names. */
async function underTest() {
  const keyspace = uniqueName("t");
  let engine = await open(keyspace);
  return {
    engine: () => engine,
    reopen: async () => {
      await engine.close();
      engine = await open(keyspace);
      return engine;
    },
    dispose: () => engine.close(),
  };
}

eventStoreSuite("cassandra", async () => {
  const under = await underTest();
  return {
    store: under.engine().store,
    reopen: async () => (await under.reopen()).store,
    dispose: under.dispose,
  };
});

catalogSuite("cassandra", async () => {
  const under = await underTest();
  return {
    catalog: under.engine().catalog,
    reopen: async () => (await under.reopen()).catalog,
    dispose: under.dispose,
  };
});
