/**
 * A sample of `npm run crash-points`: of every kind of work some steps, spread over all of them and
 * chosen by the commit, each on one side.
 */
import { deepEqual, ok } from "node:assert/strict";
import { test } from "node:test";
import { SeededRandom } from "../../src/lib/seeded-random.ts";
import { commitSeed } from "../support/commit-seed.ts";
import { countSteps, crashAt } from "./crash-points.ts";
import { CRASH_SCENARIOS } from "./crash-scenarios.ts";
import { SIDES } from "./crash-step.ts";

const POINTS = 2;
const seed = commitSeed();

for (const scenario of CRASH_SCENARIOS) {
  test(`S1: a process that ends anywhere in it is continued: ${scenario.kind}`, async (t) => {
    t.diagnostic(`seed ${seed} (BRAID_SEED)`);
    const random = new SeededRandom(seed);
    const counted = await countSteps(scenario);
    const { length } = counted.steps;
    let readsJudged = 0;
    for (let nth = 0; nth < POINTS; nth++) {
      const step = Math.floor((length * (nth + random.fraction())) / POINTS);
      const side = SIDES[nth % SIDES.length] ?? "after";
      const run = await crashAt(scenario, [{ step, side }], counted);
      readsJudged += run.readsJudged;
      deepEqual(
        run.wrong,
        [],
        `${run.story}\nnpm run crash-points -- --kind "${scenario.kind}" --step ${step}`,
      );
    }
    ok(readsJudged > 0 || scenario.kind === "namespace created");
  });
}
