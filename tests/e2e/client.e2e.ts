/**
 * The client against a real server: reads return every written event, whole and in order, also when
 * the server is killed or restarted.
 */
import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { after, before, test } from "node:test";
import { BraidError, connect } from "../../client/connect.ts";
import type { BraidClient, NewEvent } from "../../client/connect.ts";
import { formatTime } from "../../src/wire/time-text.ts";
import { collect } from "../support/fake-braid.ts";
import { startServer } from "../support/started-server.ts";
import type { StartedServer } from "../support/started-server.ts";

let server: StartedServer;
let client: BraidClient;

before(async () => {
  server = await startServer();
  client = connect(server.url);
});

after(async () => {
  await server[Symbol.asyncDispose]();
});

/**
 * A minute ago, so that every event is inside the accept limit; not a whole millisecond, to test
 * microseconds.
 */
const START = (Date.now() - 60_000) * 1000 + 1;

function eventsOf(timeSeriesId: string, count: number): (NewEvent & { eventTime: string })[] {
  return Array.from({ length: count }, (_, i) => ({
    timeSeriesId,
    eventTime: formatTime(START + i),
    eventId: `e-${i}`,
    items: { number: String(i), raw: new Uint8Array([0, 255, i % 256]) },
  }));
}

const ALL = { start: formatTime(START - 1), end: formatTime(START + 60_000_000) };

test("events come back as they were written, over pages and over a stream, in both orders", async () => {
  await client.createNamespace("whole", { timePartition: { eventBuckets: 4 } });
  const events = eventsOf("profile:1", 2_500);
  for (let at = 0; at < events.length; at += 1_000) {
    const result = await client.writeSync("whole", events.slice(at, at + 1_000));
    deepEqual(result.failures, []);
  }
  const expected = events.map((event) => event.eventTime);
  const query = { timeSeriesId: "profile:1", ...ALL, order: "OLDEST_FIRST" } as const;
  const paged = await collect(client.read("whole", { ...query, pageSize: 700 }));
  deepEqual(
    paged.map((event) => event.eventTime),
    expected,
  );
  deepEqual(paged[7]?.get("raw"), new Uint8Array([0, 255, 7]));
  equal(paged[7]?.timeMicros, START + 7);
  const streamed = await collect(client.stream("whole", { ...query, order: "NEWEST_FIRST" }));
  deepEqual(
    streamed.map((event) => event.eventTime),
    expected.toReversed(),
  );
  deepEqual(JSON.stringify(streamed.at(-1)), JSON.stringify(paged[0]));
});

test("filters, limits and tokens narrow a read as the contract says", async () => {
  const query = { timeSeriesId: "profile:1", ...ALL } as const;
  const found = await collect(client.read("whole", { ...query, filters: { number: "42" } }));
  deepEqual(
    found.map((event) => event.eventId),
    ["e-42"],
  );
  const limited = await collect(client.stream("whole", { ...query, totalRecordLimit: 1_234 }));
  equal(limited.length, 1_234);
  const first = await client
    .read("whole", { ...query, pageSize: 10 })
    .pages()
    .next();
  ok(first.value !== undefined);
  const { nextPageToken: pageToken } = first.value;
  const rest = await collect(client.read("whole", { ...query, pageSize: 1_000, pageToken }));
  equal(rest.length, 2_490);
  const explained = await client.explain("whole", query);
  ok(explained.partitions.length > 0);
});

test("a batching writer writes everything and reports what was refused", async () => {
  await client.createNamespace("many");
  const refused: string[] = [];
  const writer = client.batchingWriter<NewEvent>("many", {
    maxEvents: 500,
    onFailure: ({ event, error }) => refused.push(`${event.eventId} ${error.code}`),
  });
  for (const event of eventsOf("profile:2", 5_000)) await writer.add(event);
  await writer.add({ timeSeriesId: "x", eventTime: new Date(0), eventId: "old" });
  await writer.add({ timeSeriesId: "", eventTime: new Date(), eventId: "nobody's" });
  await writer.close();
  equal(writer.written, 5_000);
  deepEqual(refused.toSorted(), ["nobody's EVENT_INVALID", "old EVENT_TOO_OLD"]);
  const query = { timeSeriesId: "profile:2", ...ALL };
  equal((await collect(client.stream("many", query))).length, 5_000);
});

test("namespaces, slices and blocked ids are created, shown, changed and removed", async () => {
  const made = await client.createNamespace("control", { acceptLimit: "1200s" });
  equal(made.config.acceptLimit, "1200s");
  const got = await client.getNamespace("control");
  deepEqual({ ...got, defaultFields: [] }, made);
  ok(got.defaultFields.includes("futureLimit") && !got.defaultFields.includes("acceptLimit"));
  const names = await collect(client.listNamespaces());
  ok(names.some(({ namespace }) => namespace === "control"));
  await rejects(client.createNamespace("control"), { code: "NAMESPACE_EXISTS", status: 409 });
  const changed = await client.updateNamespace(
    "control",
    { futureLimit: "30s" },
    { reset: ["acceptLimit"] },
  );
  equal(changed.config.futureLimit, "30s");
  equal(changed.config.acceptLimit, "600s");
  ok((await client.listTimeSlices("control")).some((slice) => slice.status === "ACTIVE"));

  await client.blockIds("control", [{ timeSeriesId: "bot", reason: "spam" }]);
  const [blocked] = await collect(client.listBlockedIds("control"));
  equal(blocked?.reason, "spam");
  await rejects(collect(client.read("control", { timeSeriesId: "bot", ...ALL })), {
    code: "ID_BLOCKED",
  });
  equal(await client.unblockIds("control", ["bot"]), 1);
  deepEqual(await collect(client.read("control", { timeSeriesId: "bot", ...ALL })), []);
  await client.deleteNamespace("control");
  await rejects(client.getNamespace("control"), { code: "NAMESPACE_NOT_FOUND", status: 404 });
});

test("an error names all problems of a request", async () => {
  const query = { timeSeriesId: "", start: ALL.end, end: ALL.start, pageSize: 1_000_000 };
  await rejects(client.explain("whole", query), (error: unknown) => {
    ok(error instanceof BraidError);
    equal(error.code, "REQUEST_INVALID");
    ok(error.problems.length >= 2, error.problems.join("; "));
    return true;
  });
});

test("N3: a read during which the server is killed and restarted returns every event exactly once", async () => {
  const query = {
    timeSeriesId: "profile:1",
    ...ALL,
    order: "OLDEST_FIRST",
    pageSize: 100,
  } as const;
  const expected = eventsOf("profile:1", 2_500).map((event) => event.eventId);
  const methods = ["read", "stream"] as const;
  for (const method of methods) {
    const ids: string[] = [];
    let restarting: Promise<void> | undefined;
    for await (const event of client[method]("whole", query)) {
      ids.push(event.eventId);
      if (ids.length === 950) restarting = server.restart("SIGKILL");
    }
    await restarting;
    deepEqual(ids, expected, method);
  }
});

test("a write in flight when the server stops is written when the server is back", async () => {
  const events = eventsOf("profile:3", 3_000);
  const writer = client.batchingWriter<NewEvent>("many", { maxEvents: 100, concurrency: 2 });
  let restarting: Promise<void> | undefined;
  for (const [index, event] of events.entries()) {
    await writer.add(event);
    if (index === 1_000) restarting = server.restart("SIGTERM");
  }
  await writer.close();
  await restarting;
  const query = { timeSeriesId: "profile:3", ...ALL, order: "OLDEST_FIRST" } as const;
  deepEqual(
    (await collect(client.stream("many", query))).map((event) => event.eventId),
    events.map((event) => event.eventId),
  );
});
