/** What a caller wants to read, and the checks of it. */
import { utf8 } from "../lib/bytes.ts";
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

/** All problems at once, each a sentence. */
export function queryProblems(query: ReadQuery, limits: ReadLimits): string[] {
  const problems: string[] = [];
  const idBytes = utf8(query.seriesId).length;
  if (idBytes === 0) problems.push("timeSeriesId is missing");
  if (idBytes > CONTRACT_EVENT_LIMITS.seriesIdBytesMax) {
    problems.push(
      `timeSeriesId has ${idBytes} bytes, the limit is ${CONTRACT_EVENT_LIMITS.seriesIdBytesMax}`,
    );
  }
  if (query.start >= query.end) {
    problems.push("timeInterval.start must be before timeInterval.end");
  }
  if (query.pageSize > limits.pageEventsMax) {
    problems.push(`pageSize is ${query.pageSize}, the limit is ${limits.pageEventsMax}`);
  }
  if (query.filters.length > limits.filtersMax) {
    problems.push(
      `there are ${query.filters.length} eventFilters, the limit is ${limits.filtersMax}`,
    );
  }
  if (query.filters.some((filter) => filter.key.length === 0)) {
    problems.push("eventFilters.matchEventItemKey is missing");
  }
  return problems;
}
