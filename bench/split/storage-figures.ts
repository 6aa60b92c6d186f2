/** What the node must store and compact, wide and split. */
import type { Report } from "../support/report.ts";
import { seconds } from "../support/stats.ts";
import { keyspaceOfSpace } from "../support/wide-load.ts";
import type { WideSpace } from "../support/wide-space.ts";
import type { CassandraBench, Spaces } from "./cassandra-bench.ts";
import { tell } from "./findings.ts";

export async function tellSpace(
  report: Report,
  what: string,
  { figures }: CassandraBench,
  spaces: Spaces,
): Promise<void> {
  const tables: [string, WideSpace, string][] = [
    ["wide", spaces.wide, spaces.wide.slice],
    ["well bucketed", spaces.narrow, spaces.narrow.slice],
    ["parts as rows", spaces.rows, splitTable(spaces.rows)],
    ["parts packed, narrower ones included", spaces.packed, splitTable(spaces.packed)],
  ];
  for (const [name, space, table] of tables) {
    const keyspace = keyspaceOfSpace(space);
    await figures.flush(keyspace, table);
    const bytes = await figures.diskBytes(keyspace, table);
    const files = await figures.sstables(keyspace, table);
    tell(report, `${what}, space of ${name}, MB`, bytes / 1e6, `${files} files`);
  }
}

/** Leaves all of them compacted. */
export async function tellCompactions(
  report: Report,
  what: string,
  { figures }: CassandraBench,
  spaces: Spaces,
): Promise<void> {
  for (const [name, space, table] of [
    ["wide", spaces.wide, spaces.wide.slice],
    ["parts as rows", spaces.rows, splitTable(spaces.rows)],
    ["parts packed", spaces.packed, splitTable(spaces.packed)],
  ] as const) {
    const keyspace = keyspaceOfSpace(space);
    const before = await figures.sstables(keyspace, table);
    const took = await seconds(() => figures.compact(keyspace, table));
    const bytes = await figures.diskBytes(keyspace, table);
    const figure = `${before} files to ${await figures.sstables(keyspace, table)}, ${(bytes / 1e6).toFixed(0)} MB`;
    tell(report, `${what}, major compaction of ${name}, s`, took, figure);
  }
}

function splitTable({ slice }: WideSpace): string {
  return `wide_${slice}_0`;
}
