/**
 * The services that a test run shares answer at the addresses in the environment.
 *
 * @needs cassandra
 * @needs kafka
 */
import { equal, match, notEqual, ok } from "node:assert/strict";
import { test } from "node:test";
import { Admin } from "@platformatic/kafka";
import { Client } from "cassandra-driver";
import { testCassandra, testJolokia, testKafka, uniqueName } from "../support/services.ts";

test("the shared Cassandra accepts a schema and returns written rows", async () => {
  const { contactPoints, datacenter } = testCassandra();
  const client = new Client({ contactPoints, localDataCenter: datacenter });
  const keyspace = uniqueName("shared");
  try {
    await client.execute(
      `CREATE KEYSPACE ${keyspace} WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}`,
    );
    await client.execute(`CREATE TABLE ${keyspace}.t (k int PRIMARY KEY, v text)`);
    await client.execute(`INSERT INTO ${keyspace}.t (k, v) VALUES (1, 'one')`);
    const { rows } = await client.execute(`SELECT v FROM ${keyspace}.t WHERE k = 1`);
    equal(rows[0]?.["v"], "one");
  } finally {
    await client.execute(`DROP KEYSPACE IF EXISTS ${keyspace}`);
    await client.shutdown();
  }
});

test("the shared Cassandra serves its JMX over HTTP", async () => {
  const name = "org.apache.cassandra.db:type=StorageService/OperationMode";
  const response = await fetch(`${testJolokia()}/read/${name}`);
  equal(response.status, 200);
  match(await response.text(), /"value":"NORMAL"/);
});

test("the shared Kafka creates a topic and lists it", async () => {
  const admin = new Admin({ clientId: "shared-test", bootstrapBrokers: testKafka() });
  const topic = uniqueName("shared");
  try {
    await admin.createTopics({ topics: [topic], partitions: 1, replicas: 1 });
    ok((await admin.listTopics()).includes(topic));
  } finally {
    await admin.close();
  }
});

test("a unique name is short, plain, and never repeated", () => {
  const name = uniqueName("Detections-of_everything");
  match(name, /^detectio[a-z0-9]{8}$/);
  notEqual(uniqueName("a"), uniqueName("a"));
});
