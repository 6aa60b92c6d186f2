/** The deck's example, and two public schemas with the problem. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import { adviceOnExample, verdictsOf } from "../../../tests/support/advise-table.ts";
import { advicePage } from "../html/page.ts";
import { jaegerTags } from "./jaeger-tags.ts";
import { kairosdbPoints } from "./kairosdb-points.ts";
import { viewsByVideo } from "./views-by-video.ts";

/** Size limit, over-shrinking, known keys, hot spots, tombstones: as on the slides. */
const DECK: Readonly<Record<string, string>> = {
  "existing column user_id": "+ - - + +",
  "existing column view_id": "+ - - + +",
  "existing column device": "- + + ? ?",
  "time column 1d": "? ? + ? ?",
  "fill-up bucket 50,000 rows": "+ + + ? +",
  "fixed hash 1,000": "+ ? + + +",
  "per-key variable": "+ + + + +",
};

test("on the deck's example every verdict is the deck's", async () => {
  const advice = await adviceOnExample(viewsByVideo);
  const verdicts = verdictsOf(advice);
  const five = Object.keys(DECK).map((name) => [name, (verdicts[name] ?? "").slice(0, 9)]);
  deepEqual(Object.fromEntries(five), DECK);
  equal(advice.recommended.measured.strategy.name, "per-key variable");
  // The deck's cons: fill-up cannot find one event, a fixed hash has no order.
  match(verdicts["fill-up bucket 50,000 rows"] ?? "", / -$/);
  match(verdicts["fixed hash 1,000"] ?? "", / - \+$/);

  const page = advicePage(advice, ["braid ns create views"]);
  ok(page.length < 300_000 && !/<script|https?:\/\/(?!www\.w3\.org)/.test(page));
  for (const name of Object.keys(DECK)) ok(page.includes(name));
});

test("Jaeger's tag_index gets a time column", async () => {
  const advice = await adviceOnExample(jaegerTags);
  equal(verdictsOf(advice)["as it is"]?.[0], "-");
  equal(advice.recommended.measured.strategy.name, "time column 1m");
});

test("a table like KairosDB's data_points gets a time column of a day instead of three weeks", async () => {
  const advice = await adviceOnExample(kairosdbPoints);
  equal(verdictsOf(advice)["as it is"]?.[0], "-");
  equal(advice.recommended.measured.strategy.name, "time column 1d");
  equal(verdictsOf(advice)["time column 1d"], "+ + + + + + +");
});
