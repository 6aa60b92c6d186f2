/**
 * What splitting costs and gains: the same events wide, wide and compacted, well bucketed, split as
 * rows and split packed, side by side in one run.
 *
 * `--mb` is the width of the widest partition on Cassandra. `--fan-out 1` reads well-bucketed rows
 * one bucket after another there. The embedded part and the costs need no Java.
 */
import { parseArgs } from "node:util";
import { benchSplitCassandra } from "./split/on-cassandra.ts";
import { benchSplitCosts } from "./split/costs.ts";
import { benchSplitEmbedded } from "./split/on-embedded.ts";
import { benchThreeNodes } from "./split/three-nodes.ts";
import type { SplitBenchOptions } from "./split/options.ts";
import { Report } from "./support/report.ts";

export const SPLIT_FLAGS =
  "[--mb 500] [--event-bytes 100,500] [--quick] [--fan-out 1] [--three-nodes] [--only costs,embedded,cassandra,three-nodes]";

type Part = (report: Report, options: SplitBenchOptions) => Promise<void>;

const PARTS: Readonly<Record<string, Part>> = {
  costs: benchSplitCosts,
  embedded: benchSplitEmbedded,
  cassandra: benchSplitCassandra,
  "three-nodes": benchThreeNodes,
};

export async function benchSplit(flags: readonly string[]): Promise<Report> {
  const { values } = parseArgs({
    args: [...flags],
    options: {
      mb: { type: "string" },
      "event-bytes": { type: "string" },
      quick: { type: "boolean", default: false },
      "fan-out": { type: "string" },
      "three-nodes": { type: "boolean", default: false },
      only: { type: "string" },
    },
  });
  const { quick } = values;
  const mb = Number(values.mb ?? (quick ? 60 : 500));
  if (!(mb >= 20)) throw new Error(`--mb ${values.mb}: at least 20, or nothing is wide`);
  const sizes = (values["event-bytes"] ?? (quick ? "100" : "100,500")).split(",").map(Number);
  if (!sizes.every((bytes) => bytes >= 50)) throw new Error("--event-bytes: at least 50 each");
  const options: SplitBenchOptions = {
    mb,
    quick,
    rounds: quick ? 3 : 5,
    pages: quick ? 100 : 400,
    warmUp: quick ? 1 : 2,
    eventSizes: sizes,
    fanOut: values["fan-out"],
  };
  const usual = Object.keys(PARTS).filter(
    (name) => name !== "three-nodes" || values["three-nodes"],
  );
  const report = new Report("split");
  for (const name of values.only?.split(",") ?? usual) {
    const part = Object.hasOwn(PARTS, name) ? PARTS[name] : undefined;
    if (part === undefined)
      throw new Error(`--only ${name}: one of ${Object.keys(PARTS).join(", ")}`);
    await part(report, options);
  }
  return report;
}
