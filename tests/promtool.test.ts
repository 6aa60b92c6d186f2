/**
 * Prometheus's own check accepts the metrics of a server and of a worker.
 *
 * @needs promtool
 */
import { equal } from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { after, before, test } from "node:test";
import { Metrics } from "../src/lib/metrics.ts";
import { declareCassandraMetrics } from "../src/server/process-metrics.ts";
import { startMeasuredProcesses } from "./support/measured-processes.ts";
import type { MeasuredProcesses } from "./support/measured-processes.ts";

let processes: MeasuredProcesses;

before(async () => {
  processes = await startMeasuredProcesses();
});

after(async () => {
  await processes[Symbol.asyncDispose]();
});

/** The output of `promtool check metrics`; "" if it finds no problem. */
async function complaintsOf(metrics: string): Promise<string> {
  const promtool = spawn("promtool", ["check", "metrics"], { stdio: ["pipe", "pipe", "pipe"] });
  promtool.stdin.end(metrics);
  const said = Promise.all([text(promtool.stdout), text(promtool.stderr)]);
  const [code] = await once(promtool, "close");
  const words = (await said).join("");
  return code === 0 ? words : `${words}exit ${String(code)}`;
}

test("promtool accepts the metrics of a server and of a worker", async () => {
  equal(await complaintsOf(await processes.server()), "");
  equal(await complaintsOf(await processes.worker()), "");
});

test("promtool accepts the metrics of the Cassandra engine", async () => {
  const metrics = new Metrics();
  const { statementSeconds } = declareCassandraMetrics(metrics);
  statementSeconds.observe(1, "catalog_read", "failed");
  equal(await complaintsOf(await metrics.text()), "");
});

test("promtool reports a wrong metric", async () => {
  const gauge = "# HELP braid_x_total A gauge.\n# TYPE braid_x_total gauge\nbraid_x_total 1\n";
  equal(
    await complaintsOf(gauge),
    'braid_x_total non-counter metrics should not have "_total" suffix\nexit 3',
  );
});
