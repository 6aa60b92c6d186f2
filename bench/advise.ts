/**
 * What `braid advise --cassandra` predicts, held against a real Cassandra, and what its sampling
 * costs a reader.
 *
 * A table of views by video is sampled within a budget. For each strategy a table is then filled as
 * the strategy says, and the predicted sizes are compared with Cassandra's histogram. A reader of
 * pages is measured by turns, alone and beside a sampling run; the median of the rounds counts.
 */
import type { Client } from "cassandra-driver";
import type { Advice } from "../src/advise/advise.ts";
import { DEFAULT_BUDGET } from "../src/advise/sources/paced-reads.ts";
import { adviceOnTable } from "../tests/support/advise-cassandra.ts";
import {
  createSplit,
  createViews,
  measuredSizes,
  openKeyspace,
  VIEWS_TABLE,
  viewsOf,
} from "../tests/support/views-table.ts";
import type { View } from "../tests/support/views-table.ts";
import { startOneNode } from "./support/one-node.ts";
import { note, Report } from "./support/report.ts";
import { byTurns, median, percentile } from "./support/stats.ts";

export const ADVISE_FLAGS = "[--quick]";

const KEYSPACE = "bench_advise";
/** About 250 MB, and 25 MB. */
const WHOLE = { popular: popularOf(40), others: 2_000, otherRows: 5, bodyBytes: 2_500 };
const QUICK = { popular: popularOf(8), others: 400, otherRows: 5, bodyBytes: 1_250 };
const LIMITS = { rowsMax: 1_000, bytesMax: 2_500_000 };
const CHOICES = { widthsMicros: [86_400_000_000], hashes: [10] };
/** The goal of a ratio: within twice; Cassandra counts in steps of 1.2. */
const RATIO_MAX = 2;
const READ_MS = 10_000;
const PAGE_ROWS = 20;
const P99_RATIO_MAX = 1.2;

export async function benchAdvise(flags: readonly string[]): Promise<Report> {
  const report = new Report("advise");
  const quick = flags.includes("--quick");
  const views = viewsOf(quick ? QUICK : WHOLE);
  const bytes = views.reduce((sum, { body }) => sum + body.length + 50, 0);
  const node = await startOneNode("advise", { jolokia: true });
  try {
    const client = await openKeyspace(node.contactPoint, KEYSPACE);
    note(`writing ${views.length} views, ${(bytes / 1e6).toFixed(0)} MB`);
    await createViews(client, views);
    const table = { contactPoint: node.contactPoint, keyspace: KEYSPACE, table: VIEWS_TABLE };
    await measuredSizes(node.jolokiaUrl, KEYSPACE, VIEWS_TABLE);
    const options = { limits: LIMITS, choices: CHOICES };
    const advice = await adviceOnTable(table, options, { bytesMax: Math.min(64e6, bytes / 2) });
    for (const text of advice.notes) note(text);
    await benchReader(report, client, views, quick ? 3 : 5, async (msMax) => {
      await adviceOnTable(table, options, { ...DEFAULT_BUDGET, msMax });
    });
    await benchSizes(report, client, views, { advice, jolokia: node.jolokiaUrl });
    await client.shutdown();
  } finally {
    await node.stop();
  }
  return report;
}

interface Predicted {
  readonly advice: Advice;
  readonly jolokia: string;
}

async function benchSizes(
  report: Report,
  client: Client,
  views: readonly View[],
  { advice, jolokia }: Predicted,
): Promise<void> {
  const { sample, limits, judged } = advice;
  for (const [at, { measured }] of judged.entries()) {
    const { strategy, sizes } = measured;
    // The loader knows one existing column.
    if (strategy.option === "EXISTING_COLUMN" && !strategy.name.endsWith("device")) continue;
    note(`filling a table: ${strategy.name}`);
    const filled =
      strategy.option === "LEAVE"
        ? VIEWS_TABLE
        : await createSplit(client, views, strategy, {
            roles: sample.roles,
            limits,
            table: `views_${at}`,
          });
    const real = await measuredSizes(jolokia, KEYSPACE, filled);
    const cases = [
      ["p50", sizes.bytes.p50, real.percentile(0.5)],
      ["p99", sizes.bytes.p99, real.percentile(0.99)],
      ["max", sizes.bytes.max, real.maxBytes],
    ] as const;
    for (const [figure, predicted, measuredBytes] of cases) {
      const value = predicted / measuredBytes;
      report.add({
        name: `${strategy.name}: ${figure} predicted / measured`,
        value,
        goal: `1/${RATIO_MAX} to ${RATIO_MAX}`,
        met: value <= RATIO_MAX && value >= 1 / RATIO_MAX,
        figure:
          `${kilobytes(predicted)} / ${kilobytes(measuredBytes)} KB; ` +
          `${Math.round(sizes.partitions)} / ${real.count} partitions`,
      });
    }
  }
}

async function benchReader(
  report: Report,
  client: Client,
  views: readonly View[],
  rounds: number,
  sampleFor: (msMax: number) => Promise<void>,
): Promise<void> {
  const taken = { alone: [] as number[][], beside: [] as number[][] };
  // The first round warms up.
  for (let round = -1; round < rounds; round++) {
    for (const turn of byTurns(["alone", "beside"] as const, round + 1)) {
      const sampling = turn === "beside" ? sampleFor(READ_MS) : Promise.resolve();
      const ms = await readPages(client, views);
      await sampling;
      if (round >= 0) taken[turn].push(ms);
    }
  }
  for (const percent of [50, 99]) {
    const ms = (turn: "alone" | "beside"): number =>
      median(taken[turn].map((each) => percentile(each, percent)));
    const value = ms("beside") / ms("alone");
    report.add({
      name: `reader's page p${percent} beside a sampling run / alone`,
      value,
      goal: percent === 99 ? `<= ${P99_RATIO_MAX}` : "",
      met: percent !== 99 || value <= P99_RATIO_MAX,
      figure: `${ms("beside").toFixed(2)} / ${ms("alone").toFixed(2)} ms, ${rounds} rounds of 10 s each`,
    });
  }
}

/** The newest rows of one video after another, with a pause between: a reader, not a load test. */
async function readPages(client: Client, views: readonly View[]): Promise<number[]> {
  const query = `SELECT * FROM ${VIEWS_TABLE} WHERE video_id = ? LIMIT ${PAGE_ROWS}`;
  const taken: number[] = [];
  const endMs = performance.now() + READ_MS;
  for (let nth = 0; performance.now() < endMs; nth++) {
    const video = views[(nth * 7_919) % views.length]?.video ?? 0;
    const startMs = performance.now();
    await client.execute(query, [String(video)]);
    taken.push(performance.now() - startMs);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return taken;
}

/** Two in a hundred are popular, so that p99 is one of them. */
function popularOf(videos: number): number[] {
  return Array.from({ length: videos }, (_, at) => 1_000 + Math.round((at * 3_000) / videos));
}

function kilobytes(bytes: number): string {
  return (bytes / 1e3).toFixed(bytes < 1e5 ? 1 : 0);
}
