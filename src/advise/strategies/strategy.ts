/**
 * A way to split the partitions of a table: which partition a row is in, which partitions a query
 * asks, and what it costs to know them. One file for each way, and their table in `table.ts`.
 */
import type { Query } from "../query.ts";
import type { SampledPartition } from "../sample.ts";

export const OPTIONS = [
  "LEAVE",
  "EXISTING_COLUMN",
  "TIME_COLUMN",
  "FILL_UP_BUCKET",
  "FIXED_HASH",
  "PER_KEY_VARIABLE",
] as const;
export type StrategyOption = (typeof OPTIONS)[number];

/** One partition of a strategy, or several that are alike. */
export interface Part {
  /** What the strategy added to the key: the partitions of one key differ in it. */
  readonly label: number;
  readonly rows: number;
  readonly bytes: number;
  /** How many rows of the sample are in it. */
  readonly sampled: number;
  /** NaN if the table has no time. */
  readonly firstMicros: number;
  readonly lastMicros: number;
  /** The most tombstones at one time. */
  readonly tombstones: number;
  /** How many partitions like it the key has. */
  readonly count: number;
}

/** The partitions that a strategy makes of one key of the original table. */
export interface PlacedKey {
  readonly partition: SampledPartition;
  readonly rows: number;
  /** By label; those that the sample shows. */
  readonly parts: readonly Part[];
  /** Their number, with those that the sample does not show. */
  readonly partitions: number;
}

export interface Asked {
  /** How many partitions the query asks. */
  readonly partitions: number;
  /** How many of them the client must merge to give the order of the query. */
  readonly merged: number;
}

/** Whether partitions, one after another, give rows in the order of time. */
export type PartOrder = "BY_TIME" | "IF_WRITTEN_IN_ORDER" | "NONE";

/** A statement or a step, for people. */
export interface StrategyText {
  /** Columns that the partition key gets, with their CQL type. */
  readonly added: readonly { readonly column: string; readonly type: string }[];
  /** How a writer computes them. */
  readonly writes: string;
  /** How a reader finds the partitions. */
  readonly reads: string;
  /** A second table that the strategy needs, as CQL columns and primary key; undefined: none. */
  readonly directory?: DirectoryTable | undefined;
  /** What must be done before the first write; undefined: nothing. */
  readonly prepare?: string | undefined;
  /** How the copy of existing rows differs; undefined: a row can be copied twice without harm. */
  readonly copies?: string | undefined;
  /** What happens when a key grows; undefined: nothing. */
  readonly transition?: readonly string[] | undefined;
}

export interface DirectoryTable {
  readonly name: string;
  readonly columns: readonly string[];
  readonly primaryKey: string;
}

export interface Strategy {
  readonly option: StrategyOption;
  /** Unique: "time column 1d". */
  readonly name: string;
  /** The label of each row of the partition, in its order. */
  place(partition: SampledPartition): ArrayLike<number>;
  /** Corrects the parts of a key for what a sample of its rows does not show. */
  correct?(parts: readonly Part[], partition: SampledPartition): readonly Part[];
  ask(query: Query, key: PlacedKey): Asked;
  /** How many values of the added column the query would have to guess: 0 if it computes them. */
  unknownValues(query: Query): number;
  /** Whether most rows have a value of their own in the added column: no list of them is complete. */
  readonly hasIds?: boolean;
  readonly order: PartOrder;
  /** Rows that a later partition has though they are older than an earlier one's; weighted. */
  lateRows?(partition: SampledPartition): number;
  readonly text: StrategyText;
}
