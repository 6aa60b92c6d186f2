/**
 * Three servers and two workers on one Cassandra and one Kafka: every server gives the same answer,
 * and none acts on shared state older than `view_max_age`.
 * @needs cassandra
 * @needs kafka
 */
import { deepEqual, equal, ok } from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { BraidError } from "../../client/connect.ts";
import type { EventPage, NewEvent } from "../../client/connect.ts";
import { readNamespace } from "../../src/records/namespace-records.ts";
import { listSplits } from "../../src/records/split-records.ts";
import type { SplitRecord } from "../../src/model/split.ts";
import type { BraidProcess } from "../support/braid-processes.ts";
import { metricOf, until } from "../support/conditions.ts";
import { testCassandra, testKafka, uniqueName } from "../support/services.ts";
import { layCable } from "./several-servers-cable.ts";
import { Fleet } from "./several-servers-fleet.ts";
import type { Server } from "./several-servers-fleet.ts";

const VIEW_MAX_AGE_MS = 2_000;
/** How often the test asks each server after `view_max_age`: for longer than a refresh takes. */
const LATE_POLLS = 5;
const POLL_MS = 200;

let fleet: Fleet;
/** Holds the reconciler's lease: the others started later. */
let first: Server;
let servers: readonly Server[];
let workers: readonly BraidProcess[];

before(async () => {
  fleet = await Fleet.open({
    cassandra: testCassandra().contactPoints,
    kafka: testKafka(),
    viewMaxAgeMs: VIEW_MAX_AGE_MS,
  });
  first = await fleet.serve("a");
  await until(async () => (await reconcilerLease()).held);
  const [second, third, ...rest] = await Promise.all([
    fleet.serve("b"),
    fleet.serve("c"),
    fleet.work("v"),
    fleet.work("w"),
  ]);
  servers = [first, second, third];
  workers = rest;
});

after(() => fleet[Symbol.asyncDispose]());

test("D20: a changed configuration and a blocked id reach every server within view_max_age, and stay", async () => {
  const [a, b, c] = threeServers();
  const name = uniqueName("changes");
  await a.client.createNamespace(name);
  const minuteAgo = (): NewEvent => newEvent("s", Date.now() - 60_000, uniqueName("e"));
  await reachesAll(async (server) => (await write(server, name, minuteAgo())) === "written");

  const slos = { read: { max: "2s" } };
  await b.client.updateNamespace(name, { acceptLimit: "30s", slos });
  await reachesAll(async (server) => (await write(server, name, minuteAgo())) === "EVENT_TOO_OLD");
  for (const { client } of servers) {
    equal((await client.getNamespace(name)).config.slos.read.max, "2s");
  }

  await c.client.blockIds(name, [{ timeSeriesId: "s" }]);
  await reachesAll(async (server) => {
    const answers = [
      await write(server, name, newEvent("s", Date.now(), "e")),
      await read(server, name),
    ];
    return answers.every((answer) => answer === "ID_BLOCKED");
  });
  equal(await a.client.unblockIds(name, ["s"]), 1);
  await reachesAll(async (server) => {
    const answers = [
      await write(server, name, newEvent("s", Date.now(), "e")),
      await read(server, name),
    ];
    return answers[0] === "written" && answers[1] === "read";
  });
});

test("D21: a page token of one server works on the others, without gap or repeat", async () => {
  const [a] = threeServers();
  const name = uniqueName("tokens");
  await a.client.createNamespace(name, { timePartition: { eventBuckets: 3 } });
  const now = Date.now();
  const ids = Array.from({ length: 50 }, (_, i) => `e${i}`);
  const events = ids.map((id, i) => newEvent("s", now - i, id));
  for (const [i, server] of servers.entries()) {
    const share = events.filter((_, n) => n % servers.length === i);
    equal((await server.client.writeSync(name, share)).written, share.length);
  }
  const seen: string[] = [];
  let pageToken = "";
  for (let page = 0; page === 0 || pageToken !== ""; page++) {
    const { events: found, nextPageToken } = await readPage(serverAt(page), name, pageToken);
    seen.push(...found.map((event) => event.eventId));
    pageToken = nextPageToken;
  }
  deepEqual(seen, ids);
});

test("D22: no server re-opens time before view_max_age has passed, and every server does after it", async () => {
  const [a] = threeServers();
  const name = uniqueName("reopen");
  await a.client.createNamespace(name, {
    timePartition: { secondsPerTimeSlice: 60, secondsPerTimeBucket: 60 },
    acceptLimit: "5s",
    futureLimit: "30s",
    retention: { closeAfter: "3600s", deleteAfter: "7200s" },
  });
  const slicesBefore = (await a.client.listTimeSlices(name)).length;
  const at = Date.now() - 150_000;
  const accepted: string[] = [];
  const tryOne = async (server: Server): Promise<boolean> => {
    const id = uniqueName("e");
    const answer = await write(server, name, newEvent("s", at, id));
    if (answer === "written") accepted.push(id);
    else equal(answer, "EVENT_TOO_OLD");
    return answer === "written";
  };
  for (const server of servers) equal(await tryOne(server), false);

  const askedAt = performance.now();
  let done = false;
  const update = a.client
    .updateNamespace(name, { acceptLimit: "300s" })
    .finally(() => (done = true));
  await Promise.all(
    servers.map(async (server) => {
      while (!done) {
        if (await tryOne(server))
          ok(performance.now() - askedAt >= VIEW_MAX_AGE_MS, "accepted before view_max_age");
      }
    }),
  );
  await update;
  await reachesAll(tryOne);
  ok((await a.client.listTimeSlices(name)).length > slicesBefore);
  for (const server of servers) {
    const found: string[] = [];
    for await (const event of server.client.read(name, { ...aroundNow(), timeSeriesId: "s" })) {
      found.push(event.eventId);
    }
    deepEqual(found.toSorted(), accepted.toSorted());
  }
});

test("D23: a server cut off from Cassandra refuses requests once its view is too old, and never guesses", async () => {
  const [a] = threeServers();
  const name = uniqueName("cut");
  await a.client.createNamespace(name);
  const [contactPoint = ""] = testCassandra().contactPoints;
  await using cable = await layCable(contactPoint);
  const cutOff = await fleet.serve("d", { BRAID_CASSANDRA_CONTACT_POINTS: cable.address });
  try {
    // No event is stored at that time, so a server answers from its view alone.
    const longAgo = { start: new Date(0), end: new Date(1) };
    const look = (server: Server): Promise<string> => read(server, name, longAgo);
    equal(await look(cutOff), "read");
    equal(await write(cutOff, name, newEvent("s", Date.now(), "e")), "written");

    cable.cut();
    const cutAt = performance.now();
    await a.client.blockIds(name, [{ timeSeriesId: "s" }]);
    equal(await look(a), "ID_BLOCKED");
    for (let refused = 0; refused < 1;) {
      const askedAt = performance.now();
      const answer = await look(cutOff);
      if (answer === "read") ok(askedAt - cutAt < VIEW_MAX_AGE_MS, "it guessed");
      else {
        equal(answer, "STORAGE_UNAVAILABLE");
        refused++;
      }
    }
    equal(await write(cutOff, name, newEvent("t", Date.now(), "e")), "STORAGE_UNAVAILABLE");
    equal(await write(a, name, newEvent("t", Date.now(), "e")), "written");

    cable.mend();
    await until(async () => {
      const answer = await look(cutOff);
      ok(answer === "STORAGE_UNAVAILABLE" || answer === "ID_BLOCKED", `it guessed: ${answer}`);
      return answer === "ID_BLOCKED";
    });
    await until(
      async () => (await write(cutOff, name, newEvent("t", Date.now(), "e"))) === "written",
    );
  } finally {
    await cutOff.stop("SIGKILL");
  }
});

test("D24: of servers that create the same namespace at once, exactly one succeeds", async () => {
  for (let round = 0; round < 4; round++) {
    const name = uniqueName("same");
    const answers = await Promise.all(
      servers.map(({ client }) => answerOf(client.createNamespace(name).then(() => "created"))),
    );
    const lost = answers.filter((answer) => answer !== "created");
    equal(lost.length, servers.length - 1, answers.join(", "));
    ok(
      lost.every((answer) => answer === "NAMESPACE_EXISTS" || answer === "CONFLICT"),
      lost.join(),
    );
    for (const [i, server] of servers.entries()) {
      equal(await write(server, name, newEvent("s", Date.now(), `e${i}`)), "written");
    }
    for (const server of servers) equal((await readPage(server, name, "")).events.length, 3);
  }
});

test("D30: all servers read an event that one server wrote into a new slice", async () => {
  const [a, ...others] = threeServers();
  const name = uniqueName("edge");
  // So short that the reconciler, which runs on the first server, creates none ahead of need.
  await a.client.createNamespace(name, {
    timePartition: { secondsPerTimeSlice: 2, secondsPerTimeBucket: 2 },
    acceptLimit: "1s",
    futureLimit: "0s",
    retention: { closeAfter: "60s", deleteAfter: "120s" },
  });
  const slices = new Set<number>();
  await until(async () => {
    const at = Date.now();
    const id = uniqueName("e");
    const answer = await write(a, name, newEvent("s", at, id));
    // Until the slice exists, the server answers with a retryable error.
    if (answer !== "written") ok(answer === "OVERLOADED" || answer === "EVENT_TOO_OLD", answer);
    else {
      for (const server of others) {
        const { events } = await readPage(server, name, "", 1);
        equal(events[0]?.eventId, id, `${server.url} does not know the slice of ${at}`);
      }
      slices.add(Math.floor(at / 2_000));
    }
    return slices.size >= 3;
  });
  await a.client.deleteNamespace(name, { purge: true });
});

test("DE1, D25: a wide partition is recorded once, for any number of reads through any number of servers", async () => {
  const name = await namespaceOfSmallPartitions("wide");
  const at = Date.now() - 1_000;
  const events = Array.from({ length: 80 }, (_, i) => newEvent("s", at, `e${i}`, 1_024));
  equal((await serverAt(0).client.writeSync(name, events)).written, events.length);
  for (let round = 0; round < 3; round++) {
    for (const server of servers) await readPage(server, name, "", 1_000);
  }
  const sum = (outcome: string): Promise<number> =>
    sumOf(servers, `braid_detections_total{namespace="${name}",outcome="${outcome}"}`);
  // Each server reports it once, independently of the others.
  equal(await sum("emitted"), servers.length);
  equal(await sum("repeated"), 2 * servers.length);
  const handled = (outcome: string): Promise<number> =>
    sumOf(workers, `braid_detections_handled_total{namespace="${name}",outcome="${outcome}"}`);
  await until(async () => (await handled("recorded")) + (await handled("known")) === 3);
  equal(await handled("recorded"), 1);

  const [record, ...others] = await splitsOf(name);
  deepEqual(others, []);
  equal(record?.state, "DETECTED");
  equal(record.history.length, 1);
  ok(record.bytes > 65_536, `${record.bytes} bytes`);
});

test("D26: a worker killed while it handles many detections loses none: the other handles them", async () => {
  const name = await namespaceOfSmallPartitions("many");
  const [first = "", ...others] = Array.from({ length: 120 }, (_, i) => `s${i}`);
  const series = [first, ...others];
  const at = Date.now() - 1_000;
  for (const id of series) {
    const events = Array.from({ length: 101 }, (_, i) => newEvent(id, at, `e${i}`));
    equal((await serverAt(0).client.writeSync(name, events)).written, events.length);
  }
  const [victim, survivor] = workers;
  ok(victim !== undefined && survivor !== undefined);
  const recordedBy = (worker: BraidProcess): Promise<number> =>
    metricOf(worker.url, `braid_detections_handled_total{namespace="${name}",outcome="recorded"}`);
  const killed = until(async () => (await recordedBy(victim)) > 0).then(() =>
    victim.stop("SIGKILL"),
  );
  await Promise.all(series.map((id, i) => readPage(serverAt(i), name, "", 1_000, id)));
  await killed;
  equal(
    await sumOf(servers, `braid_detections_total{namespace="${name}",outcome="emitted"}`),
    series.length,
  );
  // The consumer group first waits for the session timeout of the killed worker.
  await untilLong(async () => {
    await pause(POLL_MS);
    return (await splitsOf(name)).length === series.length;
  });
  const records = await splitsOf(name);
  deepEqual(records.map(({ partition }) => partition.seriesId).toSorted(), series.toSorted());
  ok(records.every(({ state, history }) => state === "DETECTED" && history.length === 1));
  ok((await recordedBy(survivor)) > 0);
  await untilLong(async () => (await metricOf(survivor.url, "braid_queue_lag")) === 0);
  await victim.start();
});

test("D27: a killed server loses no acknowledged event, and another server reconciles the slices", async () => {
  const [a, b, c] = threeServers();
  const name = uniqueName("killed");
  await b.client.createNamespace(name, { acceptLimit: "10s" });
  const before = await reconcilerLease();
  const acknowledged = new Map<string, string[]>();
  let writing = true;
  const writeOn = async (server: Server, series: string): Promise<void> => {
    const ids: string[] = [];
    acknowledged.set(series, ids);
    for (let n = 0; writing; n++) {
      const events = Array.from({ length: 10 }, (_, i) =>
        newEvent(series, Date.now(), `${n}-${i}`),
      );
      const result = await server.client.writeSync(name, events, { failures: "return" });
      deepEqual(result.failures, []);
      ids.push(...events.map((event) => event.eventId));
    }
  };
  const countOf = (series: string): number => acknowledged.get(series)?.length ?? 0;
  const ends = writeOn(a, "a").catch((error: unknown) => {
    ok(error instanceof BraidError && error.outcome === "unknown", String(error));
  });
  const others = Promise.all([writeOn(b, "b"), writeOn(c, "c")]);
  await until(() => countOf("a") >= 100);
  await a.stop("SIGKILL");
  await ends;
  const then = countOf("b") + countOf("c");
  await until(() => countOf("b") + countOf("c") >= then + 200);
  writing = false;
  await others;
  for (const server of [b, c]) {
    for (const [series, ids] of acknowledged) {
      const found = new Set<string>();
      const query = { ...aroundNow(), timeSeriesId: series, pageSize: 1_000 };
      for await (const event of server.client.read(name, query)) found.add(event.eventId);
      deepEqual(
        ids.filter((id) => !found.has(id)),
        [],
      );
    }
  }

  // The lease expires on the clock of the contender.
  await untilLong(async () => (await reconcilerLease()).fence > before.fence);
  const floor = await floorOf(name);
  await untilLong(async () => (await floorOf(name)) > floor);
  await a.start();
  equal(await write(a, name, newEvent("a", Date.now(), "again")), "written");
});

/**
 * Polls every server. From `view_max_age` after the change on, no server may answer from the state
 * before it. Callers call this right after the change.
 */
async function reachesAll(isSeen: (server: Server) => Promise<boolean>): Promise<void> {
  const changedAt = performance.now();
  await Promise.all(
    servers.map(async (server, i) => {
      for (let late = 0; late < LATE_POLLS;) {
        const askedAt = performance.now();
        const seen = await isSeen(server);
        if (askedAt >= changedAt + VIEW_MAX_AGE_MS) {
          ok(seen, `server ${i} has not seen it ${askedAt - changedAt} ms after the change`);
          late++;
        }
        await pause(POLL_MS);
      }
    }),
  );
}

function threeServers(): [Server, Server, Server] {
  return [serverAt(0), serverAt(1), serverAt(2)];
}

function serverAt(i: number): Server {
  return servers[i % servers.length] as Server;
}

function newEvent(series: string, atMs: number, id: string, bytes = 1): NewEvent {
  return {
    timeSeriesId: series,
    eventTime: new Date(atMs),
    eventId: id,
    items: { v: "x".repeat(bytes) },
  };
}

/** "written", or the code of the refusal. */
async function write(server: Server, namespace: string, event: NewEvent): Promise<string> {
  const result = server.client.writeSync(namespace, [event], { failures: "return" });
  return answerOf(result.then(({ failures }) => failures[0]?.code ?? "written"));
}

async function read(server: Server, namespace: string, interval = aroundNow()): Promise<string> {
  const query = { ...interval, timeSeriesId: "s" };
  const pages = server.client.read(namespace, query).pages();
  return answerOf(pages.next().then(() => "read"));
}

async function answerOf(answer: Promise<string>): Promise<string> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof BraidError) return error.code;
    throw error;
  }
}

async function readPage(
  server: Server,
  namespace: string,
  pageToken: string,
  pageSize = 7,
  timeSeriesId = "s",
): Promise<EventPage> {
  const query = { ...interval, timeSeriesId, pageSize, pageToken };
  for await (const page of server.client.read(namespace, query).pages()) return page;
  throw new Error("there is at least one page");
}

function aroundNow(): { start: Date; end: Date } {
  const hour = 3_600_000;
  return { start: new Date(Date.now() - hour), end: new Date(Date.now() + hour) };
}

/** The same for all pages of a read: a token belongs to its query. */
const interval = aroundNow();

/**
 * Wide above 64 KiB or 100 events. Splits are paused, so that records stay as they were recorded.
 */
async function namespaceOfSmallPartitions(prefix: string): Promise<string> {
  const name = uniqueName(prefix);
  const widePartition = { bytesMax: "65536", targetBytes: "65536", eventsMax: "100" };
  const { client } = serverAt(0);
  await client.createNamespace(name, { widePartition });
  await client.splits.pause(name, { reason: "a test" });
  return name;
}

async function splitsOf(name: string): Promise<SplitRecord[]> {
  const record = await readNamespace(fleet.catalog, name);
  ok(record !== undefined);
  const found: SplitRecord[] = [];
  for (const { name: slice, events } of await serverAt(0).client.listTimeSlices(name)) {
    if (Number(events) === 0) continue;
    const splits = listSplits(fleet.catalog, { namespaceId: record.id, slice });
    for await (const split of splits) found.push(split);
  }
  return found;
}

async function floorOf(name: string): Promise<number> {
  return (await readNamespace(fleet.catalog, name))?.floor ?? 0;
}

interface StoredLease {
  readonly fence: number;
  readonly held: boolean;
}

async function reconcilerLease(): Promise<StoredLease> {
  const stored = await fleet.catalog.read("leases", "slice-reconciler");
  // The reconciler itself wrote it.
  return stored === undefined
    ? { fence: 0, held: false }
    : (JSON.parse(stored.value) as StoredLease);
}

async function sumOf(processes: readonly BraidProcess[], series: string): Promise<number> {
  const values = await Promise.all(processes.map(({ url }) => metricOf(url, series)));
  return values.reduce((sum, value) => sum + value, 0);
}

/** A lease or session has to expire first. */
async function untilLong(claim: () => Promise<boolean>): Promise<void> {
  await until(claim).catch(() => until(claim));
}
