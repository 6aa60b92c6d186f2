/**
 * Real services as tests use them: they answer, restart after a crash, and never outlive the
 * process that started them.
 *
 * @needs java
 */
import { equal, match, ok, rejects } from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { Admin } from "@platformatic/kafka";
import { Client } from "cassandra-driver";
import { answersCql } from "../../scripts/services/answers-cql.ts";
import { startCassandra } from "../../scripts/services/cassandra-cluster.ts";
import type { CassandraCluster, CassandraNode } from "../../scripts/services/cassandra-cluster.ts";
import { startKafka } from "../../scripts/services/kafka-broker.ts";
import type { KafkaBroker } from "../../scripts/services/kafka-broker.ts";
import { nodetool } from "../../scripts/services/nodetool.ts";
import { isRunning, readProcessFile } from "../../scripts/services/process-file.ts";
import { until } from "../support/conditions.ts";

let directory: string;
let cluster: CassandraCluster;
let node: CassandraNode;
let broker: KafkaBroker;

before(async () => {
  directory = await mkdtemp(join(tmpdir(), "braid-services-"));
  [cluster, broker] = await Promise.all([
    startCassandra({ nodes: 1, directory, heapMiB: 512, fastStart: true }),
    startKafka({ directory }),
  ]);
  const [first] = cluster.nodes;
  ok(first !== undefined);
  node = first;
});

after(async () => {
  await Promise.all([cluster.stop(), broker.stop()]);
  await rm(directory, { recursive: true, force: true });
});

test("a killed node restarts with all acknowledged data", async () => {
  await query(
    "CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
  );
  await query("CREATE TABLE k.t (id int PRIMARY KEY)");
  await query("INSERT INTO k.t (id) VALUES (1)");
  await nodetool(node, "flush", "k");
  await query("INSERT INTO k.t (id) VALUES (2)");
  const pid = node.pid;
  await node.kill();
  equal(await answersCql(node.address, cluster.port, 1), false);
  await node.start();
  ok(node.pid !== pid);
  equal((await query("SELECT id FROM k.t")).length, 2);
});

test("a paused node does not answer until it resumes", async () => {
  node.pause();
  equal(await answersCql(node.address, cluster.port, 1), false);
  node.resume();
  await until(() => answersCql(node.address, cluster.port, 1));
});

test("nodetool runs against the node, and reports a failure", async () => {
  match(await nodetool(node, "status"), new RegExp(`UN +${node.address}`));
  const wrong = await nodetool(node, "flush", "nokeyspace").catch(String);
  match(wrong, /nodetool flush nokeyspace on cassandra-1 failed/);
});

test("a killed broker restarts with its topics", async () => {
  await withAdmin((admin) => admin.createTopics({ topics: ["t"], partitions: 1, replicas: 1 }));
  await broker.kill();
  await broker.start();
  ok((await withAdmin((admin) => admin.listTopics())).includes("t"));
});

test("an address in use is named in the error", async () => {
  const network = node.address.split(".").slice(0, 3).join(".");
  await rejects(startCassandra({ nodes: 1, directory, network }), (error: Error) =>
    error.message.includes(`${node.address}:${cluster.port}`),
  );
});

test("services end with the process that started them, even if it is killed", async () => {
  const folder = join(directory, "orphans");
  const script = fileURLToPath(new URL("start-services.ts", import.meta.url));
  const parent = spawn(process.execPath, [script, folder], { stdio: "ignore" });
  const ended = once(parent, "exit");
  const files = ["cassandra-1", "kafka"].map((name) => join(folder, name, "process.json"));
  await until(() => files.every((file) => existsSync(file)));
  const started = files.map(readProcessFile);
  ok(started.every(isRunning), "they run");
  parent.kill("SIGKILL");
  await ended;
  await until(() => !started.some(isRunning));
});

async function query(cql: string): Promise<unknown[]> {
  const client = new Client({
    contactPoints: cluster.contactPoints,
    localDataCenter: cluster.datacenter,
  });
  try {
    return (await client.execute(cql)).rows;
  } finally {
    await client.shutdown();
  }
}

async function withAdmin<T>(ask: (admin: Admin) => Promise<T>): Promise<T> {
  const admin = new Admin({ clientId: "services-test", bootstrapBrokers: [broker.address] });
  try {
    return await ask(admin);
  } finally {
    await admin.close();
  }
}
