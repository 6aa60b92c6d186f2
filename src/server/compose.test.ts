import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { systemClock } from "../lib/clock.ts";
import { silentLog } from "../lib/log.ts";
import { systemRandom } from "../lib/random.ts";
import { formatTime } from "../wire/time-text.ts";
import { startService } from "./compose.ts";
import type { Service } from "./compose.ts";
import { loadConfig } from "./config.ts";

const runtime = { clock: systemClock, random: systemRandom, log: silentLog };
let directory: string;
let service: Service;

async function start(): Promise<Service> {
  const { config } = await loadConfig({
    flags: { listen: "127.0.0.1:0", data: "data" },
    file: undefined,
    env: {},
    cwd: directory,
  });
  return startService(config, runtime);
}

before(async () => {
  directory = await mkdtemp(join(tmpdir(), "braid-service-"));
  service = await start();
});

after(async () => {
  await service.stop();
  await rm(directory, { recursive: true });
});

async function ask<T>(method: string, body: unknown): Promise<T> {
  const answer = await fetch(`http://127.0.0.1:${service.port}/braid.v1.${method}`, {
    method: "POST",
    body: JSON.stringify(body),
    headers: { "content-type": "application/json" },
  });
  return (await answer.json()) as T;
}

interface Page {
  readonly code?: string;
  readonly records: { eventId: string; eventItems: unknown[] }[];
  readonly nextPageToken: string;
}

test("written events are read back page by page, also after a restart", async () => {
  const made = await ask<{ namespace: string }>("ControlService/CreateNamespace", {
    namespace: "plays",
  });
  equal(made.namespace, "plays");
  const now = systemClock.nowMicros();
  const events = Array.from({ length: 25 }, (_, i) => ({
    timeSeriesId: "profile:1",
    eventTime: formatTime(now - i * 1_000_000),
    eventId: `e-${i}`,
    eventItems: [
      { eventItemKey: "device", eventItemValue: Buffer.from(`d${i}`).toString("base64") },
    ],
  }));
  const written = await ask<{ written: number }>("TimeSeriesService/WriteEventRecordsSync", {
    namespace: "plays",
    events: events.slice(0, 20),
  });
  equal(written.written, 20);
  const queued = await ask<{ accepted: number }>("TimeSeriesService/WriteEventRecords", {
    namespace: "plays",
    events: events.slice(20),
  });
  equal(queued.accepted, 5);
  const query = {
    namespace: "plays",
    timeSeriesId: "profile:1",
    timeInterval: { start: formatTime(now - 60_000_000), end: formatTime(now + 1) },
    pageSize: 10,
  };
  const first = await ask<Page>("TimeSeriesService/ReadEventRecords", query);
  deepEqual(first.records[0]?.eventItems, events[0]?.eventItems);

  // Stopping flushes queued events; the token works in another process.
  await service.stop();
  service = await start();
  const ids = first.records.map((record) => record.eventId);
  let pageToken = first.nextPageToken;
  while (pageToken !== "") {
    const page: Page = await ask<Page>("TimeSeriesService/ReadEventRecords", {
      ...query,
      pageToken,
    });
    ids.push(...page.records.map((record) => record.eventId));
    ({ nextPageToken: pageToken } = page);
  }
  deepEqual(
    ids,
    events.map((event) => event.eventId),
  );
});

test("a second service on the same data directory is refused with a clear message", async () => {
  await rejects(start(), (error: Error) => {
    match(error.message, /in use by process \d+/);
    return true;
  });
});

test("a process on its own lists itself alone, as server and worker", async () => {
  interface List {
    readonly servers: readonly { name: string; role: string; version: string; silent: boolean }[];
    readonly answeredBy: string;
  }
  const { servers, answeredBy } = await ask<List>("ControlService/ListServers", {});
  const status = await ask<{ process: string; version: string }>("ControlService/GetStatus", {});
  equal(answeredBy, status.process);
  deepEqual(
    servers.map(({ name, role, version, silent }) => ({ name, role, version, silent })),
    [{ name: status.process, role: "SERVER_AND_WORKER", version: status.version, silent: false }],
  );
});

test("O8: metrics show no time series id", async () => {
  const text = await (await fetch(`http://127.0.0.1:${service.port}/metrics`)).text();
  match(text, /braid_engine_commit_seconds_count/);
  match(text, /nodejs_eventloop_lag_seconds/);
  match(text, /braid_read_events_total\{namespace="plays"\} \d+/);
  ok(!text.includes("profile:1"));
});
