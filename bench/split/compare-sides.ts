/**
 * The same reads of the same events, stored in different ways: long ranges, pages, many readers.
 */
import { GrpcLoad } from "../support/grpc-load.ts";
import type { NodeSpent } from "../support/node-figures.ts";
import { processorSeconds } from "../support/process-figures.ts";
import { pagesAlone, pagesTogether, ranges, streamRange } from "../support/read-load.ts";
import type { Order, PageFigures, RangeFigures, Side } from "../support/read-load.ts";
import { note } from "../support/report.ts";
import type { Report } from "../support/report.ts";
import { median } from "../support/stats.ts";
import type { CassandraBench } from "./cassandra-bench.ts";
import { addGain, addSlower, pageFigure, rateFigure, tell } from "./findings.ts";
import type { SplitBenchOptions } from "./options.ts";

export type SideName = "wide" | "packed" | "rows" | "narrow";
export type Sides = Readonly<Record<SideName, Side>>;

const READERS = 32;
/** Sockets that they share: a single one would be a queue. */
const CONNECTIONS = 8;

/** Goals of a stream of packed parts, to the same events stored in other ways. */
const GAINS: Readonly<Record<Order, { readonly wide: number; readonly wellBucketed: number }>> = {
  NEWEST_FIRST: { wide: 10, wellBucketed: 5 },
  OLDEST_FIRST: { wide: 12, wellBucketed: 5 },
};
const PAGE_P50_MAX: Readonly<Record<Order, number>> = { NEWEST_FIRST: 1, OLDEST_FIRST: 1.1 };

interface Measured {
  readonly report: Report;
  readonly what: string;
  readonly bench: CassandraBench;
  readonly options: SplitBenchOptions;
  readonly sides: Sides;
  readonly withGoals: boolean;
}

export async function compareSides(
  report: Report,
  what: string,
  bench: CassandraBench,
  options: SplitBenchOptions,
  sides: Sides,
  { withGoals }: { withGoals: boolean },
): Promise<void> {
  const measured = { report, what, bench, options, sides, withGoals };
  for (const order of ["NEWEST_FIRST", "OLDEST_FIRST"] as const) {
    await compareRanges(measured, order);
    await comparePages(measured, order);
    await compareTogether(measured, order);
  }
}

async function compareRanges(measured: Measured, order: Order): Promise<void> {
  const { report, what, bench, options, sides, withGoals } = measured;
  const { rounds, warmUp, mb } = options;
  const found = await ranges(
    bench.grpc,
    Object.values(sides),
    order,
    // Each round reads another range, so that all of it is read once.
    { rounds, warmUp: Math.min(warmUp, 1), ranges: rounds, bytes: mb * 1e6 },
    (line) => note(`${what}: ${line}`),
  );
  const of = (name: SideName): RangeFigures => found.get(sides[name]) as RangeFigures;
  const name = `${what}, range, ${order}`;
  for (const [side, figures] of found) {
    tell(report, `${name}, ${side.name}, MB/s`, median(figures.rate), rateFigure(figures));
  }
  const goals = withGoals ? GAINS[order] : undefined;
  addGain(report, `${name}, packed against wide`, of("packed"), of("wide"), goals?.wide);
  addGain(
    report,
    `${name}, packed against well bucketed`,
    of("packed"),
    of("narrow"),
    goals?.wellBucketed,
  );
}

async function comparePages(measured: Measured, order: Order): Promise<void> {
  const { report, what, bench, options, sides } = measured;
  const found = await pagesAlone(bench.grpc, Object.values(sides), order, options);
  const name = `${what}, page of 100, ${order}`;
  for (const [side, figures] of found) {
    tell(report, `${name}, ${side.name}, p50 ms`, median(figures.p50), pageFigure(figures));
  }
  const packed = found.get(sides.packed) as PageFigures;
  const narrow = found.get(sides.narrow) as PageFigures;
  const against = `${name}, packed against well bucketed`;
  addSlower(report, against, "p50", packed, narrow, PAGE_P50_MAX[order]);
  addSlower(report, against, "p99", packed, narrow, 1.5);
}

/** 32 readers, and what the node and the server spend on them. */
async function compareTogether(measured: Measured, order: Order): Promise<void> {
  const { report, what, bench, options, sides } = measured;
  const connections = await openAll(bench.server.port);
  const spent = new Map<Side, { node: NodeSpent[]; server: number }>();
  try {
    const found = await pagesTogether(
      connections,
      Object.values(sides),
      order,
      { ...options, readers: READERS },
      async (side, work) => {
        const before = await processorSeconds(bench.server.pid);
        const node = await bench.figures.during(work);
        const kept = spent.get(side) ?? { node: [], server: 0 };
        kept.node.push(node);
        kept.server += (await processorSeconds(bench.server.pid)) - before;
        spent.set(side, kept);
      },
    );
    for (const [side, figures] of found) {
      const { node = [], server = 0 } = spent.get(side) ?? {};
      tell(
        report,
        `${what}, page of 100, ${READERS} readers, ${order}, ${side.name}, pages/s`,
        median(figures.rate),
        `${pageFigure(figures)}; ${spentFigure(node, server, options.rounds * options.pages)}`,
      );
    }
  } finally {
    for (const connection of connections) connection.close();
  }
}

function spentFigure(node: readonly NodeSpent[], server: number, pages: number): string {
  const sum = (of: (spent: NodeSpent) => number): number =>
    node.reduce((total, each) => total + of(each), 0);
  const perPage = (cpuSeconds: number): string => ((1000 * cpuSeconds) / pages).toFixed(2);
  const took = sum(({ seconds }) => seconds);
  return (
    `node ${perPage(sum(({ cpuSeconds }) => cpuSeconds))} ms CPU a page, ` +
    `GC ${((100 * sum(({ gcMs }) => gcMs)) / (1000 * took)).toFixed(1)} % of the time, ` +
    `${Math.max(...node.map(({ pendingReadsMax }) => pendingReadsMax))} reads pending at most, ` +
    `${sum(({ readTimeouts }) => readTimeouts)} read timeouts; server ${perPage(server)} ms CPU a page`
  );
}

/** What width alone costs a page, once the wide ones are split. */
export async function compareWidths(
  report: Report,
  what: string,
  { grpc }: CassandraBench,
  options: SplitBenchOptions,
  sides: readonly Side[],
): Promise<void> {
  const found = await pagesAlone(grpc, sides, "NEWEST_FIRST", options);
  for (const [side, figures] of found) {
    tell(
      report,
      `${what}, page of 100 by width, ${side.name}, p50 ms`,
      median(figures.p50),
      pageFigure(figures),
    );
  }
  const [first] = sides;
  const last = sides.at(-1);
  if (first === undefined || last === undefined) return;
  const name = `${what}, page of 100, ${last.name} split against ${first.name}`;
  const [wide, narrow] = [found.get(last) as PageFigures, found.get(first) as PageFigures];
  addSlower(report, name, "p50", wide, narrow, 1.5);
}

/** A partition that is not split, read to its end page by page while others read it too. */
export async function readToTheEnd(
  report: Report,
  what: string,
  { grpc, server, figures }: CassandraBench,
  wide: Side,
  bytes: number,
): Promise<void> {
  const connections = await openAll(server.port);
  let over = false;
  let failed = 0;
  const load = Promise.all(
    connections.map(async (connection) => {
      while (!over) {
        const options = { rounds: 1, pages: 10, warmUp: 0 };
        const found = await pagesAlone(connection, [wide], "NEWEST_FIRST", options);
        failed += found.get(wide)?.failed ?? 0;
      }
    }),
  );
  let read = { megabytes: 0, took: 0 };
  const spent = await figures.during(async () => {
    read = await streamRange(grpc, wide, "NEWEST_FIRST");
  });
  over = true;
  await load;
  for (const connection of connections) connection.close();
  const whole = read.megabytes * 1e6 >= 0.99 * bytes;
  report.add({
    name: `${what}, not split, read to its end beside ${CONNECTIONS} readers, s`,
    figure: `${read.megabytes.toFixed(0)} MB; ${failed} pages of the others failed; the node had ${spent.readTimeouts} read timeouts`,
    value: read.took,
    goal: "whole, and no caller sees a timeout",
    met: whole && failed === 0,
  });
}

function openAll(port: number): Promise<GrpcLoad[]> {
  return Promise.all(Array.from({ length: CONNECTIONS }, () => GrpcLoad.open(port)));
}
