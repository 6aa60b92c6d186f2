/** What a caller wants to read, and the checks of it. */
import { utf8 } from "../lib/bytes.ts";
import type { Problems } from "../lib/problems.ts";
import type { Order } from "../ports/event-store.ts";
import { CONTRACT_EVENT_LIMITS } from "../wire/event-limits.ts";
import type { ReadLimits } from "./read-limits.ts";

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
