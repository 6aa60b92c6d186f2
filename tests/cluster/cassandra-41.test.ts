/**
 * Cassandra 4.1, the older supported version: the engine passes the suites of every engine. A
 * server writes and reads events, also after it and Cassandra restart. With Kafka and a worker, a
 * wide partition is split in either layout and served from its parts. @needs java
 */
import { deepEqual, equal } from "node:assert/strict";
import { after, before, test } from "node:test";
import { startKafka } from "../../scripts/services/kafka-broker.ts";
import type { KafkaBroker } from "../../scripts/services/kafka-broker.ts";
import type { BraidClient } from "../../client/connect.ts";
import { connect } from "../../client/connect.ts";
import { Ledger } from "../e2e/splits-ledger.ts";
import {
  bucketBefore,
  eventsOver,
  readsAreRight,
  shortBuckets,
  SOON,
  untilRoute,
  untilServable,
} from "../e2e/splits-support.ts";
import { startBraid } from "../support/braid-processes.ts";
import { uniqueName } from "../support/services.ts";
import { braid } from "../support/started-server.ts";
import { conformanceOn } from "./conformance-on.ts";
import { startOwnCluster } from "./own-cluster.ts";
import type { OwnCluster } from "./own-cluster.ts";

const EVENTS = 250;

let cluster: OwnCluster;
let kafka: KafkaBroker;

before(async () => {
  cluster = await startOwnCluster({ nodes: 1, version: "4.1.10", heapMiB: 768 });
  kafka = await startKafka({ directory: cluster.directory });
});

after(async () => {
  // Its files are in the cluster's folder, which is removed.
  await kafka?.kill();
  await cluster?.stop();
});

conformanceOn("cassandra 4.1", () => cluster);

test("on Cassandra 4.1 events survive a restart of the server and of Cassandra", async () => {
  await using server = await startBraid({
    command: "serve",
    name: "serve",
    directory: cluster.directory,
    flags: ["--engine", "cassandra"],
    env: { ...cluster.env, BRAID_CASSANDRA_KEYSPACE: uniqueName("f") },
  });
  const client = connect(server.url);
  await client.createNamespace("plays");
  const startMs = Date.now() - EVENTS;
  const sent = Array.from({ length: EVENTS }, (_, i) => ({
    timeSeriesId: "a",
    eventTime: new Date(startMs + i),
    eventId: `e-${i}`,
    items: { payload: Buffer.alloc(i, i) },
  }));
  const { written, failures } = await client.writeSync("plays", sent, { failures: "return" });
  equal(written, EVENTS, JSON.stringify(failures[0]));
  const expected = sent.map(({ eventTime, eventId, items }) => ({
    timeMs: eventTime.getTime(),
    eventId,
    payload: items.payload.toString("hex"),
  }));
  deepEqual(await allOf(client, startMs), expected);

  equal(await server.stop("SIGTERM"), 0);
  await server.start();
  deepEqual(await allOf(client, startMs), expected);

  await server.stop("SIGKILL");
  for (const node of cluster.nodes) {
    await node.kill();
    await node.start();
  }
  await server.start();
  deepEqual(await allOf(client, startMs), expected);
});

test("on Cassandra 4.1 a wide partition is detected, split, served and verified, in both layouts", async () => {
  const process = {
    directory: cluster.directory,
    flags: ["--engine", "cassandra", "--queue", "kafka"],
    env: {
      ...cluster.env,
      ...SOON,
      BRAID_CASSANDRA_KEYSPACE: uniqueName("f"),
      BRAID_KAFKA_BROKERS: kafka.address,
      BRAID_VIEW_MAX_AGE: "2s",
      BRAID_WRITE_MAX: "8s",
      BRAID_PAUSE_MAX: "1s",
    },
  };
  await using server = await startBraid({ ...process, command: "serve", name: "splits" });
  await using _worker = await startBraid({ ...process, command: "worker", name: "splitting" });
  const client = connect(server.url);
  const seconds = 60;
  const from = bucketBefore(seconds, 5);
  const bucket = { from, to: from + seconds * 1_000_000 };
  const wide = { count: 1_200, bytes: 300 };
  await Promise.all(
    (["PACKED", "ROWS"] as const).map(async (layout) => {
      const name = `wide_${layout.toLowerCase()}`;
      // One slice, because creating tables is slow.
      await client.createNamespace(name, {
        ...shortBuckets(seconds, { widePartition: { layout } }),
        timePartition: { secondsPerTimeSlice: 86_400, secondsPerTimeBucket: seconds },
        retention: {},
      });
      const ledger = new Ledger();
      await ledger.write(client, name, eventsOver(ledger, "wide", from, bucket.to, wide));
      await client.updateNamespace(name, { acceptLimit: "1s" });
      await client.splits.setReadMode(name, "SERVE", { force: true, reason: "a test" });
      await readsAreRight([client], name, ledger, "wide", bucket);

      const { segments } = await untilServable(client, name, "wide");
      equal(segments[0]?.postSplitData.layout, layout);
      equal(segments[0].postSplitData.events, String(wide.count));
      await readsAreRight([client], name, ledger, "wide", bucket);
      await untilRoute(client, name, "wide", bucket, "SPLIT");
      await readsAreRight([client], name, ledger, "wide", bucket);
      const { code, out, err } = await braid(["verify", name, "--json"], server.url);
      equal(code, 0, err + out);
      equal(JSON.parse(out).eventsCompared, String(wide.count));
    }),
  );
});

async function allOf(client: BraidClient, startMs: number): Promise<object[]> {
  const interval = { start: new Date(startMs), end: new Date(startMs + EVENTS) };
  const query = { timeSeriesId: "a", ...interval, order: "OLDEST_FIRST", pageSize: 99 } as const;
  const found: object[] = [];
  for await (const event of client.read("plays", query)) {
    found.push({
      timeMs: event.timeMicros / 1000,
      eventId: event.eventId,
      payload: Buffer.from(event.get("payload") ?? []).toString("hex"),
    });
  }
  return found;
}
