import assert from "node:assert/strict";
import { test } from "node:test";
import { DEFAULT_NAMESPACE_CONFIG } from "../../model/namespace-config.ts";
import { SPLIT_STRATEGIES } from "../../model/strategies/strategies.ts";
import { chooseStrategy, onePassInstead } from "./choose-strategy.ts";

test("AUTO takes the strategy that is ordered and needs one pass, and says why not the others", () => {
  const { name, strategy, why } = chooseStrategy(DEFAULT_NAMESPACE_CONFIG);
  assert.equal(name, "EVENT_BUCKETS");
  assert.ok(strategy.ordered && strategy.onePass);
  for (const each of SPLIT_STRATEGIES) assert.ok(why.includes(each));
});

test("the configured strategy is taken, unless it needs a size that was not measured", () => {
  const { widePartition } = DEFAULT_NAMESPACE_CONFIG;
  for (const strategy of SPLIT_STRATEGIES) {
    const config = { ...DEFAULT_NAMESPACE_CONFIG, widePartition: { ...widePartition, strategy } };
    const asked = chooseStrategy(config);
    assert.equal(asked.name, strategy);
    const instead = onePassInstead(asked, "10 bytes");
    assert.ok(instead.strategy.onePass);
    assert.ok(instead.why.startsWith(asked.why));
  }
});
