/** Chooses the strategy of a segment and gives the reason. Pure. */
import { assert } from "../../lib/errors.ts";
import type { NamespaceConfig } from "../../model/namespace-config.ts";
import { SPLIT_STRATEGIES, STRATEGIES } from "../../model/strategies/strategies.ts";
import type { SplitStrategyName } from "../../model/strategies/strategies.ts";
import type { Strategy } from "../../model/strategies/strategy.ts";

export interface ChosenStrategy {
  readonly name: SplitStrategyName;
  readonly strategy: Strategy;
  readonly why: string;
}

/**
 * Takes the strategy that the namespace sets; AUTO takes the ordered strategy that needs one pass.
 */
export function chooseStrategy({ widePartition }: NamespaceConfig): ChosenStrategy {
  const asked = SPLIT_STRATEGIES.find((name) => name === widePartition.strategy);
  return asked === undefined
    ? chosen(autoName(), whyAuto())
    : chosen(asked, `the namespace asks for ${asked}`);
}

/**
 * Replaces a strategy that needs the whole range measured, if the survey measured only some of it.
 */
export function onePassInstead({ why }: ChosenStrategy, measured: string): ChosenStrategy {
  const name = autoName();
  return chosen(
    name,
    `${why}, which has to know the whole, and only ${measured} of it were measured: ${name} instead`,
  );
}

function chosen(name: SplitStrategyName, why: string): ChosenStrategy {
  return { name, strategy: STRATEGIES[name], why };
}

/** Ordered, because most reads are pages; one pass, because it costs least. */
function autoName(): SplitStrategyName {
  const auto = SPLIT_STRATEGIES.find((name) => {
    const strategy: Strategy = STRATEGIES[name];
    return strategy.ordered && strategy.onePass;
  });
  assert(auto !== undefined, "one strategy is ordered and needs one pass");
  return auto;
}

function whyAuto(): string {
  const auto = STRATEGIES[autoName()];
  const others = SPLIT_STRATEGIES.map((name) => STRATEGIES[name])
    .filter(({ name }) => name !== auto.name)
    .map(({ name, whatItCosts }) => `${name} costs ${whatItCosts}`);
  return `${auto.name} gives ${auto.whatFor}, for ${auto.whatItCosts}; ${others.join("; ")}`;
}
