/** What is wrong with the widths of a slice, in one plain sentence. Pure. */
import { formatCount, quantity } from "../lib/quantity.ts";
import { formatBytes } from "../lib/units.ts";
import { SizeHistogram } from "../model/size-histogram.ts";
import type { Distribution } from "../model/size-histogram.ts";
import type { WidthMap } from "../model/width-map.ts";

/** Partitions above the limit, largest first. */
export interface OverLimit {
  /** At least so many, if `more`. */
  readonly count: number;
  readonly more: boolean;
  /** How many of them reads serve from a split. */
  readonly split: number;
  /** The ids of the largest, each once. */
  readonly ids: readonly string[];
}

export interface TargetBytes {
  readonly minBytes: number;
  readonly maxBytes: number;
  readonly limitBytes: number;
}

/** Which part of the partitions lies below the target and above it: from 0 to 1. */
export interface TargetShares {
  readonly below: number;
  readonly above: number;
}

/** As exact as the buckets of the histogram: to within a fifth of the size. */
export function targetSharesOf(sizes: Distribution, target: TargetBytes): TargetShares {
  const histogram = SizeHistogram.of(sizes);
  if (histogram.count === 0) return { below: 0, above: 0 };
  let [below, above] = [0, 0];
  for (const [upTo, partitions] of sizes.buckets) {
    // A bucket counts by its middle; none has a partition larger than the largest.
    const middle = (upTo / 1.2 + Math.min(upTo, sizes.max)) / 2;
    if (middle < target.minBytes) below += partitions;
    else if (middle > target.maxBytes) above += partitions;
  }
  return { below: below / histogram.count, above: above / histogram.count };
}

const IDS_SHOWN = 3;

export function widthSentence(
  { sizes, complete, sampleShare }: Pick<WidthMap, "sizes" | "complete" | "sampleShare">,
  over: OverLimit,
  target: TargetBytes,
): string {
  if (sizes.count === 0) return "The slice held no events when it was walked.";
  const shares = targetSharesOf(sizes, target);
  const about = sampleShare < 1 || !complete ? "about " : "";
  const parts = [overText(over, target), ...targetTexts(shares, target, about)];
  return `${parts.join("; ")}.`;
}

function overText({ count, more, split, ids }: OverLimit, { limitBytes }: TargetBytes): string {
  const limit = formatBytes(limitBytes);
  if (count === 0) return `No partition is over ${limit}`;
  const shown = ids.slice(0, IDS_SHOWN).join(", ");
  const others = count > ids.slice(0, IDS_SHOWN).length ? ", …" : "";
  const number = more ? `At least ${formatCount(count)} partitions` : quantity(count, "partition");
  const served = split === 0 ? "" : `, ${formatCount(split)} of them split`;
  return `${number} over ${limit}: ${shown}${others}${served}`;
}

function targetTexts({ below, above }: TargetShares, target: TargetBytes, about: string): string[] {
  const band = `the target of ${formatBytes(target.minBytes)} to ${formatBytes(target.maxBytes)}`;
  if (below === 0 && above === 0) return [`all lie within ${band}`];
  const texts: string[] = [];
  if (below > 0) texts.push(`${about}${percent(below)} below ${band}`);
  if (above > 0) texts.push(`${about}${percent(above)} above ${below > 0 ? "it" : band}`);
  return texts;
}

/** Never 0 % of some, nor 100 % of not all. */
function percent(share: number): string {
  const rounded = Math.round(share * 100);
  if (rounded === 0) return "less than 1 %";
  if (rounded === 100 && share < 1) return "more than 99 %";
  return `${rounded} %`;
}
