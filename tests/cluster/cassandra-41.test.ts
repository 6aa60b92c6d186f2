/**
 * The older Cassandra that is still in use, 4.1: the engine passes the suites that every engine passes, and
 * a server takes events, gives them back, and finds them again after both it and Cassandra were started
 * anew. @needs java
 */
import { deepEqual, equal } from "node:assert/strict";
import { after, before, test } from "node:test";
import type { BraidClient } from "../../src/client/connect.ts";
import { connect } from "../../src/client/connect.ts";
import { startBraid } from "../support/braid-processes.ts";
import { uniqueName } from "../support/services.ts";
import { conformanceOn } from "./conformance-on.ts";
import { startOwnCluster } from "./own-cluster.ts";
import type { OwnCluster } from "./own-cluster.ts";

const EVENTS = 250;

let cluster: OwnCluster;

before(async () => {
  cluster = await startOwnCluster({ nodes: 1, version: "4.1.10", heapMiB: 768 });
});

after(() => cluster?.stop());

conformanceOn("cassandra 4.1", () => cluster);

test("on Cassandra 4.1 events are there after a restart of the server, and of Cassandra", async () => {
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
  const { written, failures } = await client.writeSync("plays", sent);
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
