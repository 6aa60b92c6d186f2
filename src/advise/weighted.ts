/** Numbers with weights: their mean and their quantiles. Pure. */

export interface Weighted {
  readonly value: number;
  readonly weight: number;
}

export interface Quantiles {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

export function meanOf(values: readonly Weighted[]): number {
  let [sum, whole] = [0, 0];
  for (const { value, weight } of values) {
    sum += value * weight;
    whole += weight;
  }
  return whole === 0 ? 0 : sum / whole;
}

export function quantilesOf(values: readonly Weighted[]): Quantiles {
  const [p50, p99, max] = quantileTable(values, [50, 99, 100]);
  return { p50: p50?.value ?? 0, p99: p99?.value ?? 0, max: max?.value ?? 0 };
}

/** For each percentage, which ascend, the least value that so much of the weight does not exceed. */
export function quantileTable(
  values: readonly Weighted[],
  percentiles: readonly number[],
): readonly { readonly percentile: number; readonly value: number }[] {
  const sorted = values.toSorted((a, b) => a.value - b.value);
  const whole = sorted.reduce((sum, { weight }) => sum + weight, 0);
  let [at, seen] = [0, sorted[0]?.weight ?? 0];
  return percentiles.map((percentile) => {
    const share = percentile === 100 ? Infinity : (whole * percentile) / 100;
    while (at < sorted.length - 1 && seen < share) seen += sorted[++at]?.weight ?? 0;
    return { percentile, value: sorted[at]?.value ?? 0 };
  });
}
