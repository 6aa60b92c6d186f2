/** Known keys: a query needs the values of all partition key columns. */
import { KNOWN_VALUES_MAX } from "../limits.ts";
import { short } from "../number-text.ts";
import { verdictOf } from "./criterion.ts";
import type { Criterion } from "./criterion.ts";

/** So many need a table of their own. */
const VALUES_QUESTION = 10_000;

export const knownKeys: Criterion = {
  name: "KNOWN_KEYS",
  title: "known keys",
  isPrice: false,
  judge({ queries, unknownValues, strategy }, { roles, facts }) {
    const scans = queries.filter(({ served }) => !served).map(({ query }) => `"${query.name}"`);
    if (scans.length > 0) {
      const why =
        `${scans.join(", ")} does not give ${roles.partitionKey.join(", ")}: it scans the table ` +
        "however it is split, and needs a table of its own";
      return { verdict: "DOWN", number: facts.keys, why };
    }
    const verdict = verdictOf(unknownValues, KNOWN_VALUES_MAX, VALUES_QUESTION);
    const [added] = strategy.text.added;
    if (unknownValues > 0 && strategy.hasIds === true && verdict !== "DOWN") {
      const why = `a query does not give ${added?.column ?? "the column"}, and most rows have a value of their own`;
      return { verdict: "DOWN", number: unknownValues, why };
    }
    const why =
      unknownValues === 0
        ? `a query gives or computes the whole key${strategy.text.directory === undefined ? "" : ` (with ${strategy.text.directory.name})`}`
        : `a query does not give ${added?.column ?? "the column"}, which has ${short(unknownValues)} values`;
    return { verdict, number: unknownValues, why };
  },
};
