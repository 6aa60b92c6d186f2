/** What a caller wants to read, and the checks of it. */
import { utf8 } from "../lib/bytes.ts";
import type { Problems } from "../lib/problems.ts";
import type { Order } from "../ports/event-store.ts";
import { CONTRACT_EVENT_LIMITS } from "../wire/validate-event.ts";

export interface ItemFilter {
  readonly key: Uint8Array;
  readonly value: Uint8Array;
}

export interface ReadQuery {
  readonly namespace: string;
  readonly seriesId: string;
  /** Event time in microseconds, including the start, excluding the end. */
  readonly start: number;
  readonly end: number;
  /** All must match. */
  readonly filters: readonly ItemFilter[];
  readonly order: Order;
  /** 0 for the default. */
  readonly pageSize: number;
  /** Over all pages; 0 for none. */
  readonly totalLimit: number;
  /** "" for the first page. */
  readonly pageToken: string;
  readonly allowPartial: boolean;
}

export interface ReadLimits {
  readonly pageSizeDefault: number;
  readonly pageEventsMax: number;
  readonly pageBytesMax: number;
  /** Pages of a stream: large enough to be cheap, small enough to hold two for each reader. */
  readonly streamPageBytes: number;
  readonly filtersMax: number;
  /** Partitions that one page asks before it answers with what it has. */
  readonly pagePartitionsMax: number;
  /**
   * A page that has asked `pagePartitionsMin` partitions answers after this time with what it has.
   * The next page waits for its turn again, so that a long read leaves room for others.
   */
  readonly pageTurnMs: number;
  readonly pagePartitionsMin: number;
  /** Time buckets read at once while they turn out to be empty. */
  readonly aheadMax: number;
}

export const DEFAULT_READ_LIMITS: ReadLimits = {
  pageSizeDefault: 100,
  pageEventsMax: 10_000,
  pageBytesMax: 3 * 1024 * 1024,
  streamPageBytes: 512 * 1024,
  filtersMax: 32,
  pagePartitionsMax: 1_000,
  pageTurnMs: 250,
  pagePartitionsMin: 64,
  aheadMax: 8,
};

/** Adds all problems, each a sentence that names the field as the API spells it. */
export function checkQuery(query: ReadQuery, limits: ReadLimits, problems: Problems): void {
  const { seriesIdBytesMax } = CONTRACT_EVENT_LIMITS;
  const idBytes = utf8(query.seriesId).length;
  const { length: filters } = query.filters;
  if (query.namespace === "") problems.add("namespace is missing", "namespace");
  if (idBytes === 0) problems.add("timeSeriesId is missing", "timeSeriesId");
  if (idBytes > seriesIdBytesMax) {
    const problem = `timeSeriesId has ${idBytes} bytes, the limit is ${seriesIdBytesMax}`;
    problems.add(problem, "timeSeriesId");
  }
  // Without both ends there is no order to check.
  if (problems.sound("timeInterval.start", "timeInterval.end") && query.start >= query.end) {
    problems.add("timeInterval.start must be before timeInterval.end");
  }
  if (query.pageSize > limits.pageEventsMax) {
    const problem = `pageSize is ${query.pageSize}, the limit is ${limits.pageEventsMax}`;
    problems.add(problem, "pageSize");
  }
  if (filters > limits.filtersMax) {
    problems.add(`there are ${filters} eventFilters, the limit is ${limits.filtersMax}`);
  }
  for (const [i, { key }] of query.filters.entries()) {
    const field = `eventFilters[${i}].matchEventItemKey`;
    if (key.length === 0) problems.add(`${field} is missing`, field);
  }
}
