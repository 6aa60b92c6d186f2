/** The history of a server's figures, with null where JSON has the text "NaN". */
import type { MetricsHistory as MetricsHistoryJson } from "./generated/messages.ts";
import type { MetricsHistory } from "./messages.ts";

export function withGaps({ series, ...history }: MetricsHistoryJson): MetricsHistory {
  return {
    ...history,
    series: series.map(({ values, ...each }) => ({
      ...each,
      values: values.map((value) => (typeof value === "number" ? value : null)),
    })),
  };
}
