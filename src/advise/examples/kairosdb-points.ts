/**
 * A table like KairosDB's `data_points`: one partition for a metric, its tags and three weeks. A
 * metric with a point each second has 1.8 million rows in it.
 *
 * KairosDB packs metric, tags and row time into one blob key, and the offset in it into a column;
 * here they are columns of their own.
 */
import { SeededRandom } from "../../lib/seeded-random.ts";
import type { SourceRow } from "../row-source.ts";
import { generatedSource, queryOf } from "./example.ts";
import type { Example } from "./example.ts";

const ROW_WIDTH_MS = 1_814_400_000;
const ROW_TIMES = 3;
const START_MS = Math.ceil(Date.UTC(2024, 0, 1) / ROW_WIDTH_MS) * ROW_WIDTH_MS;
/** Series by the seconds between two points. */
const SERIES: readonly (readonly [seconds: number, count: number])[] = [
  [1, 20],
  [10, 60],
  [60, 120],
];
const ROWS_PER_PARTITION = 400;
const KEY = ["metric", "row_time", "tags"];
const HOUR_MICROS = 3_600_000_000;

export const kairosdbPoints: Example = {
  name: "kairosdb",
  about: "a table like KairosDB's data_points: 200 series, a partition for each three weeks",
  roles: {
    table: "data_points",
    partitionKey: KEY,
    clustering: [{ column: "time", order: "ASC" }],
    time: "time",
    candidates: [],
    hashed: ["time"],
    weight: "points",
    valueBytes: 8,
    types: { row_time: "timestamp", time: "timestamp", value: "blob" },
  },
  queries: [
    queryOf("a dashboard's six hours of a series", KEY, {
      rangeMicros: 6 * HOUR_MICROS,
      order: "OLDEST_FIRST",
      frequency: 20,
    }),
    queryOf("any seven days of a series", KEY, {
      rangeMicros: 7 * 24 * HOUR_MICROS,
      anchor: "ANY",
      order: "OLDEST_FIRST",
    }),
  ],
  limits: {},
  source: generatedSource("the example kairosdb", rows),
};

function* rows(): Generator<SourceRow> {
  const random = new SeededRandom(3);
  let series = 0;
  for (const [seconds, count] of SERIES) {
    for (let nth = 0; nth < count; nth++) {
      const tags = `host=web-${++series}`;
      for (let row = 0; row < ROW_TIMES; row++) {
        yield* pointsOf(START_MS + row * ROW_WIDTH_MS, seconds, tags, random);
      }
    }
  }
}

function* pointsOf(
  rowTimeMs: number,
  seconds: number,
  tags: string,
  random: SeededRandom,
): Generator<SourceRow> {
  const points = Math.floor(ROW_WIDTH_MS / 1_000 / seconds);
  const count = Math.min(ROWS_PER_PARTITION, points);
  for (let nth = 0; nth < count; nth++) {
    const point = Math.floor(((nth + random.fraction()) * points) / count);
    yield {
      metric: "cpu.load",
      row_time: new Date(rowTimeMs).toISOString(),
      tags,
      time: new Date(rowTimeMs + point * seconds * 1_000).toISOString(),
      value: Math.round(random.fraction() * 1_000) / 10,
      points: Math.round(points / count),
    };
  }
}
