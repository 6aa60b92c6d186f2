/**
 * Reads at ten and at a hundred times the load that saturates a server, by callers that repeat at
 * once: what is answered, how soon refusals leave, and whether another namespace is still served.
 *
 * Each load is measured in turn with the load that saturates, and the medians of the ratios count.
 */
import { nextRandom, writeRequest } from "./support/events.ts";
import { frameMessage, GrpcLoad } from "./support/grpc-load.ts";
import { startOneNode } from "./support/one-node.ts";
import { note, Report } from "./support/report.ts";
import { startServer } from "./support/server-process.ts";
import type { ServerProcess } from "./support/server-process.ts";
import { median } from "./support/stats.ts";
import { loadSeries, readRequest, WRITE } from "./support/workload.ts";

export const OVERLOAD_FLAGS = "[--only embedded,cassandra]";

const READ = "TimeSeriesService/ReadEventRecords";
const ROUNDS = 3;
const ROUND_MS = 5_000;
/** In flight when the server is saturated. */
const SATURATING = 32;
const EVENTS = 200_000;
const PAGE = 100;
/** `slos.read.max` as namespaces have it. */
const READ_MAX_MS = 1_000;
const QUIET_EVERY_MS = 50;

export async function benchOverload(flags: readonly string[]): Promise<Report> {
  const report = new Report("overload");
  const only = flags[flags.indexOf("--only") + 1];
  const wanted = flags.includes("--only") ? (only ?? "").split(",") : ["embedded", "cassandra"];
  if (wanted.includes("embedded")) await onServer(report, "embedded", await startServer());
  if (wanted.includes("cassandra")) await onCassandra(report);
  return report;
}

async function onCassandra(report: Report): Promise<void> {
  const node = await startOneNode("overload");
  try {
    const server = await startServer({
      BRAID_ENGINE: "cassandra",
      BRAID_CASSANDRA_CONTACT_POINTS: node.contactPoint,
    });
    await onServer(report, "cassandra", server);
  } finally {
    await node.stop();
  }
}

async function onServer(report: Report, engine: string, server: ServerProcess): Promise<void> {
  const control = await GrpcLoad.open(server.port);
  try {
    for (const namespace of ["bench", "quiet"]) {
      await server.post("ControlService/CreateNamespace", {
        namespace,
        config: {
          timePartition: { secondsPerTimeSlice: 864_000, secondsPerTimeBucket: 864_000 },
          acceptLimit: "7200s",
          retention: { closeAfter: "8640000s", deleteAfter: "9000000s" },
        },
      });
    }
    const { start, end } = await loadSeries("hot", EVENTS, async (batch) => {
      for (const namespace of ["bench", "quiet"]) {
        await control.call(WRITE, frameMessage(writeRequest(namespace, batch)));
      }
    });
    const page = (namespace: string): Uint8Array => {
      const from = start + Math.floor(nextRandom() * (end - start));
      return frameMessage(readRequest("hot", from, end, PAGE, "OLDEST_FIRST", namespace));
    };
    // Code is compiled, and tables are opened.
    await load(server.port, SATURATING, page);
    for (const times of [10, 100]) await compare(report, engine, server, times, page);
    const { anonymous } = await server.peakMemoryMiB();
    report.add({
      name: `${engine}: server memory without mapped files, most`,
      figure: `${Math.round(anonymous)} MiB`,
      value: anonymous,
      goal: "within the settings: 128 + 64 + 128 + 16 MiB and the process itself",
      met: anonymous < 700,
    });
  } finally {
    control.close();
    await server.stop();
  }
}

async function compare(
  report: Report,
  engine: string,
  server: ServerProcess,
  times: number,
  page: (namespace: string) => Uint8Array,
): Promise<void> {
  const kept: number[] = [];
  const inTime: number[] = [];
  const quiet: number[] = [];
  let refused = 0;
  let answered = 0;
  const before = await timesOf(server);
  for (let round = 0; round < ROUNDS; round++) {
    const peak = await load(server.port, SATURATING, page);
    const over = await load(server.port, SATURATING * times, page);
    kept.push(over.answered / peak.answered);
    inTime.push(over.inTime / over.answered);
    quiet.push(over.quietAnswered / over.quietAsked);
    refused += over.refused;
    answered += over.answered;
    note(
      `${engine} ${times}x round ${round}: ${over.answered} of ${peak.answered}, refused ${over.refused}`,
    );
  }
  const name = `${engine}, ${times} times the load`;
  const add = (what: string, value: number, goal: string, met: boolean, figure: string): void =>
    report.add({ name: `${name}: ${what}`, value, goal, met, figure });
  const keptNow = median(kept);
  add("answers, to the peak", keptNow, ">= 0.8", keptNow >= 0.8, `${refused} refused`);
  const inTimeNow = median(inTime);
  add("answers within slos.read.max", inTimeNow, ">= 0.99", inTimeNow >= 0.99, "");
  const quietNow = median(quiet);
  add("another namespace's reads answered", quietNow, ">= 0.99", quietNow >= 0.99, "");
  const after = await timesOf(server);
  // What waits unread in a socket is not admitted yet: only the caller counts it.
  const slow = after.slow - before.slow;
  const inTimeHere = 1 - slow / answered;
  const goal = inTimeHere >= 0.99;
  add(
    "answers within slos.read.max, by the server's clock",
    inTimeHere,
    ">= 0.99",
    goal,
    `${slow} later`,
  );
  const late = lateShare(before, after);
  add("refusals later than 10 ms", late, "<= 0.01", late <= 0.01, "by the server's clock");
}

interface Loaded {
  answered: number;
  inTime: number;
  refused: number;
  quietAsked: number;
  quietAnswered: number;
}

/** Keeps this many reads in flight for a round; a refused read is repeated at once. */
async function load(
  port: number,
  width: number,
  page: (namespace: string) => Uint8Array,
): Promise<Loaded> {
  const connections = await Promise.all(
    Array.from({ length: Math.min(64, Math.ceil(width / 32)) }, () => GrpcLoad.open(port)),
  );
  const quiet = await GrpcLoad.open(port);
  const loaded = { answered: 0, inTime: 0, refused: 0, quietAsked: 0, quietAnswered: 0 };
  const endsAt = performance.now() + ROUND_MS;
  const reader = async (nth: number): Promise<void> => {
    const connection = connections[nth % connections.length] as GrpcLoad;
    while (performance.now() < endsAt) {
      const startedAt = performance.now();
      try {
        await connection.call(READ, page("bench"));
        loaded.answered++;
        if (performance.now() - startedAt <= READ_MAX_MS) loaded.inTime++;
      } catch {
        // Refused: nothing was read.
        loaded.refused++;
      }
    }
  };
  const other = async (): Promise<void> => {
    while (performance.now() < endsAt) {
      loaded.quietAsked++;
      try {
        await quiet.call(READ, page("quiet"));
        loaded.quietAnswered++;
      } catch {
        // Counted by the requested load.
      }
      await new Promise((resolve) => setTimeout(resolve, QUIET_EVERY_MS));
    }
  };
  await Promise.all([other(), ...Array.from({ length: width }, (_, nth) => reader(nth))]);
  for (const connection of [...connections, quiet]) connection.close();
  return loaded;
}

interface Times {
  /** Refusals within 10 ms, and in all. */
  readonly soon: number;
  readonly all: number;
  /** Reads, refused or not, that took longer than `slos.read.max`. */
  readonly slow: number;
}

/** By the server's own histograms. */
async function timesOf(server: ServerProcess): Promise<Times> {
  const text = await (await fetch(`http://127.0.0.1:${server.port}/metrics`)).text();
  const valueOf = (series: string): number =>
    Number(
      text
        .split("\n")
        .find((line) => line.startsWith(series))
        ?.split(" ")
        .at(-1) ?? 0,
    );
  const reads = 'method="ReadEventRecords"';
  return {
    slow:
      valueOf(`braid_request_seconds_count{${reads}}`) -
      valueOf(`braid_request_seconds_bucket{le="1",${reads}}`),
    soon: valueOf('braid_refusal_seconds_bucket{le="0.01"}'),
    all: valueOf("braid_refusal_seconds_count"),
  };
}

function lateShare(before: Times, after: Times): number {
  const all = after.all - before.all;
  return all === 0 ? 0 : 1 - (after.soon - before.soon) / all;
}
