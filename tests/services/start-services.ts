/** A process that starts a node and a broker in the given folder and then waits. */
import { setInterval } from "node:timers";
import { startCassandra } from "../../scripts/services/cassandra-cluster.ts";
import { startKafka } from "../../scripts/services/kafka-broker.ts";

const directory = process.argv[2] ?? "";
await Promise.all([
  startCassandra({ nodes: 1, directory, heapMiB: 512, fastStart: true }),
  startKafka({ directory }),
]);
setInterval(() => undefined, 60_000);
