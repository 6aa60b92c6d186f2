/**
 * A server and a worker in this process, each on an embedded engine of its own, and the metrics
 * they show after they have written, refused and read something. Namespaces: `busy`, and `quiet`,
 * which is unused.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../src/lib/clock.ts";
import { silentLog } from "../../src/lib/log.ts";
import { systemRandom } from "../../src/lib/random.ts";
import { startService } from "../../src/server/compose.ts";
import type { Service } from "../../src/server/compose.ts";
import { loadConfig } from "../../src/server/config.ts";
import { startWorker } from "../../src/server/worker.ts";
import { formatTime } from "../../src/wire/time-text.ts";

const runtime = { clock: systemClock, random: systemRandom, log: silentLog };

export interface MeasuredProcesses {
  /** The text of its metrics. */
  server(): Promise<string>;
  worker(): Promise<string>;
  /** Calls a method of the server. */
  ask(method: string, body: unknown): Promise<unknown>;
  [Symbol.asyncDispose](): Promise<void>;
}

export async function startMeasuredProcesses(): Promise<MeasuredProcesses> {
  const directory = await mkdtemp(join(tmpdir(), "braid-metrics-"));
  const start = async (data: string, startOne: typeof startService): Promise<Service> => {
    const flags = { listen: "127.0.0.1:0", data };
    const { config } = await loadConfig({ flags, file: undefined, env: {}, cwd: directory });
    return startOne(config, runtime);
  };
  const server = await start("server", startService);
  const worker = await start("worker", startWorker);
  const ask = async (method: string, body: unknown): Promise<unknown> => {
    const answer = await fetch(`http://127.0.0.1:${server.port}/braid.v1.${method}`, {
      method: "POST",
      body: JSON.stringify(body),
      headers: { "content-type": "application/json" },
    });
    return answer.json();
  };
  const metricsOf = async ({ port }: Service): Promise<string> =>
    (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  await useServer(ask);
  return {
    ask,
    server: () => metricsOf(server),
    worker: () => metricsOf(worker),
    async [Symbol.asyncDispose]() {
      await Promise.all([server.stop(), worker.stop()]);
      await rm(directory, { recursive: true });
    },
  };
}

async function useServer(ask: MeasuredProcesses["ask"]): Promise<void> {
  for (const namespace of ["busy", "quiet"]) {
    await ask("ControlService/CreateNamespace", { namespace });
  }
  const now = systemClock.nowMicros();
  const event = (micros: number): unknown => ({
    timeSeriesId: "profile:1",
    eventTime: formatTime(micros),
    eventId: `e-${micros}`,
    eventItems: [{ eventItemKey: "device", eventItemValue: "aW9z" }],
  });
  // The last one is older than any namespace accepts.
  const events = [event(now - 2), event(now - 1), event(1)];
  await ask("TimeSeriesService/WriteEventRecordsSync", { namespace: "busy", events });
  await ask("TimeSeriesService/WriteEventRecordsSync", { namespace: "missing", events });
  await ask("TimeSeriesService/ReadEventRecords", {
    namespace: "busy",
    timeSeriesId: "profile:1",
    timeInterval: { start: formatTime(now - 60_000_000), end: formatTime(now + 1) },
  });
}
