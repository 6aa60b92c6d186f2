/** The real process under external faults: slow readers, hot ids, a corrupt disk, a stall. */
import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { open, readdir, readFile } from "node:fs/promises";
import { connect as connectTcp } from "node:net";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { status } from "@grpc/grpc-js";
import { BraidError, connect } from "../../client/connect.ts";
import type { BraidClient, NewEvent } from "../../client/connect.ts";
import { formatTime } from "../../src/wire/time-text.ts";
import { metricOf, until } from "../support/conditions.ts";
import { collect } from "../support/fake-braid.ts";
import { cancel, openRawCall } from "../support/raw-grpc.ts";
import type { RawCall } from "../support/raw-grpc.ts";
import { ReflectedClient } from "../support/reflected-client.ts";
import { startServer } from "../support/started-server.ts";
import type { StartedServer } from "../support/started-server.ts";

const DATA = "braid.v1.TimeSeriesService";
const MIB = 1024 * 1024;
const SECOND = 1_000_000;

const NOW = Date.now() * 1000;
const START = NOW - 60 * SECOND;
const ALL = { start: formatTime(NOW - 590 * SECOND), end: formatTime(NOW + 60 * SECOND) };

/** The largest payload of an event, less its ids. */
const LARGE_BYTES = MIB - 200;
const LARGE_EVENTS = 24;

let server: StartedServer;
/** Reports every failure at once and never retries. */
let client: BraidClient;
let grpc: ReflectedClient;

before(async () => {
  server = await startServer({ flags: ["--log-level", "silent"] });
  client = connect(server.url, { retries: { attemptsMax: 1 } });
  grpc = await ReflectedClient.connect(server.url);
  await client.createNamespace("large");
  for (let at = 0; at < LARGE_EVENTS; at += 8) {
    const events = Array.from({ length: 8 }, (_, i) => large(at + i));
    deepEqual((await client.writeSync("large", events)).failures, []);
  }
});

after(async () => {
  await server[Symbol.asyncDispose]();
  grpc.close();
});

function event(timeSeriesId: string, index: number, value: Uint8Array, from = START) {
  const eventTime = formatTime(from + index);
  return { timeSeriesId, eventTime, eventId: `e-${index}`, items: { value } } satisfies NewEvent;
}

function large(index: number) {
  return event("profile:1", index, Buffer.alloc(LARGE_BYTES, index));
}

const LARGE_QUERY = {
  namespace: "large",
  timeSeriesId: "profile:1",
  timeInterval: ALL,
  order: "OLDEST_FIRST",
};

test("W4: a second write of an identity with other bytes leaves one whole version for all readers", async () => {
  await client.createNamespace("versions");
  const versions = Array.from({ length: 8 }, (_, i) => Buffer.alloc(1 + i * 1_000, i));
  await Promise.all(
    versions.map((value) => client.writeSync("versions", [event("profile:1", 0, value)])),
  );
  const query = { timeSeriesId: "profile:1", ...ALL };
  const paged = await collect(client.read("versions", query));
  const streamed = await collect(client.stream("versions", query));
  equal(paged.length, 1);
  deepEqual(JSON.stringify(streamed), JSON.stringify(paged));
  ok(versions.some((version) => version.equals(paged[0]?.get("value") ?? Buffer.alloc(0))));
});

test("R21: events of 1 MiB arrive in messages that a client with default limits accepts", async () => {
  const method = `${DATA}/ReadEventRecords`;
  const ids: string[] = [];
  let pageToken = "";
  let pages = 0;
  do {
    const body = { ...LARGE_QUERY, pageSize: 20, totalRecordLimit: "20", pageToken };
    const page = await grpc.call(method, body);
    equal(page.status, status.OK, page.message);
    const { records, nextPageToken } = page.json as {
      records: { eventId: string; eventItems: { eventItemValue: string }[] }[];
      nextPageToken: string;
    };
    for (const { eventItems } of records) {
      equal(Buffer.from(eventItems[0]?.eventItemValue ?? "", "base64").length, LARGE_BYTES);
    }
    ids.push(...records.map(({ eventId }) => eventId));
    pageToken = nextPageToken;
    pages++;
  } while (pageToken !== "");
  deepEqual(
    ids,
    Array.from({ length: 20 }, (_, i) => `e-${i}`),
  );
  ok(pages >= 7, `${pages} pages for 20 MiB in pages of at most 3 MiB`);

  let streamed = 0;
  for await (const { bytes } of grpc.stream(`${DATA}/StreamEventRecords`, LARGE_QUERY)) {
    ok(bytes < 4 * MIB, `a message of ${bytes} bytes`);
    streamed += bytes;
  }
  equal(Math.floor(streamed / LARGE_BYTES), LARGE_EVENTS);
});

test("R9: a reader that does not read costs the server at most two pages, and others are served", async () => {
  const readers = 8;
  const before = await eventsRead("large");
  const request = grpc.encode(`${DATA}/StreamEventRecords`, LARGE_QUERY);
  const calls: RawCall[] = Array.from({ length: readers }, () =>
    openRawCall(server.url, `${DATA}/StreamEventRecords`, request),
  );
  await until(async () => (await metricOf(server.url, "braid_requests_in_flight")) === readers);
  const read = (await atRest(() => eventsRead("large"))) - before;
  // One page is in flight and one is read ahead; a page holds one event here.
  ok(read >= readers && read <= 3 * readers, `${read} events were read for ${readers} readers`);
  const held = await metricOf(server.url, "braid_read_bytes_in_flight");
  ok(held > 0 && held <= readers * 2 * MIB, `${held} bytes are held`);
  deepEqual(await collect(client.read("large", { timeSeriesId: "nobody", ...ALL })), []);
  for (const call of calls) cancel(call);
  await until(async () => (await metricOf(server.url, "braid_requests_in_flight")) === 0);
  await until(async () => (await metricOf(server.url, "braid_read_bytes_in_flight")) === 0);
});

test("R9: the same over HTTP, where the system's socket buffers hold some more", async () => {
  const before = await eventsRead("large");
  const { hostname, port, host } = new URL(server.url);
  const socket = connectTcp(Number(port), hostname);
  await once(socket, "connect");
  const body = JSON.stringify(LARGE_QUERY);
  const head = `POST /${DATA}/StreamEventRecords HTTP/1.1\r\nhost: ${host}\r\n`;
  socket.write(
    `${head}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  await until(async () => (await eventsRead("large")) > before);
  const read = (await atRest(() => eventsRead("large"))) - before;
  ok(read < LARGE_EVENTS / 2, `${read} events were read for a reader that reads nothing`);
  socket.destroy();
  await until(async () => (await metricOf(server.url, "braid_requests_in_flight")) === 0);
  await until(async () => (await metricOf(server.url, "braid_read_bytes_in_flight")) === 0);
});

test("W24: a hot id does not block the others, and its events spread over its buckets", async () => {
  await client.createNamespace("hot", { timePartition: { eventBuckets: 8 } });
  const batch = 20;
  let next = 0;
  let acknowledged = 0;
  let enough = false;
  const writer = async (): Promise<void> => {
    while (!enough) {
      const from = next;
      next += batch;
      const events = Array.from({ length: batch }, (_, i) =>
        event("viral", from + i, Buffer.alloc(100, 7)),
      );
      const { written } = await client.writeSync("hot", events);
      acknowledged += written;
    }
  };
  const writers = Promise.all(Array.from({ length: 16 }, writer));
  await until(() => acknowledged > 0);
  const quiet = { timeSeriesId: "quiet", ...ALL };
  for (let round = 0; round < 20; round++) {
    const before = acknowledged;
    equal((await client.writeSync("hot", [event("quiet", round, Buffer.from("x"))])).written, 1);
    equal((await collect(client.read("hot", quiet))).length, round + 1);
    // The writers of the hot id are still running.
    await until(() => acknowledged > before);
  }
  enough = true;
  await writers;
  equal(acknowledged, next);
  const viral = { timeSeriesId: "viral", ...ALL };
  equal((await collect(client.stream("hot", viral))).length, next);
  const explained = await client.explain("hot", { ...viral, pageSize: 10_000 });
  const buckets = explained.partitions.filter(({ events }) => Number(events) > 0);
  deepEqual(new Set(buckets.map(({ eventBucket }) => eventBucket)).size, 8);
});

test("R22: metrics show that a process stalled, and every event it acknowledged is stored", async () => {
  await client.createNamespace("stall");
  const events = Array.from({ length: 10 }, (_, i) => event("profile:1", i, Buffer.from([i])));
  equal((await client.writeSync("stall", events.slice(0, 5))).written, 5);
  // Do not scrape right before the stall: each scrape restarts the measurement at the next tick.
  process.kill(server.pid, "SIGSTOP");
  try {
    // No caller waits longer than its deadline, and no write is acknowledged.
    const options = { deadlineMs: 400 };
    const read = collect(client.read("stall", { timeSeriesId: "profile:1", ...ALL, ...options }));
    const write = client.writeSync("stall", events.slice(5), options);
    await Promise.all([
      rejects(read, { code: "DEADLINE_EXCEEDED" }),
      rejects(write, { code: "DEADLINE_EXCEEDED", outcome: "unknown" }),
    ]);
  } finally {
    process.kill(server.pid, "SIGCONT");
  }
  // It stalled for at least the 400 ms of those calls.
  await until(async () => (await metricOf(server.url, "nodejs_eventloop_lag_max_seconds")) > 0.3);
  equal((await client.writeSync("stall", events.slice(5))).written, 5);
  const found = await collect(
    client.read("stall", { timeSeriesId: "profile:1", ...ALL, order: "OLDEST_FIRST" }),
  );
  deepEqual(
    found.map(({ eventId, eventTime }) => [eventId, eventTime]),
    events.map(({ eventId, eventTime }) => [eventId, eventTime]),
  );
});

test("R13: corrupt bytes on disk return DATA_LOSS with their slice and are never served; all else is", async () => {
  const retention = { closeAfter: "3600s", deleteAfter: "7200s" };
  const timePartition = { secondsPerTimeSlice: 120, secondsPerTimeBucket: 60, eventBuckets: 1 };
  const { id } = await client.createNamespace("rot", { timePartition, retention });
  // Far enough apart to be in two slices; random, so that the file holds them uncompressed.
  const early = NOW - 500 * SECOND;
  const values = Array.from({ length: 60 }, () => randomBytes(4_096));
  const olds = values.map((value, i) => event("profile:1", i, value, early));
  const news = values.map((value, i) => event("profile:1", 100 + i, value));
  deepEqual((await client.writeSync("rot", [...olds, ...news])).failures, []);
  const idsOf = async (from: number, to: number): Promise<string[]> => {
    const interval = { start: formatTime(from), end: formatTime(to) };
    const query = { timeSeriesId: "profile:1", ...interval, order: "OLDEST_FIRST" } as const;
    return (await collect(client.read("rot", query))).map(({ eventId }) => eventId);
  };
  const namesOf = (events: readonly NewEvent[]): string[] => events.map(({ eventId }) => eventId);
  // Reopening moves the events from the log into a table.
  await server.restart("SIGTERM");
  deepEqual(await idsOf(early, early + 60), namesOf(olds));

  const rotten = 30;
  const slice = await flipOneBit(join(server.data, "events", id), values[rotten] as Buffer, early);
  const lost = async (from: number, to: number): Promise<void> => {
    await rejects(idsOf(from, to), (error: unknown) => {
      ok(error instanceof BraidError);
      equal(error.code, "DATA_LOSS");
      match(`${error.message} ${JSON.stringify(error.details)}`, new RegExp(slice));
      return true;
    });
    const timeInterval = { start: formatTime(from), end: formatTime(to) };
    const body = { namespace: "rot", timeSeriesId: "profile:1", timeInterval };
    const answer = await grpc.call(`${DATA}/ReadEventRecords`, body);
    equal(answer.status, status.DATA_LOSS);
    equal(answer.json, undefined);
    deepEqual(answer.trailers.get("braid-code"), ["DATA_LOSS"]);
  };
  await lost(early, early + 60);
  await lost(early + rotten, early + rotten + 1);
  await lost(early, NOW);
  deepEqual(await idsOf(early, early + rotten), namesOf(olds.slice(0, rotten)), "before it");
  deepEqual(await idsOf(early + rotten + 1, early + 60), namesOf(olds.slice(rotten + 1)));
  deepEqual(await idsOf(START, NOW), namesOf(news), "the other slice");

  // A start checks the whole file and rejects all of it.
  await server.restart("SIGTERM");
  await lost(early, early + rotten);
  deepEqual(await idsOf(START, NOW), namesOf(news), "the other slice");
});

function eventsRead(namespace: string): Promise<number> {
  return metricOf(server.url, `braid_read_events_total{namespace="${namespace}"}`);
}

/** The value once it has been the same for many samples. */
async function atRest(look: () => Promise<number>): Promise<number> {
  let value = await look();
  for (let same = 0; same < 20; same++) {
    await pause(10);
    const now = await look();
    if (now !== value) same = 0;
    value = now;
  }
  return value;
}

/**
 * Finds the value in the tables of the namespace and flips one bit of it in place. Returns the
 * slice.
 */
async function flipOneBit(directory: string, value: Buffer, micros: number): Promise<string> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  for (const { parentPath, name } of entries.filter(({ name }) => name.endsWith(".ldb"))) {
    const path = join(parentPath, name);
    const slice = /data_[\d_]+/.exec(path)?.[0] ?? "";
    const at = (await readFile(path)).indexOf(value);
    if (at < 0 || slice < sliceName(micros - 120 * SECOND) || slice > sliceName(micros)) continue;
    const file = await open(path, "r+");
    await file.write(Buffer.from([(value[7] as number) ^ 1]), 0, 1, at + 7);
    await file.close();
    return slice;
  }
  throw new Error("the value is in no table");
}

function sliceName(micros: number): string {
  const [day = "", time = ""] = formatTime(micros).split(/[T.Z]/);
  return `data_${day.replaceAll("-", "")}_${time.replaceAll(":", "").slice(0, 4)}`;
}
