/**
 * The alerts of deploy/prometheus in a real Prometheus that scrapes real servers: none fires while
 * all is well, and those whose cause can be made here fire when it is. Only the waits (`for`) are
 * taken out of the rules. Each server is a job of its own, as if it were an installation.
 *
 * @needs prometheus
 */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, readFile, rm, statfs } from "node:fs/promises";
import { connect as connectTcp } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { parse, stringify } from "yaml";
import { connect } from "../../client/connect.ts";
import type { BraidClient, NewEvent } from "../../client/connect.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { silentLog } from "../../src/lib/log.ts";
import { systemRandom } from "../../src/lib/random.ts";
import { startService } from "../../src/server/compose.ts";
import type { Service } from "../../src/server/compose.ts";
import { loadConfig } from "../../src/server/config.ts";
import { formatTime } from "../../src/wire/time-text.ts";
import { until } from "../support/conditions.ts";
import { startServer } from "../support/started-server.ts";
import type { StartedServer } from "../support/started-server.ts";
import { startPrometheus } from "./prometheus.ts";
import type { FiringAlert, Prometheus } from "./prometheus.ts";

/** The most that `server.free_space_min` can be. */
const FREE_SPACE_MIN = 2 ** 40;

let folder: string;
let server: StartedServer;
let client: BraidClient;
/** It wants more free space than there is, and answers one request at a time. */
let poor: StartedServer;
/** In this process, on a clock that the test sets. */
let leaping: Service;
let leapMicros = 0;
let prometheus: Prometheus;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "braid-live-alerts-"));
  server = await startServer();
  client = connect(server.url);
  await client.createNamespace("plays", {});
  const env = { BRAID_SERVER_FREE_SPACE_MIN: "1TiB", BRAID_SERVER_REQUESTS_IN_FLIGHT: "1" };
  poor = await startServer({ env });
  await connect(poor.url).createNamespace("plays", {});
  leaping = await startLeaping();
  prometheus = await startPrometheus({
    targets: {
      braid: [new URL(server.url).host],
      "braid-poor": [new URL(poor.url).host],
      "braid-leaping": [`127.0.0.1:${leaping.port}`],
    },
    rules: withoutWaits(await readFile("deploy/prometheus/alerts.yaml", "utf8")),
  });
});

after(async () => {
  await prometheus[Symbol.asyncDispose]();
  await leaping.stop();
  await poor[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

async function startLeaping(): Promise<Service> {
  const flags = { listen: "127.0.0.1:0", data: join(folder, "data") };
  const { config } = await loadConfig({ flags, file: undefined, env: {}, cwd: folder });
  const clock = { ...systemClock, nowMicros: () => systemClock.nowMicros() + leapMicros };
  return startService(config, { clock, random: systemRandom, log: silentLog });
}

function withoutWaits(rules: string): string {
  const content = parse(rules) as { groups: { rules: { for?: string }[] }[] };
  for (const group of content.groups) for (const rule of group.rules) delete rule.for;
  return stringify(content);
}

function eventAt(micros: number): NewEvent {
  return { timeSeriesId: "a", eventTime: formatTime(micros), eventId: "1" };
}

async function firingIn(job: string): Promise<string[]> {
  const firing = await prometheus.firing();
  return firing.filter(({ labels }) => labels["job"] === job).map(({ name }) => name);
}

async function untilFires(name: string, job = "braid"): Promise<FiringAlert> {
  const isIt = (alert: FiringAlert): boolean => alert.name === name && alert.labels["job"] === job;
  const found = async (): Promise<FiringAlert | undefined> =>
    (await prometheus.firing()).find(isIt);
  await until(async () => (await found()) !== undefined);
  const alert = await found();
  ok(alert !== undefined, name);
  return alert;
}

async function untilSilent(name: string): Promise<void> {
  await until(async () => !(await firingIn("braid")).includes(name));
}

test("no alert fires while all is well", async () => {
  await client.writeSync("plays", [eventAt(systemClock.nowMicros())]);
  await prometheus.evaluatedAgain();
  // A machine that runs all tests at once may have a slow disk, or a scrape that comes too late.
  const mayPass = ["BraidCommitsSlow", "BraidEventLoopBusy", "BraidReadsSlow", "BraidTargetDown"];
  const firing = await firingIn("braid");
  deepEqual(
    firing.filter((name) => !mayPass.includes(name)),
    [],
  );
});

test("the kill switch fires an alert with a sentence and a runbook, until it is off", async () => {
  await client.splits.setKillSwitch(true, { reason: "a test" });
  const { labels, annotations } = await untilFires("BraidKillSwitchOn");
  equal(labels["severity"], "warning");
  match(annotations["summary"] ?? "", /^1 servers of braid read originals only/);
  equal(annotations["runbook_url"], "docs/operate/alerts.md#braidkillswitchon");
  await client.splits.setKillSwitch(false, { reason: "a test" });
  await untilSilent("BraidKillSwitchOn");
});

test("paused splits fire an alert until they are resumed", async () => {
  await client.splits.pause("plays", { reason: "a test" });
  const { labels } = await untilFires("BraidSplitsPaused");
  equal(labels["namespace"], "plays");
  await client.splits.resume("plays");
  await untilSilent("BraidSplitsPaused");
});

test("a read mode that falls from SERVE to SHADOW fires an alert", async () => {
  const force = { force: true, reason: "a test" };
  await client.splits.setReadMode("plays", "SERVE", force);
  await until(async () => {
    const [mode] = await prometheus.query('braid_read_mode{job="braid",mode="SERVE"}');
    return mode?.value === 1;
  });
  ok(!(await firingIn("braid")).includes("BraidReadModeFellBack"));
  await client.splits.setReadMode("plays", "SHADOW", force);
  equal((await untilFires("BraidReadModeFellBack")).labels["namespace"], "plays");
});

test("events that are too old fire an alert about refused events", async () => {
  await client.writeSync("plays", [eventAt(1)], { failures: "return" });
  const { annotations } = await untilFires("BraidEventsRefused");
  match(annotations["summary"] ?? "", /% of the events for plays are refused/);
});

test("a full disk fires alerts: low, read-only, and storage refuses events", async () => {
  const { bavail, bsize } = await statfs(poor.data);
  // On a disk with more free space than the setting can ask for, nothing may fire.
  if (bavail * bsize > 4 * FREE_SPACE_MIN) {
    await prometheus.evaluatedAgain();
    ok(!(await firingIn("braid-poor")).includes("BraidDiskLow"));
    return;
  }
  match(
    (await untilFires("BraidDiskLow", "braid-poor")).annotations["summary"] ?? "",
    /iB of free/,
  );
  if (bavail * bsize > FREE_SPACE_MIN) return;
  await untilFires("BraidDiskReadOnly", "braid-poor");
  const write = connect(poor.url, { retries: { attemptsMax: 1 } }).writeSync("plays", [
    eventAt(systemClock.nowMicros()),
  ]);
  await write.catch(() => undefined);
  await untilFires("BraidStorageUnavailable", "braid-poor");
});

test("more requests than a server may answer at once fire an alert about overload", async () => {
  const { hostname, port } = new URL(poor.url);
  const path = "/braid.v1.TimeSeriesService/ReadEventRecords";
  const refused = async (): Promise<boolean> => {
    const answer = await fetch(`${poor.url}${path}`, {
      method: "POST",
      body: JSON.stringify({ namespace: "plays", timeSeriesId: "a" }),
      headers: { "content-type": "application/json" },
    });
    await answer.arrayBuffer();
    return answer.status === 429;
  };
  // The one request that it answers at a time declares a body and does not send it.
  const socket = connectTcp(Number(port), hostname);
  try {
    await once(socket, "connect");
    const head = `POST ${path} HTTP/1.1\r\nhost: ${hostname}\r\ncontent-type: application/json`;
    socket.write(`${head}\r\ncontent-length: 100\r\n\r\n`);
    await until(refused);
    for (let n = 0; n < 10; n++) await refused();
  } finally {
    socket.destroy();
  }
  await untilFires("BraidOverloaded", "braid-poor");
});

test("a clock that leaps fires an alert, until it is corrected", async () => {
  leapMicros = 2 * 86_400_000_000;
  await untilFires("BraidClockInDoubt", "braid-leaping");
  leapMicros = 0;
  await until(async () => !(await firingIn("braid-leaping")).includes("BraidClockInDoubt"));
});

test("a server that is down fires an alert, and none at all another", async () => {
  await poor.stop("SIGKILL");
  const { labels } = await untilFires("BraidTargetDown", "braid-poor");
  equal(labels["instance"], new URL(poor.url).host);
  ok(!(await prometheus.firing()).some(({ name }) => name === "BraidAbsent"));
  await server.stop("SIGTERM");
  await leaping.stop();
  await until(async () => (await prometheus.firing()).some(({ name }) => name === "BraidAbsent"));
});
