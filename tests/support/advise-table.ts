/** Small tables for tests of the advisor. */
import { advise } from "../../src/advise/advise.ts";
import type { Advice } from "../../src/advise/advise.ts";
import { drawSample } from "../../src/advise/draw-sample.ts";
import { generatedSource } from "../../src/advise/examples/example.ts";
import type { Example } from "../../src/advise/examples/example.ts";
import { guessRoles } from "../../src/advise/guess-roles.ts";
import { DEFAULT_LIMITS } from "../../src/advise/limits.ts";
import type { AdviseLimits } from "../../src/advise/limits.ts";
import type { Query } from "../../src/advise/query.ts";
import { NO_DELETES } from "../../src/advise/roles.ts";
import type { ColumnRoles } from "../../src/advise/roles.ts";
import type { SourceRow } from "../../src/advise/row-source.ts";
import type { Sample } from "../../src/advise/sample.ts";
import { DEFAULT_CHOICES } from "../../src/advise/strategies/table.ts";
import type { StrategyChoices } from "../../src/advise/strategies/table.ts";
import { Problems } from "../../src/lib/problems.ts";

export const VIEW_ROLES: ColumnRoles = {
  table: "views",
  partitionKey: ["video"],
  clustering: [{ column: "id", order: "DESC" }],
  time: "at",
  written: undefined,
  valueBytes: undefined,
  deleted: undefined,
  ttl: undefined,
  deletes: NO_DELETES,
  weight: 1,
  candidates: ["device", "user"],
  hashed: ["id"],
  types: { video: "text", id: "text", at: "timestamp", device: "text", user: "bigint" },
};

const never = new AbortController().signal;

export function sampleOf(
  rows: readonly SourceRow[],
  roles: ColumnRoles = VIEW_ROLES,
): Promise<Sample> {
  return drawSample(
    generatedSource("rows", () => rows),
    { roles },
    never,
  );
}

export interface AdviceOptions {
  readonly queries?: readonly Query[];
  readonly limits?: Partial<AdviseLimits>;
  readonly choices?: StrategyChoices;
}

export function adviceOn(sample: Sample, options: AdviceOptions = {}): Advice {
  const { queries = [], limits = {}, choices = DEFAULT_CHOICES } = options;
  const work = advise({ sample, queries, choices, limits: { ...DEFAULT_LIMITS, ...limits } });
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}

export async function adviceOnExample({
  source,
  roles,
  queries,
  limits,
}: Example): Promise<Advice> {
  const problems = new Problems();
  let head: readonly SourceRow[] = [];
  for await (const batch of source.batches(never)) {
    head = batch.rows;
    break;
  }
  const guessed = guessRoles(head, roles, problems);
  if (guessed === undefined) throw new Error(problems.list().join("; "));
  const sample = await drawSample(source, { roles: guessed.roles }, never);
  return adviceOn(sample, { queries, limits });
}

/** `+ ? -` for the criteria in their order, by strategy. */
export function verdictsOf({ judged }: Advice): Readonly<Record<string, string>> {
  const signs = { UP: "+", QUESTION: "?", DOWN: "-" };
  return Object.fromEntries(
    judged.map(({ measured, judgements }) => [
      measured.strategy.name,
      judgements.map(({ verdict }) => signs[verdict]).join(" "),
    ]),
  );
}
