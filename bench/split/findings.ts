/** Figures of sides, as findings: ratios of one side to another, round by round. */
import type { PageFigures, RangeFigures } from "../support/read-load.ts";
import type { Report } from "../support/report.ts";
import { median } from "../support/stats.ts";

/** A figure that has no goal. */
export function tell(report: Report, name: string, value: number, figure: string): void {
  report.add({ name, figure, value, goal: "none", met: true });
}

/** The median of the ratios of each round. */
function ratio(over: readonly number[], under: readonly number[]): number {
  const pairs = Math.min(over.length, under.length);
  return median(
    Array.from({ length: pairs }, (_, i) => (over[i] as number) / (under[i] as number)),
  );
}

export function pageFigure({ mean, p50, p99, rate, failed }: PageFigures): string {
  const times = `mean ${ms(mean)}, p50 ${ms(p50)}, p99 ${ms(p99)} ms`;
  return `${times}${median(rate) > 1 ? `, ${median(rate).toFixed(0)} pages/s` : ""}, ${failed} failed`;
}

function ms(values: readonly number[]): string {
  return median(values).toFixed(2);
}

export function rateFigure({ rate, failed }: RangeFigures): string {
  const [least, most] = [Math.min(...rate), Math.max(...rate)];
  return `${median(rate).toFixed(0)} MB/s (${least.toFixed(0)} to ${most.toFixed(0)}), ${failed} failed`;
}

/** How many times faster, with a goal. */
export function addGain(
  report: Report,
  name: string,
  fast: RangeFigures,
  slow: RangeFigures,
  goal: number | undefined,
): void {
  const value = ratio(fast.rate, slow.rate);
  const figure = `${median(fast.rate).toFixed(0)} against ${median(slow.rate).toFixed(0)} MB/s`;
  if (goal === undefined) tell(report, name, value, figure);
  else report.add({ name, figure, value, goal: `>= ${goal} times`, met: value >= goal });
}

/** How many times as long a page takes, with a goal. */
export function addSlower(
  report: Report,
  name: string,
  which: "p50" | "p99",
  side: PageFigures,
  other: PageFigures,
  goal: number,
): void {
  const value = ratio(side[which], other[which]);
  report.add({
    name: `${name}, ${which}`,
    figure: `${ms(side[which])} against ${ms(other[which])} ms`,
    value,
    goal: `<= ${goal} times`,
    met: value <= goal,
  });
}
