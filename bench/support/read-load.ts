/**
 * The reads that are compared: pages from random positions and long ranges, of several sides,
 * alternating.
 *
 * A side is one way of storing the same events. A failed read is counted and not measured, and a
 * range that came back too short counts as failed: an error after the first page has bytes too.
 */
import { nextRandom } from "./events.ts";
import { frameMessage } from "./grpc-load.ts";
import type { GrpcLoad } from "./grpc-load.ts";
import { byTurns, inFlight, percentile, seconds } from "./stats.ts";
import { readRequest } from "./workload.ts";

export type Order = "NEWEST_FIRST" | "OLDEST_FIRST";

export interface Side {
  readonly name: string;
  readonly namespace: string;
  readonly series: string;
  /** Event time it fills. */
  readonly start: number;
  readonly end: number;
}

/** One figure a round. */
export interface PageFigures {
  readonly mean: number[];
  readonly p50: number[];
  readonly p99: number[];
  /** Pages a second, all readers together. */
  readonly rate: number[];
  failed: number;
}

const READ = "TimeSeriesService/ReadEventRecords";
const STREAM = "TimeSeriesService/StreamEventRecords";
const PAGE = 100;
/** Pages begin no later than here, so that each is full. */
const LAST_PLACE = 0.95;

export function pageRequest(side: Side, location: number, order: Order): Uint8Array {
  const { namespace, series, start, end } = side;
  const at = start + Math.floor((0.02 + location * (LAST_PLACE - 0.02)) * (end - start));
  const [from, to] = order === "OLDEST_FIRST" ? [at, end] : [start, at];
  return frameMessage(readRequest(series, from, to, PAGE, order, namespace));
}

/** One page after another, each side in turn at the same place. Milliseconds. */
export async function pagesAlone(
  grpc: GrpcLoad,
  sides: readonly Side[],
  order: Order,
  { rounds, pages, warmUp }: { rounds: number; pages: number; warmUp: number },
): Promise<Map<Side, PageFigures>> {
  const figures = new Map(sides.map((side) => [side, emptyFigures()]));
  for (let round = -warmUp; round < rounds; round++) {
    const times = new Map(sides.map((side): [Side, number[]] => [side, []]));
    for (let page = 0; page < pages; page++) {
      const location = nextRandom();
      for (const side of byTurns(sides, page)) {
        await measurePage(
          grpc,
          pageRequest(side, location, order),
          times.get(side),
          figures.get(side),
        );
      }
    }
    if (round >= 0) for (const side of sides) keep(figures.get(side), times.get(side), 1);
  }
  return figures;
}

/** `readers` at once, side after side in each round. */
export async function pagesTogether(
  connections: readonly GrpcLoad[],
  sides: readonly Side[],
  order: Order,
  {
    rounds,
    pages,
    warmUp,
    readers,
  }: { rounds: number; pages: number; warmUp: number; readers: number },
  around: (side: Side, work: () => Promise<void>) => Promise<void> = (_, work) => work(),
): Promise<Map<Side, PageFigures>> {
  const figures = new Map(sides.map((side) => [side, emptyFigures()]));
  for (let round = -warmUp; round < rounds; round++) {
    const locations = Array.from({ length: pages }, nextRandom);
    for (const side of byTurns(sides, round + warmUp)) {
      const requests = locations.map((location) => pageRequest(side, location, order));
      const times: number[] = [];
      const work = async (): Promise<void> => {
        const took = await seconds(() =>
          inFlight(requests, readers, async (request, worker) => {
            const grpc = connections[worker % connections.length] as GrpcLoad;
            await measurePage(grpc, request, times, figures.get(side));
          }),
        );
        if (round >= 0) keep(figures.get(side), times, times.length / took);
      };
      await (round < 0 ? work() : around(side, work));
    }
  }
  return figures;
}

export interface RangeFigures {
  /** MB/s, one figure a round. */
  readonly rate: number[];
  failed: number;
}

/**
 * A range of the events through the stream: in each round another one, so that all rounds together
 * read everything, each side in turn.
 */
export async function ranges(
  grpc: GrpcLoad,
  sides: readonly Side[],
  order: Order,
  {
    rounds,
    warmUp,
    ranges,
    bytes,
  }: { rounds: number; warmUp: number; ranges: number; bytes: number },
  onRound: (line: string) => void,
): Promise<Map<Side, RangeFigures>> {
  const figures = new Map(
    sides.map((side): [Side, RangeFigures] => [side, { rate: [], failed: 0 }]),
  );
  for (let round = -warmUp; round < rounds; round++) {
    const shown: string[] = [];
    for (const side of byTurns(sides, round + warmUp)) {
      const nth = (round + ranges) % ranges;
      const width = (side.end - side.start) / ranges;
      const from = side.start + Math.floor(nth * width);
      const part = { ...side, start: from, end: Math.floor(from + width) };
      const { megabytes, took } = await streamRange(grpc, part, order);
      const of = figures.get(side) as RangeFigures;
      if (megabytes * 1e6 < (0.95 * bytes) / ranges) of.failed++;
      else if (round >= 0) of.rate.push(megabytes / took);
      shown.push(`${side.name} ${(megabytes / took).toFixed(0)}`);
    }
    if (round >= 0) onRound(`${order} ${round}: ${shown.join(", ")} MB/s`);
  }
  return figures;
}

/** All of a side through the stream; 0 MB if it failed. */
export async function streamRange(
  grpc: GrpcLoad,
  { namespace, series, start, end }: Side,
  order: Order,
): Promise<{ megabytes: number; took: number }> {
  const request = frameMessage(readRequest(series, start, end, 0, order, namespace));
  let megabytes = 0;
  const took = await seconds(async () => {
    megabytes = (await grpc.call(STREAM, request).catch(() => 0)) / 1e6;
  });
  return { megabytes, took };
}

async function measurePage(
  grpc: GrpcLoad,
  request: Uint8Array,
  times: number[] | undefined,
  figures: PageFigures | undefined,
): Promise<void> {
  try {
    times?.push(1000 * (await seconds(() => grpc.call(READ, request))));
  } catch {
    if (figures !== undefined) figures.failed++;
  }
}

function keep(figures: PageFigures | undefined, times: readonly number[] = [], rate: number): void {
  figures?.mean.push(times.reduce((sum, each) => sum + each, 0) / times.length);
  figures?.p50.push(percentile(times, 50));
  figures?.p99.push(percentile(times, 99));
  figures?.rate.push(rate);
}

function emptyFigures(): PageFigures {
  return { mean: [], p50: [], p99: [], rate: [], failed: 0 };
}
