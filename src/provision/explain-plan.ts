/** Says in sentences why a partitioning was not chosen. Pure. */
import { formatBytes, formatDurationMs } from "../lib/units.ts";
import type { NamespaceConfig } from "../model/namespace-config.ts";
import type { Band, PartitionCost, PartitionPlan } from "../model/partition-plan.ts";

/** Differences below this are not worth a sentence: a read 5 % longer is 0.07. */
const DOUBLINGS_MIN = 0.05;

export function explainRejection(
  plan: PartitionPlan,
  chosen: PartitionPlan,
  config: NamespaceConfig,
  refusals: readonly string[],
): string {
  const worse = (Object.keys(plan.costs) as (keyof PartitionCost)[])
    .map((cost) => ({ cost, by: plan.costs[cost] - chosen.costs[cost] }))
    .filter(({ by }) => by > DOUBLINGS_MIN)
    .toSorted((a, b) => b.by - a.by)
    .map(({ cost }) => sentence(cost, plan, chosen, config));
  const nearly =
    worse.length === 0 && refusals.length === 0
      ? [`nearly as good: its regret is ${number(plan.regret)}, not ${number(chosen.regret)}`]
      : [];
  return [...worse, ...refusals, ...nearly].join("; ");
}

export function widthText(seconds: number): string {
  return formatDurationMs(seconds * 1_000);
}

function sentence(
  cost: keyof PartitionCost,
  plan: PartitionPlan,
  chosen: PartitionPlan,
  config: NamespaceConfig,
): string {
  switch (cost) {
    case "reads": {
      const [at, prefix] = worseAt(plan.partitionsPerRead, chosen.partitionsPerRead);
      return (
        `a read touches ${prefix}${number(plan.partitionsPerRead[at])} partitions ` +
        `(${number(plan.readOverheadMs[at])} ms) instead of ${number(chosen.partitionsPerRead[at])}`
      );
    }
    case "wide": {
      const [at, prefix] = worseAt(plan.readsBeyondLimit, chosen.readsBeyondLimit);
      if (percent(plan.readsBeyondLimit[at]) === percent(chosen.readsBeyondLimit[at])) {
        const [wider, wide] = [plan, chosen].map(({ p99Bytes }) => formatBytes(p99Bytes.mid));
        return `wide partitions are wider: p99 is ${wider}, not ${wide}`;
      }
      const limit = number(config.widePartition.bytesMax / 2 ** 20);
      return (
        `${prefix}${percent(plan.readsBeyondLimit[at])} of reads meet a partition beyond the limit ` +
        `(${limit} MiB), not ${percent(chosen.readsBeyondLimit[at])}`
      );
    }
    case "hotSpots": {
      const [at, prefix] = worseAt(plan.peakWritesPerPartition, chosen.peakWritesPerPartition);
      return (
        `the busiest id writes ${prefix}${number(plan.peakWritesPerPartition[at])} events/s to one ` +
        `partition, a hot spot (chosen: ${number(chosen.peakWritesPerPartition[at])})`
      );
    }
    case "disk": {
      const [at, prefix] = worseAt(plan.diskBytes, chosen.diskBytes);
      return `${prefix}${percent(plan.diskBytes[at] / chosen.diskBytes[at] - 1)} more disk`;
    }
    case "tables":
      return `${plan.tables} tables instead of ${chosen.tables}`;
  }
}

/** The middle of the worlds, or their high end where only that is worse. */
function worseAt(plan: Band, chosen: Band): readonly ["mid" | "high", string] {
  return plan.mid > chosen.mid * 1.02 ? ["mid", ""] : ["high", "up to "];
}

export function percent(share: number): string {
  if (share <= 0) return "0 %";
  return share < 0.0001 ? "less than 0.01 %" : `${number(share * 100)} %`;
}

function number(value: number): string {
  if (value >= 100) return Math.round(value).toLocaleString("en-US");
  return String(Number(value.toPrecision(2)));
}
