/** The queries of an application, by which the advisor judges partitions. */
import type { ColumnRoles } from "./roles.ts";
import { primaryKey } from "./roles.ts";

export type QueryOrder = "NEWEST_FIRST" | "OLDEST_FIRST" | "NONE";

export interface Query {
  readonly name: string;
  /** The columns whose values the query gives. */
  readonly given: readonly string[];
  /** The width of its time range; undefined: all of time. */
  readonly rangeMicros: number | undefined;
  /** Whether the range ends now, or lies anywhere. */
  readonly anchor: "LATEST" | "ANY";
  readonly order: QueryOrder;
  /** The rows after which it ends; undefined: all. */
  readonly limit: number | undefined;
  /** How often it is asked, compared with the other queries. */
  readonly frequency: number;
  /** Whether every key is asked for as often, or each by its number of rows. */
  readonly keys: "EVERY" | "BUSY";
}

/** "By video": all rows of a partition key, in the order of the table. */
export function defaultQuery({ partitionKey, clustering, time }: ColumnRoles): Query {
  const order = clustering.find(({ column }) => column === time)?.order;
  return {
    name: `all rows of a ${partitionKey.join(", ")}`,
    given: partitionKey,
    rangeMicros: undefined,
    anchor: "LATEST",
    order: order === undefined ? "NONE" : order === "DESC" ? "NEWEST_FIRST" : "OLDEST_FIRST",
    limit: undefined,
    frequency: 1,
    keys: "EVERY",
  };
}

/** Asks for one row by its primary key. */
export function findQuery(roles: ColumnRoles): Query {
  return {
    name: "one row by its primary key",
    given: primaryKey(roles),
    rangeMicros: undefined,
    anchor: "ANY",
    order: "NONE",
    limit: 1,
    frequency: 1,
    keys: "BUSY",
  };
}

/** Whether the table can serve it at all: a query without the whole partition key scans the table. */
export function givesKey({ given }: Query, { partitionKey }: ColumnRoles): boolean {
  return partitionKey.every((column) => given.includes(column));
}
