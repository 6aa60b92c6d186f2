/**
 * Jaeger's `tag_index`: spans by service and tag, newest first. A common tag of a busy service
 * (`http.status_code = 200`) makes a partition of all its spans of two days, where rows expire.
 *
 * Schema: `PRIMARY KEY ((service_name, tag_key, tag_value), start_time, trace_id, span_id)`, start_time
 * in microseconds, `default_time_to_live` two days, `gc_grace_seconds` three hours.
 */
import { SeededRandom } from "../../lib/seeded-random.ts";
import { NO_DELETES } from "../roles.ts";
import type { SourceRow } from "../row-source.ts";
import { generatedSource, queryOf } from "./example.ts";
import type { Example } from "./example.ts";

const SERVICES = 40;
/** Spans a second of the busiest service; the nth has a nth of it. */
const BUSIEST_PER_SECOND = 100;
const START_MS = Date.UTC(2024, 4, 6);
const SPAN_SECONDS = 2 * 86_400;
/** A row stands for at most so many spans. */
const SPANS_PER_ROW = 2_500;
const ROWS_MIN = 20;
/** Tags of a span, with their values and how often each has. */
const TAGS: readonly (readonly [key: string, shares: Readonly<Record<string, number>>])[] = [
  ["http.method", { GET: 0.8, POST: 0.18, PUT: 0.02 }],
  ["http.status_code", { 200: 0.95, 404: 0.03, 500: 0.02 }],
  ["error", { true: 0.02 }],
  ["span.kind", { server: 0.5, client: 0.5 }],
];
const KEY = ["service_name", "tag_key", "tag_value"];
const HOUR_MICROS = 3_600_000_000;

export const jaegerTags: Example = {
  name: "jaeger",
  about: "Jaeger's tag_index: 40 services, spans by service and tag, rows expire after two days",
  roles: {
    table: "tag_index",
    partitionKey: KEY,
    clustering: [
      { column: "start_time", order: "DESC" },
      { column: "trace_id", order: "ASC" },
      { column: "span_id", order: "ASC" },
    ],
    time: "start_time",
    candidates: ["trace_id"],
    hashed: ["trace_id"],
    weight: "spans",
    deletes: { ...NO_DELETES, ttlMicros: 48 * HOUR_MICROS },
    types: { start_time: "bigint", trace_id: "blob", span_id: "bigint" },
  },
  queries: [
    queryOf("newest 20 traces of a tag in the last hour", KEY, {
      rangeMicros: HOUR_MICROS,
      limit: 20,
      frequency: 10,
      keys: "BUSY",
    }),
    queryOf("traces of a tag in some ten minutes", KEY, {
      rangeMicros: HOUR_MICROS / 6,
      anchor: "ANY",
      limit: 200,
      frequency: 1,
    }),
  ],
  limits: { gcGraceMicros: 3 * HOUR_MICROS },
  source: generatedSource("the example jaeger", rows),
};

function* rows(): Generator<SourceRow> {
  const random = new SeededRandom(14);
  for (let service = 1; service <= SERVICES; service++) {
    for (const [tagKey, shares] of TAGS) {
      for (const [tagValue, share] of Object.entries(shares)) {
        const spans = (BUSIEST_PER_SECOND / service) * SPAN_SECONDS * share;
        yield* spansOf(service, tagKey, tagValue, spans, random.fork());
      }
    }
  }
}

function* spansOf(
  service: number,
  tagKey: string,
  tagValue: string,
  spans: number,
  random: SeededRandom,
): Generator<SourceRow> {
  const count = Math.ceil(Math.max(spans / SPANS_PER_ROW, Math.min(spans, ROWS_MIN)));
  for (let nth = 0; nth < count; nth++) {
    yield {
      service_name: service === 1 ? "gateway" : `service-${service}`,
      tag_key: tagKey,
      tag_value: tagValue,
      // Twice as many spans by day as by night.
      start_time: Math.round((START_MS / 1e3 + busySecond(random)) * 1e6),
      trace_id: random
        .below(2 ** 32)
        .toString(16)
        .padStart(32, "0"),
      span_id: random.below(2 ** 32),
      spans: Math.max(1, Math.round(spans / count)),
    };
  }
}

function busySecond(random: SeededRandom): number {
  for (;;) {
    const second = random.fraction() * SPAN_SECONDS;
    const hour = (second / 3_600) % 24;
    if (hour >= 8 && hour < 20 ? true : random.chance(0.5)) return second;
  }
}
