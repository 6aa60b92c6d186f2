/**
 * Samples a table of a live cluster within a budget of bytes and time, and rests most of that time.
 *
 * The ring of tokens is cut into equal ranges. Each is read from its start, a few keys at a visit,
 * turn by turn, so that all that has been read when half of the budget is spent is spread evenly.
 * What was read of the ring gives the weight of the partitions. The other half of the budget is for
 * large partitions: each is cut into subranges, and these are read on, each time twice as far, until
 * they end or the budget does. What is then left is for more of the ring.
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
  TableSchema,
} from "../../ports/sampled-table.ts";
import type { PartitionSource, SourcePartition, SourceRow } from "../row-source.ts";
import { PacedReads } from "./paced-reads.ts";
import type { Spent, TableBudget } from "./paced-reads.ts";
import {
  canRead,
  cutRange,
  cutRest,
  isOpen,
  newSubrange,
  positionOf,
  rangedColumn,
  rowsPerRow,
  takeRows,
  unreadRows,
} from "./table-subranges.ts";
import type { Subrange } from "./table-subranges.ts";

export interface TableSamplerOptions {
  readonly table: SampledTable;
  readonly budget: TableBudget;
  readonly clock: Clock;
  readonly progress?: (spent: TableSpent) => void;
}

export interface TableSpent extends Spent {
  readonly partitions: number;
}

/** Until which share of the budget each step lasts. */
const LISTING = 0.45;
const READING = 0.9;
const RANGES = 64n;
const RING = LAST_TOKEN - BEFORE_ALL_TOKENS;
/** Keys listed at one visit: few at first, so that every range is seen. */
const KEYS_FIRST = 2;
const KEYS_MAX = 64;
/** Rows of a partition read at its first visit: one statement of large rows, more of small ones. */
const ROWS_FIRST = { min: 100, max: 1_000 };
/** Rows kept of one partition; of more, every second, fourth, eighth one. */
const ROWS_KEPT_MAX = 2_000;
/** Rows kept of all: about 1 KB each in memory. */
const ALL_KEPT_MAX = 500_000;
const SUBRANGES_MIN = 8;
const SUBRANGES_MAX = 64;
/** Subranges of one partition, with those that were cut again. */
const CUT_SUBRANGES_MAX = 512;
const SUBRANGE_ROWS_FIRST = 50;

interface TokenRange {
  readonly end: bigint;
  readonly start: bigint;
  /** Everything up to it has been listed. */
  at: bigint;
}

interface Found {
  readonly key: TableKey;
  /** From the start of the partition. */
  readonly head: Subrange;
  /** All of it, if each has been begun; until then the head counts. */
  subranges: readonly Subrange[];
  /** Whether it was tried to cut it. */
  cut: boolean;
}

interface SubrangeRead {
  readonly key: TableKey;
  readonly subrange: Subrange;
  /** Read until it has so many rows. */
  readonly rows: number;
  /** Until this share of the budget is spent. */
  readonly share: number;
}

export class TableSampler implements PartitionSource {
  readonly name: string;
  readonly #options: TableSamplerOptions;
  readonly #found: Found[] = [];
  readonly #reads: PacedReads;
  #ranges: readonly TokenRange[] = [];
  #kept = 0;
  #estimated = 0;
  #estimate: TableEstimate | undefined;

  constructor(options: TableSamplerOptions) {
    const { keyspace, table } = options.table.schema;
    this.name = `${keyspace}.${table}`;
    this.#options = options;
    const { budget, clock, progress } = options;
    this.#reads = new PacedReads({
      budget,
      clock,
      progress: (spent) => progress?.({ ...spent, partitions: this.#found.length }),
    });
  }

  /** Rows to guess the roles of the columns by: part of the sample. */
  async head(signal: AbortSignal): Promise<readonly SourceRow[]> {
    await this.#collect(signal);
    return this.#found.flatMap(({ head }) => head.rows.slice(0, 10)).slice(0, 1_000);
  }

  async *partitions(signal: AbortSignal): AsyncGenerator<SourcePartition> {
    await this.#collect(signal);
    const { schema } = this.#options.table;
    const column = rangedColumn(schema.columns);
    const weight = 1 / Math.max(shareOf(this.#ranges), Number.EPSILON);
    this.#estimated = 0;
    for (const { head, subranges } of this.#found) {
      const used =
        subranges.length > 0 && subranges.every(({ begun }) => begun) ? subranges : [head];
      const weights = used.map((subrange) => rowsPerRow(subrange, column));
      const whole = weights.every((each) => each !== undefined);
      if (whole && used.some(isOpen)) this.#estimated++;
      yield {
        key: keyValues(head, schema),
        rows: used.flatMap(({ rows }) => rows),
        rowWeights: used.flatMap(({ rows, step }, at) => rows.map(() => weights[at] ?? step)),
        whole,
        weight,
      };
    }
  }

  notes(): readonly string[] {
    const { budget } = this.#options;
    const { rows, bytes, statements, failures, failure, ms } = this.#reads;
    const partitions = this.#found.length;
    const estimate = this.#estimate;
    const share = shareOf(this.#ranges);
    const notes = [
      `read ${quantity(partitions, "partition")}, ${percent(share)} of the token ring, with ` +
        `${quantity(rows, "row")} and ${megabytes(bytes)} of ${megabytes(budget.bytesMax)} in ` +
        `${quantity(statements, "statement")}, ${seconds(ms)} of ${seconds(budget.msMax)}`,
    ];
    if (this.#estimated > 0) {
      notes.push(
        `read in subranges: ${quantity(this.#estimated, "large partition")}; each is estimated from ` +
          "subranges of equal time or number, as if rows were spread evenly inside a subrange",
      );
    }
    if (failures > 0) {
      notes.push(
        `${quantity(failures, "statement")} failed, for instance: ${failure}; what ` +
          "they asked for is missing here",
      );
    }
    if (estimate !== undefined && estimate.largestBytes > 0) {
      notes.push(
        `Cassandra itself estimates ${quantity(estimate.partitions, "partition")}, ` +
          `${megabytes(estimate.meanBytes)} on average; the largest has up to ${megabytes(estimate.largestBytes)}` +
          (share < 1
            ? ". A sample misses single large partitions: judge the largest by that figure"
            : ""),
      );
    }
    return notes;
  }

  async #collect(signal: AbortSignal): Promise<void> {
    if (this.#reads.statements > 0) return;
    const { table } = this.#options;
    this.#estimate = await this.#reads.run(signal, () => table.estimate());
    this.#ranges = rangesOfTheRing();
    await this.#list(LISTING, signal);
    await this.#readOn(READING, signal);
    await this.#list(READING, signal);
    await this.#readOn(1, signal);
  }

  /** Until this share of the budget is spent. */
  async #list(share: number, signal: AbortSignal): Promise<void> {
    for (let keys = KEYS_FIRST; ; keys = Math.min(KEYS_MAX, keys * 2)) {
      const open = this.#ranges.filter(({ at, end }) => at < end);
      if (open.length === 0) return;
      for (const range of open) {
        if (this.#reads.isSpent(share) || this.#kept > ALL_KEPT_MAX) return;
        await this.#visit(range, keys, share, signal);
      }
    }
  }

  async #visit(range: TokenRange, keys: number, share: number, signal: AbortSignal): Promise<void> {
    const { table } = this.#options;
    const listed = await this.#reads.run(signal, () => table.keysAfter(range.at, keys));
    for (const { key, token } of listed) {
      if (token > range.end) break;
      // The first one is always read, so that every visit makes progress.
      if (this.#reads.isSpent(share) && this.#found.length > 0) return;
      const head = newSubrange(undefined, ROWS_KEPT_MAX);
      await this.#readTo(
        { key, subrange: head, rows: this.#reads.rowsFirst(ROWS_FIRST), share: 1 },
        signal,
      );
      if (head.rowsRead > 0) this.#found.push({ key, head, subranges: [], cut: false });
      this.#kept += head.rows.length;
      range.at = token;
    }
    const beyond = listed.find(({ token }) => token > range.end)?.token;
    if (beyond === undefined && listed.length === keys) return;
    range.at = range.end;
    // There is no key up to the next one, so the ranges between them are read too.
    const next = beyond === undefined ? LAST_TOKEN : beyond - 1n;
    for (const other of this.#ranges) {
      if (other.start < range.end || other.at >= next) continue;
      other.at = other.end < next ? other.end : next;
    }
  }

  /** Where the most rows are still unread, reading goes twice as far as before, turn by turn. */
  async #readOn(share: number, signal: AbortSignal): Promise<void> {
    const large = this.#found.filter(({ head }) => isOpen(head));
    const count = this.#subrangesFor(large.length, share);
    const column = rangedColumn(this.#options.table.schema.columns);
    for (const found of large) {
      if (this.#reads.isSpent(share)) return;
      if (!found.cut) await this.#cut(found, count, share, signal);
    }
    for (;;) {
      const open = large.flatMap((found) =>
        (found.subranges.length > 0 ? found.subranges : [found.head])
          .filter(canRead)
          .map((subrange) => ({ found, subrange, unread: unreadRows(subrange, column) })),
      );
      open.sort((a, b) => b.unread - a.unread);
      const before = this.#reads.rows;
      for (const { found, subrange } of open.slice(0, Math.ceil(open.length / 4))) {
        if (this.#reads.isSpent(share)) return;
        await this.#readFurther(found, subrange, share, signal);
      }
      // All ended, or all that are left fail.
      if (this.#reads.rows === before) return;
    }
  }

  async #readFurther(
    found: Found,
    subrange: Subrange,
    share: number,
    signal: AbortSignal,
  ): Promise<void> {
    const { key, subranges } = found;
    const column = rangedColumn(this.#options.table.schema.columns);
    const cut = subranges.length < CUT_SUBRANGES_MAX ? cutRest(subrange, column) : undefined;
    if (cut === undefined) {
      const rows = Math.max(SUBRANGE_ROWS_FIRST, subrange.rowsRead * 2);
      return this.#readTo({ key, subrange, rows, share }, signal);
    }
    for (const rest of cut.rest) {
      await this.#readTo({ key, subrange: rest, rows: SUBRANGE_ROWS_FIRST, share }, signal);
    }
    if (!cut.rest.every(({ begun }) => begun)) return;
    found.subranges = subranges.flatMap((each) =>
      each === subrange ? [cut.read, ...cut.rest] : [each],
    );
  }

  /** So many that half of what is left is for the first statement of each. */
  #subrangesFor(partitions: number, share: number): number {
    const statements = this.#reads.statementsLeft(share, SUBRANGE_ROWS_FIRST);
    const count = Math.floor(statements / 2 / Math.max(1, partitions));
    return Math.max(SUBRANGES_MIN, Math.min(SUBRANGES_MAX, count));
  }

  /** Cuts a partition from its first to its last row, and begins each subrange. */
  async #cut(found: Found, count: number, share: number, signal: AbortSignal): Promise<void> {
    found.cut = true;
    const { table } = this.#options;
    const column = rangedColumn(table.schema.columns);
    if (column === undefined) return;
    const { key, head } = found;
    const last = await this.#reads.attempt(signal, () => table.lastRowOf(key));
    if (last === undefined) return;
    const ends = [head.rows[0], last].map((row) => positionOf(row?.[column.name], column));
    const ranges = cutRange(ends[0] ?? Number.NaN, ends[1] ?? Number.NaN, count);
    const keptMax = Math.ceil(ROWS_KEPT_MAX / Math.max(1, ranges.length));
    found.subranges = ranges.map((range) => newSubrange(range, keptMax));
    for (const subrange of found.subranges) {
      if (found.subranges.some(({ failed }) => failed)) return;
      await this.#readTo({ key, subrange, rows: SUBRANGE_ROWS_FIRST, share }, signal);
    }
  }

  async #readTo({ key, subrange, rows, share }: SubrangeRead, signal: AbortSignal): Promise<void> {
    const { table } = this.#options;
    const column = rangedColumn(table.schema.columns);
    while (canRead(subrange) && subrange.rowsRead < rows) {
      if (this.#reads.isSpent(share) && this.#reads.rows > 0) return;
      const limit = Math.min(rows - subrange.rowsRead, this.#reads.rowsInOneStatement());
      const page = await this.#reads.attempt(signal, () =>
        table.rowsOf(key, limit, subrange.next, subrange.range),
      );
      subrange.failed = page === undefined;
      if (page === undefined) return;
      this.#reads.count(page.rows);
      takeRows(subrange, page, column);
    }
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

function keyValues({ rows }: Subrange, { columns }: TableSchema): SourcePartition["key"] {
  const names = columns.filter(({ kind }) => kind === "partition_key");
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
