/** A real server keeps a history of its own figures, and starts it again with the process. */
import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { test } from "node:test";
import { BraidError, connect } from "../../client/connect.ts";
import type { BraidClient, MetricsHistory } from "../../client/connect.ts";
import { until } from "../support/conditions.ts";
import { startServer } from "../support/started-server.ts";

/** All of a series that was measured. */
function measured(history: MetricsHistory, name: string): number[] {
  const { values = [] } = history.series.find((each) => each.name === name) ?? {};
  return values.filter((each) => each !== null);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, each) => total + each, 0);
}

async function work(client: BraidClient): Promise<void> {
  const eventTime = new Date();
  await client.writeSync("plays", [{ timeSeriesId: "a", eventTime, eventId: "1" }]);
  const query = {
    timeSeriesId: "a",
    start: new Date(eventTime.getTime() - 1_000),
    end: new Date(eventTime.getTime() + 1_000),
  };
  for await (const event of client.read("plays", query)) equal(event.eventId, "1");
  await rejects(client.getNamespace("nothing"), BraidError);
}

test("a server keeps its figures by the second and by the minute, until it ends", async () => {
  await using server = await startServer();
  const client = connect(server.url);
  await client.createNamespace("plays");
  await work(client);
  const { process } = await client.getStatus();
  let seconds = await client.getMetricsHistory({ resolution: "SECOND" });
  await until(async () => {
    seconds = await client.getMetricsHistory({ resolution: "SECOND" });
    return ["reads", "writes", "refusals"].every((name) => sum(measured(seconds, name)) > 0);
  });
  equal(seconds.process, process);
  equal(seconds.step, "1s");
  ok(seconds.series.every(({ values }) => values.length === seconds.samples));
  ok(sum(measured(seconds, "refusals.NAMESPACE_NOT_FOUND")) > 0);
  ok(Math.max(...measured(seconds, "memory.rss")) > 1e6);
  ok(Math.max(...measured(seconds, "write_latency.max")) > 0);
  deepEqual(seconds.namespaces, ["plays"]);
  const own = await client.getMetricsHistory({
    namespace: "plays",
    series: ["reads", "read_latency."],
  });
  equal(own.step, "60s");
  deepEqual(
    own.series.map(({ name }) => name),
    ["read_latency.max", "read_latency.p50", "read_latency.p95", "read_latency.p99", "reads"],
  );
  ok(sum(measured(own, "reads")) > 0);
  const later = await client.getMetricsHistory({ since: new Date("2200-01-01T00:00:00Z") });
  deepEqual([later.samples, later.startTime], [0, undefined]);

  await server.restart("SIGTERM");
  let again = await client.getMetricsHistory({ resolution: "SECOND" });
  await until(async () => {
    again = await client.getMetricsHistory({ resolution: "SECOND" });
    return again.samples > 0;
  });
  ok(again.process !== process, "the answer names the new process");
  ok(again.processStartTime > seconds.processStartTime);
  equal(sum(measured(again, "reads")), 0);
});
