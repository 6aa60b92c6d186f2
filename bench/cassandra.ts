/**
 * The server on Cassandra against its baseline: the driver used directly, on the same node, in the
 * same run.
 *
 * Each case is measured five times, alternating with its baseline, and each side on an idle node;
 * the median of the five ratios counts. The baseline has one process beside the node, the server
 * two (itself and its caller): on few cores that is part of its cost.
 */
import { nextRandom, writeRequest } from "./support/events.ts";
import { frameMessage, GrpcLoad } from "./support/grpc-load.ts";
import { startOneNode } from "./support/one-node.ts";
import { RawCassandra } from "./support/raw-cassandra.ts";
import { note, Report } from "./support/report.ts";
import { startServer } from "./support/server-process.ts";
import { inFlight, median, percentile, seconds } from "./support/stats.ts";
import {
  describe,
  loadSeries,
  makeBatches,
  readRequest,
  thousands,
  WRITE,
} from "./support/workload.ts";

const ROUNDS = 5;
/** Rounds before those that count: the node compiles its code, and so does the server. */
const WARM_UP = 4;
/** Requests of 100 events in flight, for both. */
const IN_FLIGHT = 8;

interface Sides {
  readonly raw: RawCassandra;
  readonly grpc: GrpcLoad;
}

export async function benchCassandra(): Promise<Report> {
  const report = new Report("cassandra");
  const node = await startOneNode("cassandra");
  const { contactPoint } = node;
  const server = await startServer({
    BRAID_ENGINE: "cassandra",
    BRAID_CASSANDRA_CONTACT_POINTS: contactPoint,
  });
  const raw = await RawCassandra.open(contactPoint);
  const grpc = await GrpcLoad.open(server.port);
  try {
    await server.post("ControlService/CreateNamespace", {
      namespace: "bench",
      config: {
        // One slice and one bucket around the present, so that an id's events are one partition.
        timePartition: { secondsPerTimeSlice: 864_000, secondsPerTimeBucket: 864_000 },
        acceptLimit: "7200s",
        retention: { closeAfter: "8640000s", deleteAfter: "9000000s" },
      },
    });
    const sides = { raw, grpc };
    await benchIngest(report, sides, 1);
    await benchIngest(report, sides, 20);
    await benchSeries(report, sides);
    await benchPages(report, sides);
    const memory = await server.peakMemoryMiB();
    report.add({
      name: "server memory, most",
      figure: `${Math.round(memory.resident)} MiB resident`,
      value: memory.resident,
      goal: "< 400 MiB resident",
      met: memory.resident < 400,
    });
  } finally {
    grpc.close();
    await raw.close();
    await server.stop();
    await node.stop();
  }
  return report;
}

/** Ingest in requests of 100 events over 1,000 ids; `together` events of one id side by side. */
async function benchIngest(report: Report, { raw, grpc }: Sides, together: number): Promise<void> {
  const eventsPerRound = together === 1 ? 20_000 : 60_000;
  const rates: Record<"raw" | "grpc", number[]> = { raw: [], grpc: [] };
  for (let round = 0; round < WARM_UP + ROUNDS; round++) {
    const batches = makeBatches(round, eventsPerRound, together);
    const statements = batches.map((batch) => RawCassandra.statements(batch));
    const requests = batches.map((batch) => frameMessage(writeRequest("bench", batch)));
    const [rawSeconds, grpcSeconds] = await inTurn(round, raw, [
      () => inFlight(statements, IN_FLIGHT, (batch) => raw.write(batch)),
      () =>
        inFlight(requests, IN_FLIGHT, async (request) => void (await grpc.call(WRITE, request))),
    ]);
    if (round < WARM_UP) continue;
    rates.raw.push(eventsPerRound / rawSeconds);
    rates.grpc.push(eventsPerRound / grpcSeconds);
    note(`ingest ${round}: ${describe(rates)}`);
  }
  const ratio = median(rates.grpc.map((rate, round) => rate / (rates.raw[round] as number)));
  report.add({
    name: `ingest, gRPC, ${together === 1 ? "ids at random" : `${together} events of an id together`}`,
    figure: `${thousands(median(rates.grpc))} of ${thousands(median(rates.raw))} events/s`,
    value: ratio,
    goal: ">= 60 % of the raw driver",
    met: ratio >= 0.6,
  });
}

/** A whole series of 100 MB through the gRPC stream, newest first as it is stored. */
async function benchSeries(report: Report, sides: Sides): Promise<void> {
  const { raw, grpc } = sides;
  const { start, end } = await load(sides, "series", 400_000);
  const request = frameMessage(readRequest("series", start, end, 0, "NEWEST_FIRST"));
  const ratios: number[] = [];
  const rates: number[] = [];
  const rawRates: number[] = [];
  for (let round = 0; round < WARM_UP + ROUNDS; round++) {
    let megabytes = 0;
    const [rawSeconds, streamSeconds] = await inTurn(round, raw, [
      () => raw.scan("series"),
      async () => {
        megabytes = (await grpc.call("TimeSeriesService/StreamEventRecords", request)) / 1e6;
      },
    ]);
    if (round < WARM_UP) continue;
    ratios.push(rawSeconds / streamSeconds);
    rates.push(megabytes / streamSeconds);
    rawRates.push(megabytes / rawSeconds);
    note(
      `series ${round}: raw ${rawRates.at(-1)?.toFixed(0)} MB/s, stream ${rates.at(-1)?.toFixed(0)} MB/s`,
    );
  }
  report.add({
    name: "whole series of 100 MB, gRPC stream",
    figure: `${median(rates).toFixed(0)} of ${median(rawRates).toFixed(0)} MB/s`,
    value: median(ratios),
    goal: ">= 60 % of the raw driver",
    met: median(ratios) >= 0.6,
  });
}

/** A page of 100 from anywhere in a series of 100 thousand. */
async function benchPages(report: Report, sides: Sides): Promise<void> {
  const { raw, grpc } = sides;
  const { start, end } = await load(sides, "pages", 100_000);
  await raw.settled();
  const pagesPerRound = 500;
  const kept: Record<"raw" | "grpc", { p50: number[]; p99: number[] }> = {
    raw: { p50: [], p99: [] },
    grpc: { p50: [], p99: [] },
  };
  for (let round = 0; round < WARM_UP + ROUNDS; round++) {
    const times: Record<"raw" | "grpc", number[]> = { raw: [], grpc: [] };
    for (let page = 0; page < pagesPerRound; page++) {
      const from = start + Math.floor(nextRandom() * 0.99 * (end - start));
      const request = frameMessage(readRequest("pages", from, end, 100));
      times.raw.push(1000 * (await seconds(() => raw.page("pages", from, 100))));
      times.grpc.push(
        1000 * (await seconds(() => grpc.call("TimeSeriesService/ReadEventRecords", request))),
      );
    }
    if (round < WARM_UP) continue;
    for (const side of ["raw", "grpc"] as const) {
      kept[side].p50.push(percentile(times[side], 50));
      kept[side].p99.push(percentile(times[side], 99));
    }
    note(`pages ${round}: raw ${shown(kept.raw)}, server ${shown(kept.grpc)} (p50/p99)`);
  }
  for (const which of ["p50", "p99"] as const) {
    const over = median(kept.grpc[which].map((value, i) => value - (kept.raw[which][i] as number)));
    report.add({
      name: `page of 100, ${which} over the raw driver`,
      figure: `${median(kept.grpc[which]).toFixed(2)} ms; raw ${median(kept.raw[which]).toFixed(2)} ms`,
      value: over,
      goal: "<= 2 ms",
      met: over <= 2,
    });
  }
}

/** Seconds of both, whichever goes first. */
async function inTurn(
  round: number,
  raw: RawCassandra,
  [first, second]: [() => Promise<unknown>, () => Promise<unknown>],
): Promise<[number, number]> {
  const measured = async (work: () => Promise<unknown>): Promise<number> => {
    await raw.settled();
    return seconds(work);
  };
  if (round % 2 === 0) return [await measured(first), await measured(second)];
  const later = await measured(second);
  return [await measured(first), later];
}

function shown({ p50, p99 }: { p50: number[]; p99: number[] }): string {
  return `${p50.at(-1)?.toFixed(2)}/${p99.at(-1)?.toFixed(2)} ms`;
}

/** Writes a series of one event per half millisecond to both; returns the interval it fills. */
async function load(
  { raw, grpc }: Sides,
  series: string,
  count: number,
): Promise<{ start: number; end: number }> {
  const range = await loadSeries(series, count, async (batch) => {
    await raw.write(RawCassandra.statements(batch));
    await grpc.call(WRITE, frameMessage(writeRequest("bench", batch)));
  });
  note(`loaded ${thousands(count)} events of ${series}`);
  return range;
}
