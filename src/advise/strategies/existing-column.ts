/**
 * Option 1: a column that the rows have already joins the partition key.
 *
 * A query that does not give the column asks for every value. It can do so only if the values are
 * few and known.
 */
import { KNOWN_VALUES_MAX } from "../limits.ts";
import { primaryKey } from "../roles.ts";
import type { ColumnRoles } from "../roles.ts";
import type { TableFacts } from "../table-facts.ts";
import { partsByPairs, spreadRareParts } from "./spread-rare-parts.ts";
import type { Strategy } from "./strategy.ts";

export function existingColumn(column: string, roles: ColumnRoles, facts: TableFacts): Strategy {
  const at = roles.candidates.indexOf(column);
  const distinct = facts.distinct[at] ?? 0;
  return {
    option: "EXISTING_COLUMN",
    name: `existing column ${column}`,
    place: ({ rows }) => rows.map(({ values }) => values[at] ?? 0),
    correct: (parts, { rows }) => spreadRareParts(parts, rows.length, partsByPairs(parts)),
    ask: ({ given }, { partitions }) => {
      if (given.includes(column)) return { partitions: 1, merged: 1 };
      const asked = distinct <= KNOWN_VALUES_MAX ? distinct : partitions;
      return { partitions: asked, merged: asked };
    },
    unknownValues: ({ given }) => (given.includes(column) ? 0 : distinct),
    // As many new values come with new rows.
    hasIds: facts.sampledRows > 1 && distinct > facts.sampledRows / 2,
    order: "NONE",
    text: {
      added: [{ column, type: roles.types[column] ?? "text" }],
      writes:
        `the value of ${column}, as before; a row without one needs a value that stands for none` +
        (primaryKey(roles).includes(column) ? "" : ", and a change of it moves the row"),
      reads: `one query for each value of ${column}, merged by the client`,
    },
  };
}
