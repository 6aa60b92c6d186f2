/**
 * Splits of every awkward shape on a real Cassandra. @needs cassandra
 */
import { openCassandraEngine } from "../../../src/engines/cassandra/index.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { systemRandom } from "../../../src/lib/random.ts";
import { splitShapesSuite } from "../../conformance/split-shapes.ts";
import { testCassandra, uniqueName } from "../../support/services.ts";

splitShapesSuite("cassandra", () =>
  openCassandraEngine({
    ...testCassandra(),
    replication: { datacenter1: 1 },
    keyspace: uniqueName("t"),
    clock: systemClock,
    random: systemRandom,
    viewMaxAgeMs: 10_000,
    writeMaxMs: 10_000,
  }),
);
