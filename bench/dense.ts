/**
 * A stream over 24 dense time buckets of rows: with the fan-out that a server learns against one
 * bucket after another, as two servers by turns in one run.
 *
 * On Cassandra both servers share a node, which works on the same cores as they do. The same once
 * more through a relay that delays what it passes on, as a network between machines would.
 */
import { writeRequest } from "./support/events.ts";
import { DelayRelay } from "./support/delay-relay.ts";
import { frameMessage, GrpcLoad } from "./support/grpc-load.ts";
import { startOneNode } from "./support/one-node.ts";
import { note, Report } from "./support/report.ts";
import { startServer } from "./support/server-process.ts";
import type { ServerProcess } from "./support/server-process.ts";
import { median, seconds } from "./support/stats.ts";
import { loadSeries, readRequest, WRITE } from "./support/workload.ts";

export const DENSE_FLAGS = "[--embedded] [--cassandra]";

const ROUNDS = 7;
const WARM_UP = 2;
const BUCKETS = 24;
/** Buckets of one second; the series has an event every half millisecond: 2,000 of 250 bytes. */
const EVENTS_PER_BUCKET = 2_000;
const RELAY_MS = 2;

interface Side {
  readonly server: ServerProcess;
  readonly grpc: GrpcLoad;
}

interface Sides {
  readonly sequential: Side;
  readonly adaptive: Side;
}

export async function benchDense(flags: readonly string[]): Promise<Report> {
  const report = new Report("dense");
  const all = flags.length === 0;
  if (all || flags.includes("--embedded")) await onEmbedded(report);
  if (all || flags.includes("--cassandra")) await onCassandra(report);
  return report;
}

async function onEmbedded(report: Report): Promise<void> {
  const sides = await openSides({});
  try {
    // Each has its own store, with the same events.
    const ranges = {
      sequential: await load(sides.sequential),
      adaptive: await load(sides.adaptive),
    };
    await compare(report, "embedded", sides, ranges);
  } finally {
    await closeSides(sides);
  }
}

async function onCassandra(report: Report): Promise<void> {
  const node = await startOneNode("dense");
  try {
    await compareOn(report, "Cassandra on the same cores", node.contactPoint);
    const relay = await DelayRelay.start(node.contactPoint, RELAY_MS);
    try {
      await compareOn(report, `Cassandra ${2 * RELAY_MS} ms away`, relay.contactPoint);
    } finally {
      await relay.stop();
    }
  } finally {
    await node.stop();
  }
}

async function compareOn(report: Report, where: string, contactPoint: string): Promise<void> {
  const sides = await openSides({
    BRAID_ENGINE: "cassandra",
    BRAID_CASSANDRA_CONTACT_POINTS: contactPoint,
  });
  try {
    const range = await load(sides.sequential);
    await compare(report, where, sides, { sequential: range, adaptive: range });
  } finally {
    await closeSides(sides);
  }
}

async function openSides(env: NodeJS.ProcessEnv): Promise<Sides> {
  const open = async (fanOut: string | undefined): Promise<Side> => {
    const server = await startServer({
      ...env,
      ...(fanOut && { BRAID_SERVER_READ_FAN_OUT: fanOut }),
    });
    return { server, grpc: await GrpcLoad.open(server.port) };
  };
  return { sequential: await open("1"), adaptive: await open(undefined) };
}

async function closeSides(sides: Sides): Promise<void> {
  for (const { grpc, server } of [sides.sequential, sides.adaptive]) {
    grpc.close();
    await server.stop();
  }
}

interface Range {
  readonly namespace: string;
  readonly start: number;
  readonly end: number;
}

/** Writes the series into a new namespace, as buckets of rows; returns the whole buckets. */
async function load({ server, grpc }: Side): Promise<Range> {
  const namespace = `dense_${++namespaces}`;
  await server.post("ControlService/CreateNamespace", {
    namespace,
    config: {
      timePartition: { secondsPerTimeSlice: 86_400, secondsPerTimeBucket: 1 },
      acceptLimit: "7200s",
      retention: { closeAfter: "8640000s", deleteAfter: "9000000s" },
      // The buckets stay rows.
      widePartition: { detect: false },
    },
  });
  // A bucket more than is read, because the series does not begin with one.
  const { end } = await loadSeries("series", (BUCKETS + 1) * EVENTS_PER_BUCKET, async (batch) => {
    await grpc.call(WRITE, frameMessage(writeRequest(namespace, batch)));
  });
  const last = end - (end % 1e6);
  return { namespace, start: last - BUCKETS * 1e6, end: last };
}

let namespaces = 0;

async function compare(
  report: Report,
  where: string,
  sides: Sides,
  ranges: Record<keyof Sides, Range>,
): Promise<void> {
  for (const order of ["NEWEST_FIRST", "OLDEST_FIRST"] as const) {
    const rates: Record<keyof Sides, number[]> = { sequential: [], adaptive: [] };
    for (let round = 0; round < WARM_UP + ROUNDS; round++) {
      const turns = ["sequential", "adaptive"] as const;
      for (const side of round % 2 === 0 ? turns : turns.toReversed()) {
        const { namespace, start, end } = ranges[side];
        const request = frameMessage(readRequest("series", start, end, 0, order, namespace));
        let bytes = 0;
        const took = await seconds(async () => {
          bytes = await sides[side].grpc.call("TimeSeriesService/StreamEventRecords", request);
        });
        if (round >= WARM_UP) rates[side].push(bytes / 1e6 / took);
      }
    }
    const ratio = median(
      rates.adaptive.map((rate, i) => rate / (rates.sequential[i] ?? Number.NaN)),
    );
    report.add({
      name: `24 dense buckets, ${where}, ${order === "NEWEST_FIRST" ? "newest" : "oldest"} first`,
      figure: `${median(rates.adaptive).toFixed(0)} of ${median(rates.sequential).toFixed(0)} MB/s`,
      value: ratio,
      goal: ">= 1.5 times one bucket after another",
      met: ratio >= 1.5,
    });
  }
  const { anonymous } = await sides.adaptive.server.peakMemoryMiB();
  note(`${where}: ${Math.round(anonymous)} MiB of the adaptive server without mapped files`);
}
