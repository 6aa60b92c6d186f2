/**
 * Judges every way to split the partitions of a table, on a sample of its rows and on its queries,
 * and recommends one. Pure; a generator, so that the caller can show progress.
 */
import { CRITERION_TABLE } from "./criteria/table.ts";
import type { AdviseLimits } from "./limits.ts";
import { measure } from "./measure.ts";
import { percent, short } from "./number-text.ts";
import { defaultQuery } from "./query.ts";
import type { Query } from "./query.ts";
import { ranked, scoreOf } from "./recommend.ts";
import type { Judged } from "./recommend.ts";
import type { Sample } from "./sample.ts";
import { strategiesFor } from "./strategies/table.ts";
import type { StrategyChoices } from "./strategies/table.ts";
import { tableFacts } from "./table-facts.ts";
import type { TableFacts } from "./table-facts.ts";

export interface AdviceRequest {
  readonly sample: Sample;
  /** None: all rows of a key. */
  readonly queries: readonly Query[];
  readonly limits: AdviseLimits;
  readonly choices: StrategyChoices;
}

export interface Advice {
  readonly sample: Sample;
  readonly facts: TableFacts;
  readonly limits: AdviseLimits;
  readonly queries: readonly Query[];
  /** In the order of the strategies. */
  readonly judged: readonly Judged[];
  readonly recommended: Judged;
  /** The best of the others, in order, each of another option. */
  readonly runnersUp: readonly Judged[];
  readonly notes: readonly string[];
}

/** Yields the name of each strategy before it is measured. */
export function* advise(request: AdviceRequest): Generator<string, Advice> {
  const { sample, limits, choices } = request;
  const { roles } = sample;
  const facts = tableFacts(sample);
  const given = request.queries.length > 0;
  const queries = given ? request.queries : [defaultQuery(roles)];
  const judged: Judged[] = [];
  for (const strategy of strategiesFor(sample, facts, limits, choices)) {
    yield strategy.name;
    const measured = measure(strategy, { sample, facts, limits, queries });
    const judgements = CRITERION_TABLE.map((criterion) => ({
      criterion: criterion.name,
      ...criterion.judge(measured, { roles, facts, limits }),
    }));
    judged.push({ measured, judgements, score: scoreOf(measured, judgements, roles) });
  }
  const [recommended, ...others] = ranked(judged);
  if (recommended === undefined) throw new Error("there is always the table as it is");
  const seen = new Set([recommended.measured.strategy.option]);
  const runnersUp = others.filter(({ measured: { strategy } }) => {
    if (seen.has(strategy.option)) return false;
    seen.add(strategy.option);
    return true;
  });
  const notes = [...sample.notes, ...notesOn(sample, limits)];
  const single = roles.candidates.filter((_, at) => facts.distinct[at] === 1);
  if (single.length > 0)
    notes.push(`not judged: ${single.join(", ")} has one value, which splits nothing`);
  const { fill } = recommended.measured.sizes;
  if (fill.max > FILL_ROOM && fill.max <= 1) {
    notes.push(
      `the largest partition is ${percent(fill.max)} full (${recommended.measured.strategy.name}): for room ` +
        "to grow, try other variants (--widths, --hashes) or a lower limit (--limit-rows, --limit-bytes)",
    );
  }
  if (!given)
    notes.push(`no queries are given: judged by "${queries[0]?.name}" (--query, --queries)`);
  return { sample, facts, limits, queries, judged, recommended, runnersUp, notes };
}

/** A fuller partition has little room to grow. */
const FILL_ROOM = 0.8;

/** A row that stands for many makes small partitions look larger than they are. */
function notesOn({ partitions }: Sample, { rowsMax }: AdviseLimits): string[] {
  let heaviest = 0;
  for (const { rows } of partitions) {
    for (const { weight } of rows) heaviest = Math.max(heaviest, weight);
  }
  if (heaviest <= Math.max(1, rowsMax / 100)) return [];
  const error = Math.sqrt(heaviest / rowsMax);
  const text = error < 1 ? `off by ${percent(error)} and more` : "a guess";
  return [
    `a sampled row stands for up to ${short(heaviest)} rows: sizes near the limit are ${text}; sample more ` +
      "rows (--sample-rows)",
  ];
}
