/**
 * A server measures the partitions of its slices by itself: the current one, and each again when it
 * is sealed. `braid partitions` and `braid histogram` show it.
 */
import { equal, match, ok } from "node:assert/strict";
import { after, before, test } from "node:test";
import { connect } from "../../client/connect.ts";
import type { BraidClient, NewEvent } from "../../client/connect.ts";
import { until } from "../support/conditions.ts";
import { braid, startServer } from "../support/started-server.ts";
import type { StartedServer } from "../support/started-server.ts";
import { bucketBefore, seal, shortBuckets, SOON } from "./splits-support.ts";

const SECOND = 1_000_000;
const WALK_SOON = { BRAID_WALK_EVERY: "200ms", BRAID_WALK_CURRENT_EVERY: "200ms" };

let server: StartedServer;
let client: BraidClient;

before(async () => {
  server = await startServer({ env: { ...SOON, ...WALK_SOON } });
  client = connect(server.url);
});

after(async () => {
  await server[Symbol.asyncDispose]();
});

function eventsOf(timeSeriesId: string, from: number, count: number): NewEvent[] {
  return Array.from({ length: count }, (_, nth) => ({
    timeSeriesId,
    eventTime: new Date((from + nth * 1_000) / 1_000),
    eventId: `e${nth}`,
    items: { payload: "x".repeat(100) },
  }));
}

test("the largest partitions and the histogram of a slice are known while it takes events, and final when it is sealed", async () => {
  const width = 20;
  await client.createNamespace("plays", shortBuckets(width));
  const from = bucketBefore(width, 2);
  await client.writeSync("plays", [...eventsOf("wide", from, 300), ...eventsOf("narrow", from, 3)]);
  const slices = await client.listTimeSlices("plays");
  const slice =
    slices.find(({ start, end }) => Date.parse(start) * 1e3 <= from && from < Date.parse(end) * 1e3)
      ?.name ?? "";
  const walked = async () => (await client.getHistogram("plays", slice)).walk;
  await until(async () => (await walked())?.bytes?.count === "2");
  await seal(client, "plays", from + width * SECOND);
  await until(async () => (await walked())?.sealed === true);

  const listed = await braid(["partitions", "plays", "--slice", slice, "--json"], server.url);
  equal(listed.code, 0, listed.err);
  const { partitions, complete, totalEvents } = JSON.parse(listed.out);
  equal(complete, true);
  equal(totalEvents, "303");
  equal(partitions[0].timeSeriesId, "wide");
  equal(partitions[0].events, "300");
  equal(partitions[0].exact, true);
  ok(partitions[0].share > 0.9);

  const shown = await braid(["histogram", "plays", slice], server.url);
  match(shown.out, /^partitions {2}2: min /m);
  match(shown.out, /^source {6}WALK .*walked after it was sealed$/m);
  const history = await braid(["histogram", "plays", "--history", "-o", "json"], server.url);
  const past = JSON.parse(history.out).history as { timeSlice: string; sealed: boolean }[];
  equal(past.find(({ timeSlice }) => timeSlice === slice)?.sealed, true);
});
