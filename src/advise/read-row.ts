/** Turns a row of a source into a row of a sample, by the roles of its columns. Pure. */
import { hash32 } from "../lib/hash.ts";
import { isMissing, microsOf, numberOf, storedBytes, storedBytesAs, textOf } from "./read-value.ts";
import type { ColumnRoles } from "./roles.ts";
import { primaryKey } from "./roles.ts";
import type { SourceRow, Value } from "./row-source.ts";
import type { SampledRow } from "./sample.ts";

/**
 * Cassandra keeps flags, sizes and a timestamp for each row, and flags and a size for each value: an
 * estimate for the formats of versions 4 and 5.
 */
const ROW_BYTES = 10;
const CELL_BYTES = 2;
/** A row stands for at most so many: sums of them are exact. */
export const WEIGHT_MAX = 1e12;
/** Each use of the hash has a seed of its own, so that none decides another. */
const HASHED_SEED = 1;
const VALUE_SEED = 2;

export interface ReadRow {
  /** The values of the partition key, as one text. */
  readonly key: string;
  readonly row: SampledRow;
}

/** Undefined if the row has no partition key, no time where the table has one, or no weight. */
export function readRow(source: SourceRow, roles: ColumnRoles): ReadRow | undefined {
  const { partitionKey } = roles;
  if (partitionKey.some((column) => isMissing(source[column]))) return undefined;
  const timeMicros = roles.time === undefined ? Number.NaN : microsOf(source[roles.time]);
  if (roles.time !== undefined && Number.isNaN(timeMicros)) return undefined;
  const written = roles.written === undefined ? Number.NaN : microsOf(source[roles.written]);
  const weight = typeof roles.weight === "number" ? roles.weight : numberOf(source[roles.weight]);
  if (!(weight > 0 && weight <= WEIGHT_MAX)) return undefined;
  return {
    key: keyOf(partitionKey.map((column) => source[column])),
    row: {
      timeMicros,
      writtenMicros: Number.isNaN(written) ? timeMicros : written,
      bytes: rowBytes(source, roles),
      weight: exactWeight(weight),
      ...deletionOf(source, roles, timeMicros),
      hash: hashOf(roles.hashed.map((column) => textOf(source[column])).join("\0"), HASHED_SEED),
      values: roles.candidates.map((column) => hashOf(textOf(source[column]), VALUE_SEED)),
    },
  };
}

/** For people, and unique: values of several columns are separated by " / ". */
function keyOf(values: readonly Value[]): string {
  if (values.length === 1) return textOf(values[0]);
  return values.map((value) => textOf(value).replaceAll("/", "//")).join(" / ");
}

export function hashOf(text: string, seed: number): number {
  return hash32(Buffer.from(text), seed);
}

/** Sums of such weights are exact, so they do not depend on the order of the rows. */
export function exactWeight(weight: number): number {
  return Math.max(1, Math.round(weight * 1_024)) / 1_024;
}

function rowBytes(source: SourceRow, roles: ColumnRoles): number {
  const { valueBytes, partitionKey } = roles;
  if (valueBytes === undefined) {
    let bytes = ROW_BYTES;
    for (const [column, value] of Object.entries(source)) {
      if (partitionKey.includes(column) || column === roles.weight) continue;
      if (isMissing(value) || column === roles.deleted || column === roles.ttl) continue;
      const type = roles.types[column];
      // The time of writing is stored with the row, unless it is a column of the table too.
      if (column === roles.written && type === undefined) continue;
      bytes += CELL_BYTES + storedBytesAs(value, type);
    }
    return bytes;
  }
  const given = typeof valueBytes === "number" ? valueBytes : numberOf(source[valueBytes]);
  const clustering = primaryKey(roles).slice(partitionKey.length);
  const keys = clustering.reduce((sum, column) => sum + storedBytes(source[column]), 0);
  return ROW_BYTES + keys + CELL_BYTES + Math.max(0, Number.isNaN(given) ? 0 : Math.round(given));
}

type Deletion = Pick<SampledRow, "deletedMicros" | "deletedShare">;

/** The row's own columns first, then what holds for all rows. */
function deletionOf(source: SourceRow, roles: ColumnRoles, timeMicros: number): Deletion {
  const { deleted, ttl, deletes } = roles;
  const start = Number.isNaN(timeMicros) ? 0 : timeMicros;
  const mark = deleted === undefined ? undefined : source[deleted];
  if (!isMissing(mark) && !NOT_DELETED.has(textOf(mark))) {
    const at = MARKS.has(textOf(mark)) ? Number.NaN : microsOf(mark);
    return { deletedMicros: Number.isNaN(at) ? start : at, deletedShare: 1 };
  }
  const ttlSeconds = ttl === undefined ? Number.NaN : numberOf(source[ttl]);
  if (ttlSeconds > 0) return { deletedMicros: start + ttlSeconds * 1e6, deletedShare: 1 };
  if (deletes.ttlMicros !== undefined) {
    return { deletedMicros: start + deletes.ttlMicros, deletedShare: 1 };
  }
  if (deletes.share > 0) {
    return { deletedMicros: start + deletes.afterMicros, deletedShare: deletes.share };
  }
  return { deletedMicros: undefined, deletedShare: 0 };
}

const NOT_DELETED: ReadonlySet<string> = new Set(["false", "0", "no"]);
const MARKS: ReadonlySet<string> = new Set(["true", "1", "yes"]);
