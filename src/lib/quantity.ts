/** Numbers for people: thousands are separated, and a noun has its singular. */

/** Made once: that costs a hundred times as much as to use it. */
const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

/** "1,461,243"; rounded to a whole number. */
export function formatCount(value: number): string {
  return whole.format(value);
}

/** "1 event", "1,461,243 bytes". The plural ends in "s". */
export function quantity(value: number, noun: string): string {
  return `${formatCount(value)} ${noun}${value === 1 ? "" : "s"}`;
}
