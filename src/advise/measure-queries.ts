/** What the queries of an application cost with a strategy. Pure. */
import type { AdviseLimits } from "./limits.ts";
import { givesKey } from "./query.ts";
import type { Query } from "./query.ts";
import type { ColumnRoles } from "./roles.ts";
import type { SampledPartition } from "./sample.ts";
import type { PlacedKey, Strategy } from "./strategies/strategy.ts";
import type { TableFacts } from "./table-facts.ts";
import { meanOf, quantilesOf } from "./weighted.ts";
import type { Weighted } from "./weighted.ts";

/** Means over the keys that are asked for. */
export interface MeasuredQuery {
  readonly query: Query;
  /** Whether it gives the partition key: otherwise it scans the table, and nothing is measured. */
  readonly served: boolean;
  readonly partitions: number;
  readonly partitionsP99: number;
  /** Calls of the driver: one for each partition, and one for each further page. */
  readonly calls: number;
  /** Calls if all its rows were in one partition: one for each page. */
  readonly needed: number;
  readonly rows: number;
  /** Partitions that the client merges to give the order. */
  readonly merged: number;
}

export interface QueryContext {
  readonly roles: ColumnRoles;
  readonly facts: TableFacts;
  readonly limits: AdviseLimits;
}

export class QueryMeter {
  readonly #query: Query;
  readonly #strategy: Strategy;
  readonly #context: QueryContext;
  readonly #served: boolean;
  readonly #asked: Weighted[] = [];
  readonly #sums = { weight: 0, calls: 0, needed: 0, rows: 0, merged: 0 };

  constructor(query: Query, strategy: Strategy, context: QueryContext) {
    this.#query = query;
    this.#strategy = strategy;
    this.#context = context;
    this.#served = givesKey(query, context.roles);
  }

  add(key: PlacedKey): void {
    if (!this.#served) return;
    const { partition } = key;
    const weight = partition.weight * (this.#query.keys === "BUSY" ? key.rows : 1);
    const { partitions, merged } = this.#strategy.ask(this.#query, key);
    const rows = rowsAsked(this.#query, key, this.#context.facts);
    const needed = Math.max(1, Math.ceil(rows / this.#context.limits.pageRows));
    const sums = this.#sums;
    this.#asked.push({ value: partitions, weight });
    sums.weight += weight;
    sums.calls += weight * Math.max(partitions, needed);
    sums.needed += weight * needed;
    sums.rows += weight * rows;
    sums.merged += weight * (this.#query.order === "NONE" ? 1 : merged);
  }

  result(): MeasuredQuery {
    const { weight, calls, needed, rows, merged } = this.#sums;
    const mean = (sum: number): number => (weight === 0 ? 0 : sum / weight);
    return {
      query: this.#query,
      served: this.#served,
      partitions: meanOf(this.#asked),
      partitionsP99: quantilesOf(this.#asked).p99,
      calls: mean(calls),
      needed: mean(needed),
      rows: mean(rows),
      merged: mean(merged),
    };
  }
}

/** The rows that a query returns for a key. */
function rowsAsked(query: Query, { partition, rows }: PlacedKey, facts: TableFacts): number {
  const { rangeMicros, anchor, limit = Infinity } = query;
  if (rangeMicros === undefined || Number.isNaN(facts.spanMicros)) return Math.min(limit, rows);
  if (anchor === "ANY") {
    return Math.min(limit, rows * Math.min(1, rangeMicros / facts.spanMicros));
  }
  return Math.min(limit, rowsSince(partition, facts.lastMicros - rangeMicros));
}

function rowsSince({ rows }: SampledPartition, micros: number): number {
  let sum = 0;
  for (let at = rows.length - 1; at >= 0; at--) {
    const row = rows[at];
    if (row === undefined || row.timeMicros < micros) break;
    sum += row.weight;
  }
  return sum;
}
