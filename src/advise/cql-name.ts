/** A name as CQL writes it: in quotes if it has capitals or other characters, or is a keyword. Pure. */
export function cqlName(name: string): string {
  if (/^[a-z][a-z0-9_]*$/.test(name) && !KEYWORDS.has(name)) return name;
  return `"${name.replaceAll('"', '""')}"`;
}

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
