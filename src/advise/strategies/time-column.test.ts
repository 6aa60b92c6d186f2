import { equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { adviceOn, sampleOf, VIEW_ROLES } from "../../../tests/support/advise-table.ts";
import type { AdviceOptions } from "../../../tests/support/advise-table.ts";
import { SeededRandom } from "../../lib/seeded-random.ts";
import { queryOf } from "../examples/example.ts";
import { DAY_MICROS } from "../limits.ts";
import type { Measured } from "../measure.ts";
import type { SourceRow } from "../row-source.ts";

const MINUTE_MICROS = 60_000_000;
const START = Date.UTC(2024, 0, 1) / 1_000;

async function byWidth(
  rows: readonly SourceRow[],
  widthMicros: number,
  options: AdviceOptions,
  weight = 1,
): Promise<Measured> {
  const sample = await sampleOf(rows, { ...VIEW_ROLES, weight });
  const choices = { widthsMicros: [widthMicros], hashes: [10] };
  const { judged } = adviceOn(sample, { ...options, choices });
  const found = judged.find(({ measured }) => measured.strategy.option === "TIME_COLUMN");
  ok(found !== undefined);
  return found.measured;
}

/** A row each second for `days` days, of which a sample has one in `weight`. */
function eachSecond(days: number, weight: number, burst = 1): SourceRow[] {
  const random = new SeededRandom(3);
  return Array.from({ length: days * 86_400 }, (_, nth) => nth).flatMap((second) => {
    const isBurst = burst > 1 && second >= 43_200 && second < 46_800;
    return Array.from({ length: isBurst ? burst : 1 }, (__, nth) => nth)
      .filter(() => random.fraction() < 1 / weight)
      .map((nth) => ({ video: "v", id: `${second}-${nth}`, at: START + second }));
  });
}

test("a query of the last day asks two days, and one of six hours a quarter more than one", async () => {
  const rows = Array.from({ length: 40 }, (_, nth) => ({
    video: "v",
    id: `${nth}`,
    at: START + nth * 21_600 + 3_000,
  }));
  const last = async (hours: number): Promise<number> => {
    const queries = [queryOf("last", ["video"], { rangeMicros: (hours * DAY_MICROS) / 24 })];
    return (await byWidth(rows, DAY_MICROS, { queries })).queries[0]?.partitions ?? 0;
  };
  equal(await last(24), 2);
  equal(await last(6), 1.25);
  equal(await last(24 * 100), 10);
});

test("a sample of one row in a hundred shows minutes and hours as large as they are", async () => {
  const rows = eachSecond(4, 100);
  const minute = await byWidth(rows, MINUTE_MICROS, {}, 100);
  ok(minute.sizes.rows.max > 45 && minute.sizes.rows.max < 130, `${minute.sizes.rows.max}`);
  ok(Math.abs(minute.sizes.partitions / 5_760 - 1) < 0.15, `${minute.sizes.partitions}`);
  const hour = await byWidth(rows, 60 * MINUTE_MICROS, {}, 100);
  ok(Math.abs(hour.sizes.rows.max / 3_600 - 1) < 0.3, `${hour.sizes.rows.max}`);
});

test("a burst of an hour is not averaged with the quiet days", async () => {
  const { sizes } = await byWidth(eachSecond(4, 100, 40), MINUTE_MICROS, {}, 100);
  ok(sizes.rows.max > 1_800 && sizes.rows.max < 4_000, `${sizes.rows.max}`);
});
