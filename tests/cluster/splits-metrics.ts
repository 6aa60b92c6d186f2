/** Sums of metrics over several processes. */
import type { BraidProcess } from "../support/braid-processes.ts";

/** The sum of a metric over processes and over the series whose labels contain `label`. */
export async function sumOf(
  processes: readonly BraidProcess[],
  metric: string,
  label: string,
): Promise<number> {
  const texts = await Promise.all(processes.map(metricsOf));
  return texts.reduce((sum, text) => sum + sumIn(text, metric, label), 0);
}

/** A process that is starting has no metrics yet. */
export async function metricsOf({ url }: BraidProcess): Promise<string> {
  return fetch(`${url}/metrics`).then(
    (answer) => answer.text(),
    () => "",
  );
}

export function sumIn(text: string, metric: string, label: string): number {
  let sum = 0;
  for (const line of text.split("\n")) {
    const series = line.slice(0, line.lastIndexOf(" "));
    const isIt = series === metric || series.startsWith(`${metric}{`);
    if (isIt && series.includes(label)) sum += Number(line.slice(line.lastIndexOf(" ") + 1));
  }
  return sum;
}
