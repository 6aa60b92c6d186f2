/**
 * Groups ids by how many events they have: the busiest id alone, then groups that grow, down to the
 * quiet majority. Pure.
 *
 * Every distribution is given as the share of all events that the busiest `p` of the ids have. The
 * difference between two such shares is a group's part, exact also for one id of a billion.
 */
import type { Random } from "../lib/random.ts";
import { normalBelow, normalQuantile } from "./normal.ts";
import type { NamedSkew, RatePercentile } from "./workload.ts";

/** A skew with its parameter drawn. */
export type DrawnSkew =
  | { readonly distribution: NamedSkew; readonly parameter: number }
  | { readonly percentiles: readonly RatePercentile[] };

export interface IdGroups {
  /** Of all ids, by group, the busiest first. Their sum is 1. */
  readonly idShare: Float64Array;
  /** The group's mean rate in multiples of the mean over all ids. */
  readonly relativeRate: Float64Array;
}

/** Each group ends this much further down than the group above it. */
const GROWTH = 10 ** (1 / 5);
/**
 * Without `random`, groups have the means of the distribution. With it, the ids of this world are
 * drawn: the busiest ones differ most from world to world. Ranked ids (Zipf's law) and percentiles
 * describe the ids there are, so nothing is drawn.
 */
export function idGroups(skew: DrawnSkew, ids: number, random?: Random): IdGroups {
  const shareOfTop = topShare(skew, ids);
  const ends = groupEnds(ids);
  const idShare = Float64Array.from(ends, (end, group) => end - (ends[group - 1] ?? 0));
  const drawn = random !== undefined && isDrawn(skew);
  const positions = drawn ? drawnPositions(idShare, ids, random) : ends;
  let [before, shareBefore] = [0, 0];
  const relativeRate = Float64Array.from(positions, (position, group) => {
    const share = shareOfTop(position);
    const rate = Math.max(0, (share - shareBefore) / (position - before));
    [before, shareBefore] = [position, share];
    // One id lies at its position, not between it and the one above it.
    const isOne = (idShare[group] as number) * ids < 1.5;
    return drawn && ids > 1 && isOne ? rateAt(shareOfTop, position) : rate;
  });
  // The workload's mean is that of the ids there are.
  const mean = idShare.reduce((sum, share, nth) => sum + share * (relativeRate[nth] as number), 0);
  return { idShare, relativeRate: relativeRate.map((rate) => rate / mean) };
}

function isDrawn(skew: DrawnSkew): boolean {
  return "distribution" in skew && skew.distribution !== "ZIPF";
}

/**
 * Where the last id of each group lies in the distribution, as a share from the top: the order
 * statistics of uniform draws, whose gaps are sums of exponential ones. One more gap is below the
 * last id.
 */
function drawnPositions(idShare: Float64Array, ids: number, random: Random): Float64Array {
  let sum = 0;
  const sums = idShare.map((share) => {
    sum += gammaDraw(Math.max(1, share * ids), random);
    return sum;
  });
  const whole = sum + gammaDraw(1, random);
  return sums.map((each) => each / whole);
}

/** The sum of `count` exponential draws of mean 1. */
function gammaDraw(count: number, random: Random): number {
  if (count < 1.5) return -Math.log(1 - random.fraction());
  // Wilson and Hilferty: the cube root is nearly normal.
  const z = normalQuantile(random.fraction());
  return count * Math.max(0.01, 1 - 1 / (9 * count) + z / (3 * Math.sqrt(count))) ** 3;
}

/** The mean events a day of this many ids that have these percentiles. */
export function meanOfPercentiles(percentiles: readonly RatePercentile[], ids: number): number {
  return rateIntegral(percentiles, ids).whole;
}

/** The rate at a place of the distribution, in multiples of the mean. */
function rateAt(shareOfTop: (top: number) => number, at: number): number {
  const [from, to] = [at / 1.1, Math.min(1, at * 1.1)];
  return (shareOfTop(to) - shareOfTop(from)) / (to - from);
}

/** The lower ends of the groups, as shares of the ids from the top; the last is 1. Of whole ids. */
function groupEnds(ids: number): number[] {
  const ends: number[] = [];
  for (let end = 1 / ids; end < 0.05; end *= GROWTH) ends.push(end);
  const last = ends.at(-1) ?? 0;
  for (const end of [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]) {
    if (end > last * 1.2 && end >= 1 / ids) ends.push(end);
  }
  const whole = new Set(ends.map((end) => Math.round(end * ids)));
  return [...[...whole].filter((nth) => nth < ids).map((nth) => nth / ids), 1];
}

/** The share of all events that the busiest `p` of the ids have. */
function topShare(skew: DrawnSkew, ids: number): (p: number) => number {
  if ("percentiles" in skew) {
    const { upTo, whole } = rateIntegral(skew.percentiles, ids);
    return (p) => upTo(p) / whole;
  }
  const { distribution, parameter } = skew;
  switch (distribution) {
    case "EVEN":
      return (p) => p;
    case "LOGNORMAL":
      return (p) => (p >= 1 ? 1 : normalBelow(parameter - normalQuantile(1 - p)));
    case "PARETO":
      return (p) => p ** (1 - 1 / parameter);
    case "ZIPF": {
      const whole = harmonic(ids, parameter);
      return (p) => harmonic(p * ids, parameter) / whole;
    }
  }
}

/** The sum of rank^-exponent up to a rank, which may have a fraction. */
function harmonic(rank: number, exponent: number): number {
  // The first ranks exactly, the others as an integral.
  const exact = Math.min(10, Math.floor(rank));
  let sum = 0;
  for (let r = 1; r <= exact; r++) sum += r ** -exponent;
  if (rank <= exact) return sum;
  if (rank < 10) return sum + (rank - exact) * (exact + 1) ** -exponent;
  return sum + powerIntegral(exponent, exact + 0.5, rank + 0.5);
}

/** The integral of x^-exponent. */
function powerIntegral(exponent: number, from: number, to: number): number {
  if (Math.abs(exponent - 1) < 1e-9) return Math.log(to / from);
  return (to ** (1 - exponent) - from ** (1 - exponent)) / (1 - exponent);
}

/** Beyond the last percentile the sum of all rates must stay finite. */
const TAIL_POWER_MAX = 0.95;

interface RatePoint {
  /** The share of ids that are at least as busy. */
  readonly top: number;
  readonly rate: number;
}

interface RateRange {
  readonly from: number;
  readonly to: number;
  readonly anchor: RatePoint;
  readonly power: number;
}

interface RateIntegral {
  /** Of the rates of the busiest `p` of the ids. */
  upTo(p: number): number;
  readonly whole: number;
}

/**
 * Between two percentiles the rate follows a power of the rank, as the tails of such data do. The
 * outermost powers continue beyond them; percentile 100 is the busiest id.
 */
function rateIntegral(percentiles: readonly RatePercentile[], ids: number): RateIntegral {
  const first = 1 / Math.max(2, ids);
  const points: RatePoint[] = percentiles
    .map(({ percentile, eventsPerDay }) => ({
      top: Math.max(first, 1 - percentile / 100),
      rate: eventsPerDay,
    }))
    .toReversed()
    // Of few ids, several percentiles may mean the same one.
    .filter(({ top }, nth, all) => top !== all[nth - 1]?.top);
  const powers = points.slice(1).map(({ top, rate }, nth) => {
    const above = points[nth] as RatePoint;
    return Math.log(above.rate / rate) / Math.log(top / above.top);
  });
  const beyond = Math.min(powers[0] ?? 0, TAIL_POWER_MAX);
  // Each range with its busier end, where the rate is known or follows from the next point.
  const head = points[0] as RatePoint;
  const ranges: RateRange[] = [{ from: first, to: head.top, anchor: head, power: beyond }];
  for (const [nth, anchor] of points.entries()) {
    const to = points[nth + 1]?.top ?? 1;
    ranges.push({ from: anchor.top, to, anchor, power: powers[nth] ?? powers.at(-1) ?? 0 });
  }
  const busiest = head.rate * (head.top / first) ** beyond;
  const upTo = (p: number): number => {
    let sum = busiest * Math.min(p, first);
    for (const range of ranges) {
      const to = Math.min(p, range.to);
      if (to <= range.from) continue;
      const { anchor, power } = range;
      const { rate, top } = anchor;
      sum += rate * top * powerIntegral(power, range.from / top, to / top);
    }
    return sum;
  };
  return { upTo, whole: upTo(1) };
}
