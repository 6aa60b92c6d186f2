import { equal } from "node:assert/strict";
import { test } from "node:test";
import { planned } from "../../tests/support/planned.ts";
import { DEFAULT_NAMESPACE_CONFIG } from "../model/namespace-config.ts";
import { explainRejection } from "./explain-plan.ts";

const { chosen } = planned({ ids: { mid: 1 }, eventsPerDayPerId: { mid: 1 } }, { worlds: 1 });
const CONFIG = DEFAULT_NAMESPACE_CONFIG;
const band = (mid: number, high: number) => ({ low: 0, mid, high });

test("the largest cost comes first, with both numbers, and small ones are left out", () => {
  const base = { ...chosen, partitionsPerRead: band(2, 3), readsBeyondLimit: band(0.001, 0.1) };
  const other = {
    ...base,
    partitionsPerRead: band(250, 300),
    readOverheadMs: band(125, 150),
    readsBeyondLimit: band(0.2, 0.3),
    tables: 400,
    costs: {
      reads: base.costs.reads + 1,
      wide: base.costs.wide + 2,
      hotSpots: base.costs.hotSpots,
      disk: base.costs.disk + 0.01,
      tables: base.costs.tables + 4,
    },
  };
  equal(
    explainRejection(other, base, CONFIG, ["slices of 30d do not nest with other widths"]),
    `400 tables instead of ${base.tables}; ` +
      "20 % of reads meet a partition beyond the limit (10 MiB), not 0.1 %; " +
      "a read touches 250 partitions (125 ms) instead of 2; " +
      "slices of 30d do not nest with other widths",
  );
});

test("what is worse in some worlds only is said of those", () => {
  const base = { ...chosen, readsBeyondLimit: band(0, 0.05) };
  const other = {
    ...base,
    readsBeyondLimit: band(0, 0.4),
    costs: { ...base.costs, wide: base.costs.wide + 1 },
  };
  equal(
    explainRejection(other, base, CONFIG, []),
    "up to 40 % of reads meet a partition beyond the limit (10 MiB), not 5 %",
  );
});

test("where all reads meet wide partitions, their sizes are compared", () => {
  const base = { ...chosen, readsBeyondLimit: band(1, 1), p99Bytes: band(20 * 2 ** 20, 3e8) };
  const other = {
    ...base,
    p99Bytes: band(40 * 2 ** 20, 6e8),
    costs: { ...base.costs, wide: base.costs.wide + 1 },
  };
  equal(
    explainRejection(other, base, CONFIG, []),
    "wide partitions are wider: p99 is 40MiB, not 20MiB",
  );
});

test("an alternative that is hardly worse says so", () => {
  const base = { ...chosen, regret: 0.5 };
  equal(
    explainRejection({ ...base, regret: 0.53 }, base, CONFIG, []),
    "nearly as good: its regret is 0.53, not 0.5",
  );
});
