/** The normal distribution: its cumulative function and the inverse. Pure. */

/** The share below `z`; good to 1.5e-7. */
export function normalBelow(z: number): number {
  // Abramowitz and Stegun, 7.1.26.
  const x = Math.abs(z) / Math.SQRT2;
  const t = 1 / (1 + 0.327_591_1 * x);
  const poly =
    t *
    (0.254_829_592 +
      t * (-0.284_496_736 + t * (1.421_413_741 + t * (-1.453_152_027 + t * 1.061_405_429))));
  const tail = 0.5 * poly * Math.exp(-x * x);
  return z > 0 ? 1 - tail : tail;
}

const LOW = 0.024_25;
const A = [
  -3.969683028665376e1, 2.209460984245205e2, -2.759285104469687e2, 1.38357751867269e2,
  -3.066479806614716e1, 2.506628277459239,
] as const;
const B = [
  -5.447609879822406e1, 1.615858368580409e2, -1.556989798598866e2, 6.680131188771972e1,
  -1.328068155288572e1, 1,
] as const;
const C = [
  -7.784894002430293e-3, -3.223964580411365e-1, -2.400758277161838, -2.549732539343734,
  4.374664141464968, 2.938163982698783,
] as const;
const D = [
  7.784695709041462e-3, 3.224671290700398e-1, 2.445134137142996, 3.754408661907416, 1,
] as const;

/** The z below which this share lies; relative error below 1.2e-9 (Acklam's approximation). */
export function normalQuantile(share: number): number {
  if (share < LOW) {
    const q = Math.sqrt(-2 * Math.log(Math.max(share, Number.MIN_VALUE)));
    return polynomial(C, q) / polynomial(D, q);
  }
  if (share > 1 - LOW) return -normalQuantile(1 - share);
  const q = share - 0.5;
  const r = q * q;
  return (q * polynomial(A, r)) / polynomial(B, r);
}

/** Coefficients from the highest power to the constant. */
function polynomial(coefficients: readonly number[], x: number): number {
  let sum = 0;
  for (const coefficient of coefficients) sum = sum * x + coefficient;
  return sum;
}
