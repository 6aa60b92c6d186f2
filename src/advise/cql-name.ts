/** Names in CQL. Pure. */

/** In quotes if it has capitals or other characters, or is a keyword. */
export function cqlName(name: string): string {
  if (/^[a-z][a-z0-9_]*$/.test(name) && !KEYWORDS.has(name)) return name;
  return `"${name.replaceAll('"', '""')}"`;
}

/** A name for a table beside another: Cassandra allows 48 characters. */
export function tableBeside(table: string, suffix: string): string {
  return `${table.slice(0, TABLE_CHARS_MAX - suffix.length - 1)}_${suffix}`;
}

const TABLE_CHARS_MAX = 48;

/** Cassandra's reserved words. */
const KEYWORDS: ReadonlySet<string> = new Set(
  (
    "add allow alter and apply asc authorize batch begin by columnfamily create default delete desc " +
    "describe drop entries execute from full grant if in index infinity insert into is keyspace " +
    "limit materialized mbean mbeans modify nan norecursive not null of on or order primary rename " +
    "replace revoke schema select set table to token truncate unlogged unset update use using view " +
    "where with"
  ).split(" "),
);
