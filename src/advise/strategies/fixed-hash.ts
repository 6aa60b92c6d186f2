/**
 * Option 4: a hash of a row's columns modulo a number that is the same for every key.
 *
 * The partitions of a key are even. A small key has as many as a large one, and their rows have no
 * common order.
 */
import { formatCount } from "../../lib/quantity.ts";
import { freeColumn } from "../roles.ts";
import type { ColumnRoles } from "../roles.ts";
import { spreadHashed } from "./spread-rare-parts.ts";
import type { Part, Strategy } from "./strategy.ts";

export function fixedHash(partitions: number, roles: ColumnRoles): Strategy {
  const { hashed } = roles;
  const column = freeColumn("part", roles);
  return {
    option: "FIXED_HASH",
    name: `fixed hash ${formatCount(partitions)}`,
    place: ({ rows }) => rows.map(({ hash }) => hash % partitions),
    correct: (parts, { rows }) => spreadHashed(parts, rows, usedOf(parts, partitions)),
    ask: ({ given }) => {
      const asked = isGiven(hashed, given) ? 1 : partitions;
      return { partitions: asked, merged: asked };
    },
    unknownValues: () => 0,
    order: "NONE",
    text: {
      added: [{ column, type: "int" }],
      writes: `${column} = hash(${hashed.join(", ")}) % ${partitions}`,
      reads: `all ${formatCount(partitions)} parts at once, merged by the client`,
    },
  };
}

export function isGiven(columns: readonly string[], given: readonly string[]): boolean {
  return columns.length > 0 && columns.every((column) => given.includes(column));
}

/** How many of the partitions have rows, if a hash spreads all rows of the key over them. */
export function usedOf(parts: readonly Part[], partitions: number): number {
  const rows = parts.reduce((sum, part) => sum + part.rows, 0);
  return partitions * (1 - Math.exp(-rows / partitions));
}
