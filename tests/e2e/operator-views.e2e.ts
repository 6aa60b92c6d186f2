/** What the console's pages ask of a real server: servers, width map, filters, ids. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { after, before, test } from "node:test";
import { connect } from "../../client/connect.ts";
import type { BraidClient, WidthMap } from "../../client/connect.ts";
import { until } from "../support/conditions.ts";
import { startServer } from "../support/started-server.ts";
import type { StartedServer } from "../support/started-server.ts";

const IDS = ["bot:1", "bot:2", "profile:1", "profile:2", "profile:3"];

let server: StartedServer;
let client: BraidClient;

before(async () => {
  server = await startServer({
    env: { BRAID_WALK_EVERY: "200ms", BRAID_WALK_CURRENT_EVERY: "1s" },
  });
  client = connect(server.url);
  await client.createNamespace("plays", {
    widePartition: { bytesMax: "131072", targetBytes: "65536" },
  });
  const eventTime = new Date();
  for (const timeSeriesId of IDS) {
    // One is over the limit.
    const events = Array.from({ length: timeSeriesId === "bot:1" ? 200 : 2 }, (_, nth) => ({
      timeSeriesId,
      eventTime,
      eventId: `e${nth}`,
      items: { value: "x".repeat(1_000) },
    }));
    await client.writeSync("plays", events);
  }
});

after(async () => {
  await server[Symbol.asyncDispose]();
});

test("one process lists itself with its version, its views and its filters", async () => {
  const { servers, answeredBy } = await client.listServers();
  const status = await client.getStatus();
  deepEqual([servers.length, servers[0]?.name, answeredBy], [1, answeredBy, status.process]);
  deepEqual([servers[0]?.version, servers[0]?.role], [status.version, "SERVER_AND_WORKER"]);
});

test("the walk of a slice makes its width map, and a brush lists what lies in it", async () => {
  let map: WidthMap = await client.getWidthMap("plays");
  await until(async () => {
    map = await client.getWidthMap("plays");
    // The first walk may have come before the last event.
    return Number(map.partitions) === IDS.length;
  });
  equal(map.overLimit, "1");
  match(map.sentence, /^1 partition over 128KiB: bot:1/);
  const cells = map.cells.filter(({ partitions }) => partitions !== "0");
  equal(
    cells.reduce((sum, { value }) => sum + Number(value), 0),
    IDS.length,
  );
  const hashes = await client.getWidthMap("plays", map.timeSlice, { rows: "ID_HASH" });
  const darkest = hashes.cells.find(({ largestBytes }) => Number(largestBytes) > 131_072);
  const row = hashes.rows[darkest?.row ?? -1];
  ok(row !== undefined);
  const brushed = await client.listPartitions("plays", map.timeSlice, {
    filter: { hashFrom: row.from, hashTo: row.upTo ?? 1, bytesMin: "131073" },
  });
  deepEqual(
    brushed.partitions.map(({ timeSeriesId }) => timeSeriesId),
    ["bot:1"],
  );
  deepEqual([brushed.known, brushed.matching], [IDS.length, 1]);
});

test("a read opens the filter of its slice, and the server shows what reads asked it", async () => {
  const now = Date.now();
  const interval = { start: new Date(now - 3_600_000), end: new Date(now + 60_000) };
  await until(async () => {
    for await (const event of client.read("plays", { timeSeriesId: "profile:1", ...interval })) {
      equal(event.timeSeriesId, "profile:1");
    }
    const { filters } = await client.listFilters({ namespace: "plays" });
    return filters.some(({ checks }) => Number(checks) > 0);
  });
  const { filters, process, total } = await client.listFilters();
  const status = await client.getStatus();
  deepEqual([process, filters.length], [status.process, total]);
  equal(filters[0]?.configuredRate, 0.01);
});

test("ids are found by their beginning, page by page", async () => {
  const first = await client.listIds("plays", { prefix: "profile:", pageSize: 2 });
  deepEqual(first.timeSeriesIds, ["profile:1", "profile:2"]);
  const { nextPageToken: pageToken } = first;
  const rest = await client.listIds("plays", { prefix: "profile:", pageSize: 2, pageToken });
  deepEqual([rest.timeSeriesIds, rest.nextPageToken], [["profile:3"], ""]);
  deepEqual((await client.listIds("plays", { prefix: "tv" })).timeSeriesIds, []);
});
