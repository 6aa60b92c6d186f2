/** Advice on a table of a real Cassandra, in this process: for tests and the bench. */
import type { Advice } from "../../src/advise/advise.ts";
import { samplePartitions } from "../../src/advise/draw-sample.ts";
import { guessRoles } from "../../src/advise/guess-roles.ts";
import { rolesOfTable } from "../../src/advise/sources/table-roles.ts";
import { DEFAULT_BUDGET } from "../../src/advise/sources/paced-reads.ts";
import { TableSampler } from "../../src/advise/sources/table-sampler.ts";
import type { TableBudget } from "../../src/advise/sources/paced-reads.ts";
import { openAnyTable } from "../../src/engines/cassandra/any-table.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { Problems } from "../../src/lib/problems.ts";
import { adviceOn } from "./advise-table.ts";
import type { AdviceOptions } from "./advise-table.ts";

export interface AdvisedTable {
  readonly contactPoint: string;
  readonly keyspace: string;
  readonly table: string;
}

const never = new AbortController().signal;
/** With time enough, and without rests unless the budget says so. */
const HURRIED: TableBudget = { ...DEFAULT_BUDGET, msMax: 600_000, busyShare: 1 };

export async function adviceOnTable(
  { contactPoint, keyspace, table }: AdvisedTable,
  options: AdviceOptions,
  budget: Partial<TableBudget>,
): Promise<Advice> {
  const cluster = { contactPoints: [contactPoint], datacenter: "datacenter1" };
  const opened = await openAnyTable(
    { ...cluster, username: undefined, password: "" },
    systemClock,
    keyspace,
    table,
  );
  try {
    const sampler = new TableSampler({
      table: opened,
      clock: systemClock,
      budget: { ...HURRIED, ...budget },
    });
    const head = await sampler.head(never);
    const known = rolesOfTable(opened.schema, head);
    const problems = new Problems();
    const guessed = guessRoles(head, known, problems);
    if (guessed === undefined) throw new Error(problems.list().join("; "));
    const roles = { ...guessed.roles, types: known.types ?? {} };
    return adviceOn(await samplePartitions(sampler, roles, never), options);
  } finally {
    await opened.close();
  }
}
