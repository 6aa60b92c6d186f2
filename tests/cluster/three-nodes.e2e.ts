/**
 * A real cluster of three nodes with three replicas. It passes the suites of every engine. While
 * callers read and write through two servers, the test kills, freezes and restarts one node and
 * then all. Acknowledged events survive, failures have documented codes, and the servers need no
 * restart. A partition is split while one node is down, and served while others are. @needs java
 */
import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { randomInt } from "node:crypto";
import { after, before, test } from "node:test";
import type { TestContext } from "node:test";
import type { CassandraNode } from "../../scripts/services/cassandra-cluster.ts";
import { BraidError, connect } from "../../client/connect.ts";
import type { BraidClient } from "../../client/connect.ts";
import { Ledger } from "../e2e/splits-ledger.ts";
import {
  bucketBefore,
  eventsOver,
  readsAreRight,
  shortBuckets,
  untilRoute,
  untilServable,
} from "../e2e/splits-support.ts";
import { startBraid } from "../support/braid-processes.ts";
import type { BraidProcess } from "../support/braid-processes.ts";
import { metricOf, until } from "../support/conditions.ts";
import { uniqueName } from "../support/services.ts";
import { conformanceOn } from "./conformance-on.ts";
import { startOwnCluster } from "./own-cluster.ts";
import type { OwnCluster } from "./own-cluster.ts";
import { callerOf, DOCUMENTED, SteadyLoad } from "./steady-load.ts";

const seed = Number(process.env["BRAID_SEED"] ?? randomInt(2 ** 31));
/** How many writes through each server show that a fault does not stop them. */
const ENOUGH = 25;

const BUCKET_SECONDS = 60;
const bucketStart = bucketBefore(BUCKET_SECONDS, 5);
const bucket = { from: bucketStart, to: bucketStart + BUCKET_SECONDS * 1_000_000 };
const wide = new Ledger();

let cluster: OwnCluster;
let servers: BraidProcess[] = [];
let load: SteadyLoad;

before(async () => {
  cluster = await startOwnCluster({ nodes: 3, heapMiB: 576 });
});

after(async () => {
  await load?.stop();
  await Promise.all(servers.map((server) => server.stop("SIGKILL")));
  await cluster?.stop();
});

conformanceOn("three nodes", () => cluster);

test("two servers on three nodes write and read events", async (t) => {
  t.diagnostic(`seed ${seed} (BRAID_SEED)`);
  const keyspace = uniqueName("f");
  servers = [await serve("first", keyspace, "2s"), await serve("second", keyspace, "2s")];
  const client = firstCaller();
  await client.createNamespace("load");
  // A short one, so that the reconciler always has something to do.
  await client.createNamespace("ticking", {
    timePartition: { secondsPerTimeSlice: 10, secondsPerTimeBucket: 10, eventBuckets: 1 },
    acceptLimit: "1s",
    futureLimit: "1s",
    retention: { closeAfter: "3600s", deleteAfter: "7200s" },
  });
  load = new SteadyLoad({ urls: servers.map(({ url }) => url), namespace: "load", seed });
  await load.continues(ENOUGH);
  await nodesUp(3);
  endPhase(t);
});

test("D1: with one of three nodes killed, writes and reads continue", async (t) => {
  load.begin();
  await node(0).kill();
  await load.continues(ENOUGH);
  await nodesUp(2);
  await load.continues(ENOUGH);
  endPhase(t);
});

test("CP6, D2: a namespace is created while a node is down", async (t) => {
  load.begin();
  await worksInNewNamespace("while_down");
  endPhase(t);
});

test("D3: the reconciler creates slices while a node is down", async (t) => {
  load.begin();
  await reconcilerContinues();
  endPhase(t);
});

test("D31: a wide partition is split and served while a node is down", async (t) => {
  load.begin();
  const [first] = servers;
  const client = connect(first?.url ?? "");
  await client.createNamespace("wide", {
    ...shortBuckets(BUCKET_SECONDS),
    timePartition: { secondsPerTimeSlice: 86_400, secondsPerTimeBucket: BUCKET_SECONDS },
    retention: {},
  });
  const events = eventsOver(wide, "wide", bucket.from, bucket.to, { count: 1_200, bytes: 300 });
  await wide.write(client, "wide", events);
  await client.updateNamespace("wide", { acceptLimit: "1s" });
  await client.splits.setReadMode("wide", "SERVE", { force: true, reason: "a test" });
  await wideIsRight();
  await untilServable(client, "wide", "wide");
  for (const { url } of servers) {
    await wideIsRight();
    await untilRoute(connect(url), "wide", "wide", bucket, "SPLIT");
  }
  await wideIsRight();
  endPhase(t);
});

test("D4: a restarted node is used again, and lacks no event", async (t) => {
  load.begin();
  await node(0).start();
  await nodesUp(3);
  await load.continues(ENOUGH);
  endPhase(t);
});

test("R20, D5: with one of three nodes frozen, writes and reads continue, also after it resumes", async (t) => {
  load.begin();
  node(1).pause();
  // For a while the driver still takes it for up.
  await worksInNewNamespace("while_frozen");
  await load.continues(ENOUGH);
  await nodesUp(2);
  await load.continues(ENOUGH);
  // One of the two live nodes was down during the split.
  await wideIsRight();
  t.diagnostic(`frozen: ${load.summary()}`);
  node(1).resume();
  await nodesUp(3);
  await load.continues(ENOUGH);
  endPhase(t);
});

test("G8, U5, D6: with all nodes down every answer is a documented code, and readiness says why", async (t) => {
  load.begin();
  await Promise.all(cluster.nodes.map((each) => each.kill()));
  await load.isRefused(5);
  for (const { url } of servers) {
    await until(async () => (await fetch(`${url}/readyz`)).status === 503);
    match(await (await fetch(`${url}/readyz`)).text(), /no node of Cassandra can be reached/);
    equal((await fetch(`${url}/healthz`)).status, 200);
    await rejects(callerOf(url).createNamespace("all_down"), (error) => {
      return error instanceof BraidError && error.code === "STORAGE_UNAVAILABLE";
    });
  }
  await rejects(serve("third", uniqueName("f"), "2s"), /Cassandra cannot be reached at /);
  await load.isRefused(5);
  endPhase(t);
});

test("D7: after all nodes restart, everything works again without a restart of Braid", async (t) => {
  load.begin();
  await Promise.all(cluster.nodes.map((each) => each.start()));
  await nodesUp(3);
  await load.continues(ENOUGH);
  for (const { url } of servers) equal((await fetch(`${url}/readyz`)).status, 200);
  await reconcilerContinues();
  await worksInNewNamespace("all_back");
  await wideIsRight();
  endPhase(t);
});

test("D8: every server returns all acknowledged events byte for byte, and none that was never sent", async (t) => {
  await load.stop();
  ok(load.acknowledged > 0 && load.readsCompared > 0);
  for (const server of servers.keys()) await load.compareAll(server);
  t.diagnostic(`${load.acknowledged} events, ${load.readsCompared} reads compared`);
  deepEqual(load.wrong, [], `seed ${seed}`);
  for (const server of servers) equal(await server.stop("SIGTERM"), 0);
});

test("D9: an EVENTUAL namespace works with two of three nodes down until views reach view_max_age", async (t) => {
  const patient = await serve("patient", uniqueName("f"), "10m");
  const hasty = await serve("hasty", uniqueName("f"), "2s");
  servers = [patient, hasty];
  for (const { url } of servers) {
    // Three nodes on a slow machine may take more than a call's 10 s to agree on new tables.
    const maker = connect(url);
    await maker.createNamespace("loose", { consistency: "EVENTUAL" });
    await maker.createNamespace("strict");
    for (const namespace of ["loose", "strict"])
      await writeAndRead(callerOf(url), namespace, "before");
  }
  await Promise.all([node(0).kill(), node(2).kill()]);
  const client = callerOf(patient.url);
  await until(() => works(() => writeAndRead(client, "loose", "while two are down")));
  // Until then the driver may still send a write on a dead connection.
  await until(async () => (await metricOf(patient.url, "braid_engine_nodes_up")) === 1);
  for (let i = 0; i < 10; i++) await writeAndRead(client, "loose", `while two are down ${i}`);
  await refused(() => writeAndRead(client, "strict", "without a majority"));
  // Catalog reads need a majority: without one this server cannot refresh its view.
  await until(async () => !(await works(() => writeAndRead(callerOf(hasty.url), "loose", "late"))));
  await refused(() => writeAndRead(callerOf(hasty.url), "loose", "too late"));
  t.diagnostic(`nodes up as seen: ${await metricOf(patient.url, "braid_engine_nodes_up")}`);
});

function serve(name: string, keyspace: string, viewMaxAge: string): Promise<BraidProcess> {
  return startBraid({
    command: "serve",
    name,
    directory: cluster.directory,
    flags: ["--engine", "cassandra"],
    env: {
      ...cluster.env,
      BRAID_CASSANDRA_KEYSPACE: keyspace,
      BRAID_VIEW_MAX_AGE: viewMaxAge,
      BRAID_PAUSE_MAX: "1s",
    },
  });
}

function node(i: number): CassandraNode {
  const found = cluster.nodes[i];
  if (found === undefined) throw new RangeError(`there is no node ${i}`);
  return found;
}

function firstCaller(): BraidClient {
  const [first] = servers;
  if (first === undefined) throw new RangeError("no server was started");
  return callerOf(first.url);
}

/** Reads the split partition in every way, through both servers. */
function wideIsRight(): Promise<void> {
  const clients = servers.map(({ url }) => connect(url));
  return readsAreRight(clients, "wide", wide, "wide", bucket);
}

/** Waits until every server sees this many nodes up. */
async function nodesUp(count: number): Promise<void> {
  for (const { url } of servers) {
    await until(async () => (await metricOf(url, "braid_engine_nodes_up")) === count);
  }
}

function endPhase(t: TestContext): void {
  t.diagnostic(load.summary());
  deepEqual(load.wrong, [], `seed ${seed}`);
}

/** Creating tables may take longer than a normal call, because Cassandra may wait for a node. */
async function worksInNewNamespace(namespace: string): Promise<void> {
  const [first] = servers;
  await connect(first?.url ?? "", { retries: { attemptsMax: 1 } }).createNamespace(namespace);
  for (const { url } of servers) await writeAndRead(callerOf(url), namespace, url);
}

async function reconcilerContinues(): Promise<void> {
  let known: Set<string> | undefined;
  await until(async () => {
    const slices = await listedSlices("ticking");
    known ??= slices === undefined ? undefined : new Set(slices);
    return slices?.some((name) => known?.has(name) === false) ?? false;
  });
}

/** Undefined where the call was refused: a caller repeats it. */
async function listedSlices(namespace: string): Promise<string[] | undefined> {
  try {
    return (await firstCaller().listTimeSlices(namespace)).map(({ name }) => name);
  } catch (error) {
    if (error instanceof BraidError && DOCUMENTED.includes(error.code)) return undefined;
    throw error;
  }
}

async function writeAndRead(client: BraidClient, namespace: string, text: string): Promise<void> {
  const nowMs = Date.now();
  const event = { timeSeriesId: "a", eventTime: new Date(nowMs), eventId: text, items: { text } };
  const { written, failures } = await client.writeSync(namespace, [event], { failures: "return" });
  if (written !== 1) throw new BraidError(failures[0]?.code ?? "", "it was not written");
  const interval = { start: new Date(nowMs), end: new Date(nowMs + 1) };
  const found: string[] = [];
  for await (const read of client.read(namespace, { timeSeriesId: "a", ...interval })) {
    found.push(read.eventId);
  }
  ok(found.includes(text), `${text} is not among ${found.join(", ")}`);
}

async function works(call: () => Promise<void>): Promise<boolean> {
  try {
    await call();
    return true;
  } catch (error) {
    if (error instanceof BraidError && error.status !== undefined) return false;
    throw error;
  }
}

async function refused(call: () => Promise<void>): Promise<void> {
  await rejects(call, (error) => error instanceof BraidError && DOCUMENTED.includes(error.code));
}
