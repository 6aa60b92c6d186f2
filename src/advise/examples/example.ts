/** A generated table with a known problem: rows, roles and queries, the same for the same seed. */
import type { GivenRoles } from "../guess-roles.ts";
import type { AdviseLimits } from "../limits.ts";
import type { Query } from "../query.ts";
import type { RowBatch, RowSource, SourceRow } from "../row-source.ts";

export interface Example {
  readonly name: string;
  /** One sentence. */
  readonly about: string;
  readonly roles: GivenRoles;
  readonly queries: readonly Query[];
  /** Where the table differs from the defaults. */
  readonly limits: Partial<AdviseLimits>;
  readonly source: RowSource;
}

const BATCH_ROWS = 1_000;

/** `rows` makes the same rows at each call. */
export function generatedSource(name: string, rows: () => Iterable<SourceRow>): RowSource {
  return {
    name,
    repeatable: true,
    async *batches(signal) {
      let batch: SourceRow[] = [];
      for (const row of rows()) {
        batch.push(row);
        if (batch.length < BATCH_ROWS) continue;
        signal.throwIfAborted();
        yield { rows: batch } satisfies RowBatch;
        batch = [];
      }
      if (batch.length > 0) yield { rows: batch };
    },
  };
}

/** All rows of a key, or what a test or an example changes of it. */
export function queryOf(name: string, given: readonly string[], rest: Partial<Query> = {}): Query {
  return {
    name,
    given,
    rangeMicros: undefined,
    anchor: "LATEST",
    order: "NEWEST_FIRST",
    limit: undefined,
    frequency: 1,
    keys: "EVERY",
    ...rest,
  };
}
