/** @needs cassandra */
import { test } from "node:test";
import { openCassandraEngine } from "../../src/engines/cassandra/index.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { systemRandom } from "../../src/lib/random.ts";
import { testCassandra, uniqueName } from "../support/services.ts";
import { readsEqualTheModel } from "./reads.ts";

/** Few, because each world has tables of its own. */
const WORLDS = 8;

test("R19, R12: reads of any pages in both orders equal the model (cassandra)", async () => {
  await readsEqualTheModel(async () => {
    const engine = await openCassandraEngine({
      ...testCassandra(),
      replication: { datacenter1: 1 },
      keyspace: uniqueName("p"),
      clock: systemClock,
      random: systemRandom,
      viewMaxAgeMs: 10_000,
      writeMaxMs: 10_000,
    });
    return Object.assign(engine.store, { dispose: () => engine.close() });
  }, WORLDS);
});
