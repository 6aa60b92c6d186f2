/**
 * Samples a table of a live cluster within a budget of bytes and time, and rests most of that time.
 *
 * The ring of tokens is cut into equal ranges. Each is read from its start, a few keys at a visit,
 * turn by turn, so that all that has been read when half of the budget is spent is spread evenly.
 * What was read of the ring gives the weight of the partitions. The other half of the budget is for
 * large partitions: they are read on, each time twice as far, until they end or the budget does.
 * Tokens are hashes, so a sample that always begins at the same ones is as fair as any, and the same
 * table gives the same sample.
 */
import type { Clock } from "../../lib/clock.ts";
import { quantity } from "../../lib/quantity.ts";
import { BEFORE_ALL_TOKENS, LAST_TOKEN } from "../../ports/sampled-table.ts";
import type {
  SampledTable,
  TableEstimate,
  TableKey,
  TableRows,
} from "../../ports/sampled-table.ts";
import { looksLikeTime, microsOf, storedBytes } from "../read-value.ts";
import type { PartitionSource, SourcePartition, SourceRow } from "../row-source.ts";

export interface TableBudget {
  /** Bytes of rows and keys that the cluster may be asked for. */
  readonly bytesMax: number;
  readonly msMax: number;
  /** The share of the time in which a statement may be running, from 0 to 1. */
  readonly busyShare: number;
}

export const DEFAULT_BUDGET: TableBudget = { bytesMax: 64e6, msMax: 60_000, busyShare: 0.2 };

export interface TableSamplerOptions {
  readonly table: SampledTable;
  readonly budget: TableBudget;
  readonly clock: Clock;
  readonly progress?: (spent: TableSpent) => void;
}

export interface TableSpent {
  readonly partitions: number;
  readonly rows: number;
  readonly bytes: number;
  readonly statements: number;
  readonly ms: number;
}

/** Until which share of the budget each step lasts. */
const LISTING = 0.45;
const READING = 0.9;
const ESTIMATING = 1;
const RANGES = 64n;
const RING = LAST_TOKEN - BEFORE_ALL_TOKENS;
/** Keys listed at one visit: few at first, so that every range is seen. */
const KEYS_FIRST = 2;
const KEYS_MAX = 64;
/** Rows of a partition read at its first visit. */
const ROWS_FIRST = 1_000;
/** Rows kept of one partition; of more, every second, fourth, eighth one. */
const ROWS_KEPT_MAX = 2_000;
/** A statement asks for about this much, by the size of the rows so far. */
const STATEMENT_BYTES = 128e3;
const STATEMENT_ROWS_FIRST = 50;
const STATEMENT_ROWS_MAX = 1_000;
/** A statement this much slower than the usual one means a busy node: the sampler rests longer. */
const SLOW_FACTOR = 3;
const REST_FACTOR_MAX = 16;
const REST_MS_MAX = 5_000;

const NOT_BEGUN = "";

interface TokenRange {
  readonly end: bigint;
  readonly start: bigint;
  /** Everything up to it has been listed. */
  at: bigint;
}

interface Found {
  readonly key: TableKey;
  rows: SourceRow[];
  /** One row in this many is kept. */
  step: number;
  rowsRead: number;
  next: string | undefined;
}

export class TableSampler implements PartitionSource {
  readonly name: string;
  readonly #options: TableSamplerOptions;
  readonly #found: Found[] = [];
  readonly #startedMs: number;
  #bytes = 0;
  #rows = 0;
  #statements = 0;
  #usualMs = 0;
  #restFactor = 1;
  #share = 0;
  #estimated = 0;
  #estimate: TableEstimate | undefined;

  constructor(options: TableSamplerOptions) {
    const { keyspace, table } = options.table.schema;
    this.name = `${keyspace}.${table}`;
    this.#options = options;
    this.#startedMs = options.clock.monotonicMs();
  }

  /** Rows to guess the roles of the columns by: part of the sample. */
  async head(signal: AbortSignal): Promise<readonly SourceRow[]> {
    await this.#collect(signal);
    return this.#found.flatMap(({ rows }) => rows.slice(0, 10)).slice(0, 1_000);
  }

  async *partitions(signal: AbortSignal): AsyncGenerator<SourcePartition> {
    await this.#collect(signal);
    const weight = 1 / Math.max(this.#share, Number.EPSILON);
    for (const found of this.#found) {
      const whole = found.next === undefined;
      const rowsEstimate = whole ? found.rowsRead : await this.#estimateRows(found, signal);
      yield {
        key: keyValues(found, this.#options.table),
        rows: found.rows,
        whole: whole && found.step === 1,
        rowsEstimate,
        weight,
      };
    }
  }

  notes(): readonly string[] {
    const { budget } = this.#options;
    const { partitions, rows, bytes, statements, ms } = this.#spent();
    const estimate = this.#estimate;
    const notes = [
      `read ${quantity(partitions, "partition")}, ${percent(this.#share)} of the token ring, with ` +
        `${quantity(rows, "row")} and ${megabytes(bytes)} of ${megabytes(budget.bytesMax)} in ` +
        `${quantity(statements, "statement")}, ${seconds(ms)} of ${seconds(budget.msMax)}`,
    ];
    if (this.#estimated > 0) {
      notes.push(
        `not read to the end: ${quantity(this.#estimated, "partition")}; their rows are estimated ` +
          "from how far in time they were read, as if rows were spread evenly",
      );
    }
    if (estimate !== undefined && estimate.largestBytes > 0) {
      notes.push(
        `Cassandra itself estimates ${quantity(estimate.partitions, "partition")}, ` +
          `${megabytes(estimate.meanBytes)} on average; the largest has up to ${megabytes(estimate.largestBytes)}` +
          (this.#share < 1
            ? ". A sample misses single large partitions: judge the largest by that figure"
            : ""),
      );
    }
    return notes;
  }

  #spent(): TableSpent {
    return {
      partitions: this.#found.length,
      rows: this.#rows,
      bytes: this.#bytes,
      statements: this.#statements,
      ms: this.#options.clock.monotonicMs() - this.#startedMs,
    };
  }

  async #collect(signal: AbortSignal): Promise<void> {
    if (this.#statements > 0) return;
    const { table } = this.#options;
    this.#estimate = await this.#statement(signal, () => table.estimate());
    const ranges = rangesOfTheRing();
    for (let keys = KEYS_FIRST; ; keys = Math.min(KEYS_MAX, keys * 2)) {
      const open = ranges.filter(({ at, end }) => at < end);
      if (open.length === 0 || this.#isSpent(LISTING)) break;
      for (const range of open) {
        if (!this.#isSpent(LISTING)) await this.#visit(range, keys, signal);
      }
    }
    this.#share = shareOf(ranges);
    await this.#readOn(signal);
  }

  async #visit(range: TokenRange, keys: number, signal: AbortSignal): Promise<void> {
    const { table } = this.#options;
    const listed = await this.#statement(signal, () => table.keysAfter(range.at, keys));
    for (const { key, token } of listed) {
      if (token > range.end) break;
      // The first one is always read, so that every visit makes progress.
      if (this.#isSpent(LISTING) && this.#found.length > 0) return;
      const found: Found = { key, rows: [], step: 1, rowsRead: 0, next: NOT_BEGUN };
      await this.#readTo(found, ROWS_FIRST, signal);
      if (found.rowsRead > 0) this.#found.push(found);
      range.at = token;
    }
    const last = listed.at(-1)?.token;
    // Fewer keys than asked for, or one behind the end: the range is read.
    if (listed.length < keys || (last ?? range.end) >= range.end) range.at = range.end;
  }

  /** The largest so far are not preferred: each is read twice as far as before, turn by turn. */
  async #readOn(signal: AbortSignal): Promise<void> {
    for (;;) {
      const open = this.#found.filter(({ next }) => next !== undefined);
      if (open.length === 0) return;
      for (const found of open) {
        if (this.#isSpent(READING)) return;
        await this.#readTo(found, found.rowsRead * 2, signal);
      }
    }
  }

  async #readTo(found: Found, rows: number, signal: AbortSignal): Promise<void> {
    const { table } = this.#options;
    while (found.next !== undefined && found.rowsRead < rows) {
      if (this.#isSpent(READING) && found.rowsRead > 0) return;
      const limit = Math.min(rows - found.rowsRead, this.#rowsInOneStatement());
      const from = found.next === NOT_BEGUN ? undefined : found.next;
      const page = await this.#statement(signal, () => table.rowsOf(found.key, limit, from));
      this.#take(found, page);
    }
  }

  #take(found: Found, { rows, next }: TableRows): void {
    for (const row of rows) {
      for (const value of Object.values(row)) this.#bytes += storedBytes(value);
      if (found.rowsRead % found.step === 0) found.rows.push(row);
      found.rowsRead++;
      this.#rows++;
      if (found.rows.length <= ROWS_KEPT_MAX) continue;
      found.rows = found.rows.filter((_, at) => at % 2 === 0);
      found.step *= 2;
    }
    found.next = next;
  }

  /** By the share of its time that was read. Undefined if time is not what orders its rows. */
  async #estimateRows(found: Found, signal: AbortSignal): Promise<number | undefined> {
    const { table } = this.#options;
    const clustering = table.schema.columns.find(({ kind }) => kind === "clustering");
    if (clustering === undefined || this.#isSpent(ESTIMATING)) return undefined;
    if (!looksLikeTime(found.rows[0]?.[clustering.name])) return undefined;
    const last = await this.#statement(signal, () => table.lastRowOf(found.key));
    const [first, seen] = [found.rows[0], found.rows.at(-1)];
    if (last === undefined || first === undefined || seen === undefined) return undefined;
    const at = (row: SourceRow): number => microsOf(row[clustering.name]);
    const share = Math.abs(at(seen) - at(first)) / Math.abs(at(last) - at(first));
    if (!(share > 0 && share <= 1)) return undefined;
    this.#estimated++;
    return Math.round(found.rowsRead / share);
  }

  /** Runs one statement, then rests, so that statements run for a share of the time only. */
  async #statement<T>(signal: AbortSignal, run: () => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    const { clock, budget, progress } = this.#options;
    const startMs = clock.monotonicMs();
    const result = await run();
    this.#statements++;
    const tookMs = Math.max(clock.monotonicMs() - startMs, 0.1);
    this.#usualMs = this.#usualMs === 0 ? tookMs : this.#usualMs * 0.9 + tookMs * 0.1;
    const slow = tookMs > this.#usualMs * SLOW_FACTOR;
    this.#restFactor = slow
      ? Math.min(REST_FACTOR_MAX, this.#restFactor * 2)
      : Math.max(1, this.#restFactor / 2);
    progress?.(this.#spent());
    const restMs = tookMs * (1 / budget.busyShare - 1) * this.#restFactor;
    await clock.sleep(Math.min(restMs, REST_MS_MAX), signal);
    signal.throwIfAborted();
    return result;
  }

  /** Whether this share of the budget is spent. */
  #isSpent(share: number): boolean {
    const { budget, clock } = this.#options;
    const ms = clock.monotonicMs() - this.#startedMs;
    return this.#bytes >= budget.bytesMax * share || ms >= budget.msMax * share;
  }

  #rowsInOneStatement(): number {
    if (this.#rows === 0) return STATEMENT_ROWS_FIRST;
    const left = this.#options.budget.bytesMax - this.#bytes;
    const bytes = Math.min(STATEMENT_BYTES, left);
    const rows = Math.ceil(bytes / Math.max(1, this.#bytes / this.#rows));
    return Math.max(1, Math.min(STATEMENT_ROWS_MAX, rows));
  }
}

function rangesOfTheRing(): TokenRange[] {
  const width = RING / RANGES;
  return Array.from({ length: Number(RANGES) }, (_, index) => {
    const start = BEFORE_ALL_TOKENS + width * BigInt(index);
    const end = index === Number(RANGES) - 1 ? LAST_TOKEN : start + width;
    return { start, end, at: start };
  });
}

function shareOf(ranges: readonly TokenRange[]): number {
  let read = 0;
  for (const { start, at } of ranges) read += Number(at - start);
  return read / Number(RING);
}

function keyValues({ rows }: Found, { schema }: SampledTable): SourcePartition["key"] {
  const names = schema.columns.filter(({ kind }) => kind === "partition_key");
  return names.map(({ name }) => rows[0]?.[name]);
}

function percent(share: number): string {
  const value = share * 100;
  return `${value >= 10 ? value.toFixed(0) : value.toPrecision(2)} %`;
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0)} MB`;
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(ms < 10_000 ? 1 : 0)} s`;
}
