/** `braid advise --cassandra keyspace.table`: a sample of a table of a live cluster. */
import type { GivenRoles, GuessedRoles } from "../advise/guess-roles.ts";
import type { Sample } from "../advise/sample.ts";
import type { SourceRow } from "../advise/row-source.ts";
import { DEFAULT_BUDGET } from "../advise/sources/paced-reads.ts";
import type { TableBudget } from "../advise/sources/paced-reads.ts";
import { ServiceError } from "../lib/errors.ts";
import type { Problems } from "../lib/problems.ts";
import { parseBytes, parseDurationMs } from "../lib/units.ts";
import { configOf } from "./config-flags.ts";
import { EXIT, ExitError, UsageError } from "./failures.ts";
import { count, printable } from "./print.ts";
import { percent } from "./progress.ts";
import type { Progress } from "./progress.ts";
import type { Terminal } from "./terminal.ts";

export interface TableFlags {
  readonly cassandra?: string;
  readonly config?: string;
  readonly budgetBytes?: string;
  readonly budgetTime?: string;
}

export const TABLE_FLAGS: readonly (readonly [flags: string, about: string])[] = [
  ["--cassandra <keyspace.table>", "sample a table of a cluster: BRAID_CASSANDRA_CONTACT_POINTS"],
  ["--budget-bytes <size>", "bytes that the cluster may be asked for (default: 64MB)"],
  ["--budget-time <duration>", "how long the sampling may take, mostly resting (default: 60s)"],
  ["--config <file>", "settings with the cluster's address (default: braid.yaml if there is one)"],
];

export function budgetFrom(flags: TableFlags, problems: Problems): TableBudget {
  const { budgetBytes, budgetTime } = flags;
  const bytesMax =
    budgetBytes === undefined ? DEFAULT_BUDGET.bytesMax : (parseBytes(budgetBytes) ?? 0);
  const msMax =
    budgetTime === undefined ? DEFAULT_BUDGET.msMax : (parseDurationMs(budgetTime) ?? 0);
  if (!(bytesMax >= 100_000)) {
    problems.add(`--budget-bytes ${budgetBytes}: give a size of at least 100KB, such as 64MB`);
  }
  if (!(msMax >= 1_000)) {
    problems.add(`--budget-time ${budgetTime}: give a duration of at least 1s, such as 60s`);
  }
  return { ...DEFAULT_BUDGET, bytesMax, msMax };
}

export interface TableRun {
  readonly given: GivenRoles;
  readonly budget: TableBudget;
  readonly options: TableFlags;
  readonly terminal: Terminal;
  readonly progress: Progress;
  /** Rejects if a query names a column that is not among these. */
  readonly check: (columns: readonly string[]) => Promise<void>;
  readonly guess: (head: readonly SourceRow[], given: GivenRoles) => Promise<GuessedRoles>;
}

export interface TableDraw {
  readonly sample: Sample;
  readonly assumed: readonly string[];
  /** The table's own setting, if there is a table. */
  readonly gcGraceMicros?: number;
}

/** As in CQL: a name without quotes is in lower case. */
export function tableNamed(name: string): { readonly keyspace: string; readonly table: string } {
  const part = String.raw`("(?:[^"]|"")+"|\w+)`;
  const [, keyspace, table] = new RegExp(`^${part}\\.${part}$`).exec(name) ?? [];
  if (keyspace === undefined || table === undefined) {
    throw new UsageError(
      `--cassandra ${name}: give keyspace.table, such as shop.views_by_video; ` +
        `a name with other characters or capital letters in quotes, such as 'shop."Views"'`,
    );
  }
  return { keyspace: plainName(keyspace), table: plainName(table) };
}

function plainName(name: string): string {
  return name.startsWith('"') ? name.slice(1, -1).replaceAll('""', '"') : name.toLowerCase();
}

export async function drawTable(name: string, run: TableRun): Promise<TableDraw> {
  const { given, budget, options, terminal, progress, guess, check } = run;
  const { keyspace, table } = tableNamed(name);
  const { openTable } = await import("../server/open-table.ts");
  const { systemClock } = await import("../lib/clock.ts");
  const { TableSampler } = await import("../advise/sources/table-sampler.ts");
  const { rolesOfTable } = await import("../advise/sources/table-roles.ts");
  const { SampleError, samplePartitions } = await import("../advise/draw-sample.ts");
  const { config: file } = options;
  const { config } = await configOf(file === undefined ? {} : { config: file }, terminal);
  try {
    const opened = await openTable(config, systemClock, keyspace, table);
    try {
      const { schema } = opened;
      await check(schema.columns.map(({ name: column }) => column));
      const sampler = new TableSampler({
        table: opened,
        budget,
        clock: systemClock,
        progress: ({ partitions, bytes, ms }) =>
          progress.update(
            () =>
              percent(Math.max(bytes / budget.bytesMax, ms / budget.msMax), 1) +
              `${count(partitions)} partitions, ${(bytes / 1e6).toFixed(1)} MB read`,
          ),
      });
      const head = await sampler.head(terminal.interrupted);
      if (head.length === 0)
        throw new SampleError(`${name} has no rows: there is nothing to judge`);
      const known = rolesOfTable(schema, head);
      const { roles, assumed } = await guess(head, { ...known, ...given });
      const stored = { ...roles, types: known.types ?? {} };
      const sample = await samplePartitions(sampler, stored, terminal.interrupted);
      return { sample, assumed, gcGraceMicros: schema.gcGraceSeconds * 1_000_000 };
    } finally {
      await opened.close();
    }
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    progress.clear();
    terminal.note(`braid: ${printable(error.message)}\n`);
    throw new ExitError(error.code === "REQUEST_INVALID" ? EXIT.notFound : EXIT.failed);
  }
}
