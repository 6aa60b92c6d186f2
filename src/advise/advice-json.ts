/** An advice as data, for programs: the verdicts with their numbers, the CQL, and no functions. Pure. */
import type { Advice } from "./advise.ts";
import { moveTo } from "./cql.ts";
import type { Judged } from "./recommend.ts";

export function adviceJson(advice: Advice, braid: object | undefined): object {
  const { sample, facts, limits, queries, judged, recommended, runnersUp, notes } = advice;
  const { roles } = sample;
  const { strategy } = recommended.measured;
  return {
    source: sample.source,
    roles,
    table: {
      partitions: Math.round(facts.keys),
      rows: Math.round(facts.rows),
      bytes: Math.round(facts.bytes),
      ...(Number.isNaN(facts.firstMicros)
        ? {}
        : { first: isoOf(facts.firstMicros), last: isoOf(facts.lastMicros) }),
      rowsRead: sample.rowsRead,
    },
    limits,
    queries,
    strategies: judged.map(strategyJson),
    recommended: {
      name: strategy.name,
      option: strategy.option,
      ...moveTo(strategy, roles, limits),
    },
    runnersUp: runnersUp.map(({ measured }) => measured.strategy.name),
    braid: braid ?? null,
    notes,
  };
}

/** One line of CSV for each strategy. */
export function adviceRecords({ judged, recommended }: Advice): object[] {
  return judged.map((each) => ({
    strategy: each.measured.strategy.name,
    recommended: each === recommended,
    ...Object.fromEntries(each.judgements.map(({ criterion, verdict }) => [criterion, verdict])),
    partitions: Math.round(each.measured.sizes.partitions),
    largestRows: Math.round(each.measured.sizes.rows.max),
    largestBytes: Math.round(each.measured.sizes.bytes.max),
    score: each.score,
  }));
}

export function isoOf(micros: number): string {
  return new Date(Math.floor(micros / 1_000)).toISOString();
}

function strategyJson({ measured, judgements, score }: Judged): object {
  const { strategy, sizes, hotSpots, tombstones, queries, find, lateShare } = measured;
  const { histogram: _, ...counts } = sizes;
  return {
    name: strategy.name,
    option: strategy.option,
    score,
    verdicts: Object.fromEntries(
      judgements.map(({ criterion, verdict, number, why }) => [
        criterion,
        { verdict, number, why },
      ]),
    ),
    sizes: counts,
    hotSpots: { ...hotSpots, series: undefined },
    tombstones,
    queries: queries.map(({ query, ...rest }) => ({ name: query.name, ...rest })),
    findOnePartitions: find.partitions,
    lateShare,
  };
}
