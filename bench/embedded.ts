/**
 * The embedded server against its baseline: LevelDB used directly, in the same run.
 *
 * Each case is measured five times, alternating with its baseline, and the median of the five
 * ratios counts: a noisy machine affects both.
 */
import {
  makeEvent,
  nextRandom,
  rawEntry,
  rawKey,
  writeJson,
  writeRequest,
} from "./support/events.ts";
import { frameMessage, GrpcLoad } from "./support/grpc-load.ts";
import { HttpLoad, httpRequest } from "./support/http-load.ts";
import { RawEngine } from "./support/raw-engine.ts";
import { note, Report } from "./support/report.ts";
import { startServer } from "./support/server-process.ts";
import type { ServerProcess } from "./support/server-process.ts";
import { inFlight, median, percentile, seconds } from "./support/stats.ts";
import {
  BATCH,
  describe,
  loadSeries,
  makeBatches,
  readRequest,
  thousands,
  WRITE,
} from "./support/workload.ts";

const ROUNDS = 5;
/** Rounds that do not count: code is compiled, and stores reach their usual shape. */
const WARM_UP = 3;
const IN_FLIGHT = 8;

export async function benchEmbedded(): Promise<Report> {
  const report = new Report("embedded");
  const server = await startServer();
  const raw = await RawEngine.open();
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
    await benchIngest(report, server, raw, grpc);
    await benchSeries(report, raw, grpc);
    await benchPages(report, raw, grpc);
    const memory = await server.peakMemoryMiB();
    report.add({
      name: "server memory, most",
      figure: `${Math.round(memory.resident)} MiB resident, ${Math.round(memory.anonymous)} MiB without mapped files`,
      value: memory.resident,
      goal: "< 400 MiB resident",
      met: memory.resident < 400,
    });
  } finally {
    grpc.close();
    await raw.close();
    await server.stop();
  }
  await benchQueuedLoss(report);
  return report;
}

/** Queued writes at full speed, and a kill in the middle: how many accepted events are lost. */
async function benchQueuedLoss(report: Report): Promise<void> {
  const losses: number[] = [];
  const milliseconds: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    let server = await startServer();
    await server.post("ControlService/CreateNamespace", { namespace: "bench" });
    const grpc = await GrpcLoad.open(server.port);
    const start = Date.now() * 1000 - 60e6;
    const requests = Array.from({ length: 400 }, (_, nth) => {
      const events = Array.from({ length: BATCH }, (__, i) =>
        makeEvent("queued", start + nth * BATCH + i, nth * BATCH + i),
      );
      return frameMessage(writeRequest("bench", events));
    });
    let accepted = 0;
    const took = await seconds(() =>
      inFlight(requests, IN_FLIGHT, async (request) => {
        await grpc.call("TimeSeriesService/WriteEventRecords", request);
        accepted += BATCH;
      }),
    );
    grpc.close();
    server = await server.killAndRestart();
    const reading = await GrpcLoad.open(server.port);
    const read = readRequest("queued", start, start + 60e6, 0);
    const bytes = await reading.call("TimeSeriesService/StreamEventRecords", frameMessage(read));
    reading.close();
    await server.stop();
    // Events have one size, and pages add little, so the bytes give the number of events.
    const lost = Math.max(0, accepted - Math.floor(bytes / 253));
    losses.push(lost);
    milliseconds.push((1000 * took * lost) / accepted);
    note(`queued ${round}: ${lost} of ${accepted} lost`);
  }
  report.add({
    name: "queued writes lost by SIGKILL at full speed, ms of writing",
    figure: `${median(losses)} events, at most ${Math.max(...losses)}`,
    value: median(milliseconds),
    goal: "none",
    met: true,
  });
}

/** Durable ingest in batches of 100, 8 in flight, over 1,000 ids. */
async function benchIngest(
  report: Report,
  server: ServerProcess,
  raw: RawEngine,
  grpc: GrpcLoad,
): Promise<void> {
  const sockets = await Promise.all(
    Array.from({ length: IN_FLIGHT }, () => HttpLoad.open(server.port)),
  );
  const eventsPerRound = 60_000;
  const rates: Record<"raw" | "grpc" | "http", number[]> = { raw: [], grpc: [], http: [] };
  for (let round = 0; round < WARM_UP + ROUNDS; round++) {
    const batches = makeBatches(round, eventsPerRound, 1);
    const entries = batches.map((batch) => batch.map(rawEntry));
    const requests = batches.map((batch) => frameMessage(writeRequest("bench", batch)));
    const bodies = batches.map((batch) => httpRequest(WRITE, writeJson("bench", batch)));
    const rawSeconds = await seconds(() =>
      inFlight(entries, IN_FLIGHT, (batch) => raw.write(batch)),
    );
    const grpcSeconds = await seconds(() =>
      inFlight(requests, IN_FLIGHT, async (request) => void (await grpc.call(WRITE, request))),
    );
    const httpSeconds = await seconds(() =>
      inFlight(bodies, IN_FLIGHT, async (body, worker) => sockets[worker]?.send(body)),
    );
    if (round < WARM_UP) continue;
    rates.raw.push(eventsPerRound / rawSeconds);
    rates.grpc.push(eventsPerRound / grpcSeconds);
    rates.http.push(eventsPerRound / httpSeconds);
    note(`ingest ${round}: ${describe(rates)}`);
  }
  for (const socket of sockets) socket.close();
  for (const way of ["grpc", "http"] as const) {
    const ratio = median(rates[way].map((rate, round) => rate / (rates.raw[round] as number)));
    report.add({
      name: `durable ingest, ${way === "grpc" ? "gRPC" : "HTTP/JSON"}`,
      figure: `${thousands(median(rates[way]))} of ${thousands(median(rates.raw))} events/s`,
      value: ratio,
      goal: ">= 40 % of the raw engine, 60 % wanted",
      met: ratio >= 0.4,
    });
  }
}

/** A whole series of 100 MB through the gRPC stream. */
async function benchSeries(report: Report, raw: RawEngine, grpc: GrpcLoad): Promise<void> {
  const count = 400_000;
  const { start, end } = await load(raw, grpc, "series", count);
  const request = frameMessage(readRequest("series", start, end, 0));
  const ratios: number[] = [];
  const rates: number[] = [];
  let megabytes = 0;
  for (let round = 0; round < WARM_UP + ROUNDS; round++) {
    const rawSeconds = await seconds(async () => {
      megabytes =
        (await raw.scan(rawKey("series", start, ""), rawKey("series", end, ""), -1)) / 1e6;
    });
    const streamSeconds = await seconds(() =>
      grpc.call("TimeSeriesService/StreamEventRecords", request),
    );
    if (round < WARM_UP) continue;
    ratios.push(rawSeconds / streamSeconds);
    rates.push(megabytes / streamSeconds);
    note(
      `series ${round}: raw ${(megabytes / rawSeconds).toFixed(0)} MB/s, stream ${(megabytes / streamSeconds).toFixed(0)} MB/s`,
    );
  }
  report.add({
    name: `whole series of ${Math.round(megabytes)} MB, gRPC stream`,
    figure: `${median(rates).toFixed(0)} MB/s`,
    value: median(ratios),
    goal: ">= 60 % of a raw scan",
    met: median(ratios) >= 0.6,
  });
}

/** A page of 100 from anywhere, in a series of 10 thousand and of 1 million. */
async function benchPages(report: Report, raw: RawEngine, grpc: GrpcLoad): Promise<void> {
  const sizes = { small: 10_000, large: 1_000_000 };
  const small = await load(raw, grpc, "small", sizes.small);
  const large = await load(raw, grpc, "large", sizes.large);
  const pagesPerRound = 500;
  const rounds: Record<string, { p50: number[]; p99: number[] }> = {};
  const record = (name: string, times: readonly number[]): void => {
    const kept = (rounds[name] ??= { p50: [], p99: [] });
    kept.p50.push(percentile(times, 50));
    kept.p99.push(percentile(times, 99));
  };
  for (let round = 0; round < WARM_UP + ROUNDS; round++) {
    const times: Record<string, number[]> = { raw: [], small: [], large: [] };
    const measure = async (name: string, work: () => Promise<unknown>): Promise<void> => {
      times[name]?.push(1000 * (await seconds(work)));
    };
    for (let page = 0; page < pagesPerRound; page++) {
      const location = nextRandom() * 0.99;
      const at = large.start + Math.floor(location * (large.end - large.start));
      const to = rawKey("large", large.end, "");
      await measure("raw", () => raw.scan(rawKey("large", at, ""), to, 100));
      for (const [name, range] of [
        ["small", small],
        ["large", large],
      ] as const) {
        const from = range.start + Math.floor(location * (range.end - range.start));
        const request = frameMessage(readRequest(name, from, range.end, 100));
        await measure(name, () => grpc.call("TimeSeriesService/ReadEventRecords", request));
      }
    }
    if (round < WARM_UP) continue;
    for (const name of ["raw", "small", "large"]) record(name, times[name] ?? []);
    note(
      `pages ${round}: ${Object.entries(rounds)
        .map(
          ([name, { p50, p99 }]) =>
            `${name} ${p50.at(-1)?.toFixed(2)}/${p99.at(-1)?.toFixed(2)} ms`,
        )
        .join(", ")}`,
    );
  }
  const of = (name: string, which: "p50" | "p99"): number[] => rounds[name]?.[which] ?? [];
  const over = median(of("large", "p99").map((p99, i) => p99 - (of("raw", "p99")[i] as number)));
  report.add({
    name: "page of 100 in a series of 1 million, p99 over a raw seek and scan",
    figure: `p50 ${median(of("large", "p50")).toFixed(2)} ms, p99 ${median(of("large", "p99")).toFixed(2)} ms; raw p99 ${median(of("raw", "p99")).toFixed(2)} ms`,
    value: over,
    goal: "<= 2 ms",
    met: over <= 2,
  });
  for (const which of ["p50", "p99"] as const) {
    const growth = median(
      of("large", which).map((value, i) => value / (of("small", which)[i] as number)),
    );
    report.add({
      name: `page of 100, ${which}, 1 million against 10 thousand events`,
      figure: `${median(of("large", which)).toFixed(2)} ms against ${median(of("small", which)).toFixed(2)} ms`,
      value: growth,
      goal: "<= 1.5 times",
      met: growth <= 1.5,
    });
  }
}

/** Writes a series of one event per half millisecond to both; returns the interval it fills. */
async function load(
  raw: RawEngine,
  grpc: GrpcLoad,
  series: string,
  count: number,
): Promise<{ start: number; end: number }> {
  const range = await loadSeries(series, count, async (batch) => {
    await raw.write(batch.map(rawEntry));
    await grpc.call(WRITE, frameMessage(writeRequest("bench", batch)));
  });
  note(`loaded ${thousands(count)} events of ${series}`);
  return range;
}
