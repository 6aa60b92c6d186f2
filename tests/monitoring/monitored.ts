/**
 * A real server that has done everything once, with a wide partition that is split and served, the
 * metrics of the Cassandra engine as it declares them, and a Prometheus that scrapes both as the job
 * `braid`.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { connect } from "../../client/connect.ts";
import { Metrics } from "../../src/lib/metrics.ts";
import { declareCassandraMetrics } from "../../src/server/process-metrics.ts";
import { Ledger } from "../e2e/splits-ledger.ts";
import {
  bucketBefore,
  eventsOver,
  seal,
  shortBuckets,
  SOON,
  untilRoute,
  untilServable,
} from "../e2e/splits-support.ts";
import { startServer } from "../support/started-server.ts";
import { startPrometheus } from "./prometheus.ts";
import type { Prometheus } from "./prometheus.ts";

const BUCKET_SECONDS = 60;

export interface Monitored {
  readonly prometheus: Prometheus;
  [Symbol.asyncDispose](): Promise<void>;
}

export async function startMonitored(): Promise<Monitored> {
  await using started = new AsyncDisposableStack();
  const server = started.use(await startServer({ env: { ...SOON, BRAID_WALK_EVERY: "100ms" } }));
  const client = connect(server.url);
  await client.createNamespace("plays", shortBuckets(BUCKET_SECONDS));
  // Splits are counted when a process starts and once a minute: now the namespace is known.
  await server.restart("SIGTERM");
  const cassandra = started.use(await showCassandraMetrics());
  const targets = { braid: [new URL(server.url).host, cassandra.address] };
  const prometheus = started.use(await startPrometheus({ targets }));
  await useEverything(server.url, prometheus);
  const kept = started.move();
  return { prometheus, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

/** A wide partition is found, split, compared and served; events are refused. */
async function useEverything(url: string, prometheus: Prometheus): Promise<void> {
  const client = connect(url);
  const from = bucketBefore(BUCKET_SECONDS, 30);
  const bucket = { from, to: from + BUCKET_SECONDS * 1_000_000 };
  const ledger = new Ledger();
  const events = eventsOver(ledger, "wide", bucket.from, bucket.to, { count: 1_500, bytes: 250 });
  await ledger.write(client, "plays", events);
  const few = eventsOver(ledger, "narrow", bucket.from, bucket.to, { count: 3, bytes: 250 });
  await ledger.write(client, "plays", few);
  await seal(client, "plays", bucket.to);
  const how = { ...bucket, order: "NEWEST_FIRST", over: "stream" } as const;
  const read = async (): Promise<void> => {
    await ledger.read([client], "plays", { ...how, series: "wide" });
    await ledger.read([client], "plays", { ...how, series: "narrow" });
  };
  await read();
  await untilServable(client, "plays", "wide");
  await client.splits.setReadMode("plays", "SERVE", { force: true, reason: "a test" });
  await untilRoute(client, "plays", "wide", bucket, "SPLIT");
  await read();
  // A rate needs two scrapes of a series, and this one something between them.
  await prometheus.scrapedAgain();
  await read();
  await prometheus.scrapedAgain();
}

/** What a process on Cassandra shows beside the rest, as if each statement had run once. */
async function showCassandraMetrics() {
  const metrics = new Metrics();
  const measures = declareCassandraMetrics(metrics);
  const { statementSeconds, pendingReads, readTimeouts, gcSeconds, cpuShare } = measures;
  for (const figure of [pendingReads, readTimeouts, gcSeconds, cpuShare]) {
    figure.from(() => [{ value: 0.5, labels: ["127.0.0.1:9042"] }]);
  }
  statementSeconds.observe(0.01, "read", "ok");
  statementSeconds.observe(0.01, "read", "failed");
  const server = createServer((_request, response) => {
    void metrics.text().then((text) => response.end(text));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    address: `127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
