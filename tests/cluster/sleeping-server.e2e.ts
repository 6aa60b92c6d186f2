/**
 * A server that is frozen between its check and its write, and a Kafka outage of a minute. Uses its
 * own Cassandra and Kafka.
 * @needs java
 */
import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { startKafka } from "../../scripts/services/kafka-broker.ts";
import type { KafkaBroker } from "../../scripts/services/kafka-broker.ts";
import { BraidError } from "../../client/connect.ts";
import type { NewEvent, WriteSyncResult } from "../../client/connect.ts";
import { readNamespace } from "../../src/records/namespace-records.ts";
import { listSplits } from "../../src/records/split-records.ts";
import { metricOf, until } from "../support/conditions.ts";
import { startOwnCluster } from "./own-cluster.ts";
import type { OwnCluster } from "./own-cluster.ts";
import { layCable } from "./several-servers-cable.ts";
import { Fleet } from "./several-servers-fleet.ts";
import type { Server } from "./several-servers-fleet.ts";

const VIEW_MAX_AGE_MS = 2_000;
const AWAY_MS = 60_000;
/** Partitions found wide during the Kafka outage. */
const AWAY_WIDE = 20;

let cluster: OwnCluster;
let kafka: KafkaBroker;
let fleet: Fleet;
let contactPoint: string;
/** Holds the reconciler's lease, because it starts first. */
let awake: Server;

before(async () => {
  cluster = await startOwnCluster({ nodes: 1 });
  contactPoint = `${cluster.contactPoints[0]}:${cluster.port}`;
  kafka = await startKafka({ directory: cluster.directory });
  fleet = await Fleet.open({
    cassandra: [contactPoint],
    kafka: [kafka.address],
    viewMaxAgeMs: VIEW_MAX_AGE_MS,
    // The driver waits for a third of it: longer than the freeze, so that the driver does not time
    // out.
    env: { BRAID_WRITE_MAX: "180s", BRAID_CLOCK_SKEW: "100ms" },
  });
  awake = await fleet.serve("awake");
  await until(async () => (await fleet.catalog.read("leases", "slice-reconciler")) !== undefined);
});

after(async () => {
  await fleet[Symbol.asyncDispose]();
  await kafka.kill();
  await cluster.stop();
});

test("D28: a server that was frozen until the floor had passed its event does not acknowledge it", async () => {
  await using cable = await layCable(contactPoint);
  const sleeper = await fleet.serve("sleeper", { BRAID_CASSANDRA_CONTACT_POINTS: cable.address });
  // A deadline so long that the server gets the storage's answer when it resumes.
  const slos = { write: { target: "10s", max: "60s" } };
  await awake.client.createNamespace("late", { acceptLimit: "2s", slos });
  await awake.client.createNamespace("early", { acceptLimit: "600s", slos });
  for (const name of ["late", "early"]) {
    equal((await sleeper.client.writeSync(name, [newEvent("warm")])).written, 1);
  }

  // The server has checked and sent the event, and Cassandra has not received it.
  cable.cut();
  const late = newEvent("late-event");
  const early = newEvent("early-event");
  const lateAnswer = sleeper.client.writeSync("late", [late], RETURNED);
  const earlyAnswer = sleeper.client.writeSync("early", [early], RETURNED);
  await until(() => cable.holds("late-event") && cable.holds("early-event"));
  sleeper.pause();
  await until(async () => (await floorOf("late")) > late.eventTime.getTime() * 1_000);
  equal(
    (await awake.client.writeSync("late", [late], RETURNED)).failures[0]?.code,
    "EVENT_TOO_OLD",
  );
  deepEqual(await idsOf("late"), ["warm"]);

  // Cassandra stores it below the floor, and its answer waits for the frozen server.
  cable.mend();
  await until(async () => (await idsOf("late")).length === 2);
  await until(async () => (await idsOf("early")).length === 2);
  sleeper.resume();
  const { written, failures } = await lateAnswer;
  equal(written, 0, "the server acknowledged it below the floor");
  equal(failures[0]?.code, "OUTCOME_UNKNOWN");
  // Above the floor either answer is correct, and a retry settles the outcome; below it a retry
  // cannot.
  const other = await earlyAnswer;
  ok(other.written === 1 || other.failures[0]?.code === "OUTCOME_UNKNOWN");
  await until(
    async () => (await codeOf(sleeper.client.writeSync("early", [early], RETURNED))) === "written",
  );
  equal(await codeOf(sleeper.client.writeSync("late", [late], RETURNED)), "EVENT_TOO_OLD");
  deepEqual(await idsOf("early"), ["early-event", "warm"]);
  await sleeper.stop("SIGKILL");
});

test("DE2, Q9, G5, D29: reads and writes work during a Kafka outage, and detections resume after it", async () => {
  // It waits for signs of other processes first, for about as long as Kafka is away.
  const refused = rejects(
    fleet.serve("other", { BRAID_VIEW_MAX_AGE: "1h" }),
    /other processes run/,
  );
  const [second, worker] = await Promise.all([fleet.serve("second"), fleet.work("worker")]);
  const widePartition = { bytesMax: "65536", targetBytes: "65536", eventsMax: "100" };
  await awake.client.createNamespace("wide", { widePartition });
  const detectIn = async (series: string, server: Server): Promise<void> => {
    const events = Array.from({ length: 101 }, (_, i) => newEvent(`e${i}`, series));
    equal((await server.client.writeSync("wide", events)).written, events.length);
    equal((await idsOf("wide", series, server)).length, events.length);
  };
  const emitted = 'braid_detections_total{namespace="wide",outcome="emitted"}';
  const recorded = 'braid_detections_handled_total{namespace="wide",outcome="recorded"}';
  await detectIn("before", awake);
  await until(async () => (await metricOf(worker.url, recorded)) === 1);

  await kafka.kill();
  const awaySince = performance.now();
  let wide = 0;
  for (let round = 0; performance.now() - awaySince < AWAY_MS || wide < AWAY_WIDE; round++) {
    const server = round % 2 === 0 ? awake : second;
    if (wide < AWAY_WIDE) await detectIn(`away-${wide++}`, server);
    else {
      const series = `narrow-${round}`;
      equal((await server.client.writeSync("wide", [newEvent("e", series)])).written, 1);
      deepEqual(await idsOf("wide", series, server), ["e"]);
      await pause(100);
    }
  }
  equal((await metricOf(awake.url, emitted)) + (await metricOf(second.url, emitted)), wide + 1);
  equal(await metricOf(worker.url, recorded), 1);

  await kafka.start();
  await detectIn("after", second);
  // No process restarted: the counters kept their values.
  await untilLong(async () => (await metricOf(worker.url, recorded)) === wide + 2);
  const away = Array.from({ length: wide }, (_, i) => `away-${i}`);
  deepEqual((await splitIds()).toSorted(), ["before", "after", ...away].toSorted());
  await refused;
});

function newEvent(eventId: string, timeSeriesId = "s"): NewEvent & { readonly eventTime: Date } {
  return { timeSeriesId, eventTime: new Date(), eventId, items: { v: "x" } };
}

/** "written", or the code with which the event or the request was refused. */
const RETURNED = { failures: "return" } as const;

async function codeOf(writing: Promise<WriteSyncResult>): Promise<string> {
  try {
    return (await writing).failures[0]?.code ?? "written";
  } catch (error) {
    if (error instanceof BraidError) return error.code;
    throw error;
  }
}

async function idsOf(name: string, timeSeriesId = "s", server = awake): Promise<string[]> {
  const hour = 3_600_000;
  const interval = { start: new Date(Date.now() - hour), end: new Date(Date.now() + hour) };
  const query = { ...interval, timeSeriesId, pageSize: 1_000 };
  const ids: string[] = [];
  for await (const event of server.client.read(name, query)) ids.push(event.eventId);
  return ids;
}

async function floorOf(name: string): Promise<number> {
  return (await readNamespace(fleet.catalog, name))?.floor ?? 0;
}

async function splitIds(): Promise<string[]> {
  const record = await readNamespace(fleet.catalog, "wide");
  ok(record !== undefined);
  const ids: string[] = [];
  for (const { name: slice } of await awake.client.listTimeSlices("wide")) {
    const splits = listSplits(fleet.catalog, { namespaceId: record.id, slice });
    for await (const split of splits) ids.push(split.partition.seriesId);
  }
  return ids;
}

/** A process waits up to several seconds between two attempts to reach Kafka. */
async function untilLong(claim: () => Promise<boolean>): Promise<void> {
  await until(claim).catch(() => until(claim));
}
