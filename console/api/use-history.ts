/** Figures of one server over time, from the history that the server keeps of itself. */
import { useMemo } from "preact/hooks";
import type { MetricsHistory } from "../../client/connect.ts";
import { client } from "./client.ts";
import { useQuery } from "./use-query.ts";
import type { Query } from "./use-query.ts";

/** The last 10 minutes by the second, or the last day by the minute. */
export type HistoryWindow = "10m" | "24h";

export interface History {
  /** Of the server that answered, and since when it knows anything. */
  readonly process: string;
  readonly processStartTime: string;
  /** The namespaces that have figures of their own. */
  readonly namespaces: readonly string[];
  /** When each sample begins, in milliseconds since 1970. */
  readonly times: readonly number[];
  readonly stepMs: number;
  /** The names of all series. */
  readonly names: readonly string[];
  /** One value for each time, multiplied: `values("read_latency.p99", 1000)` is in ms. */
  readonly values: (name: string, factor?: number) => readonly (number | null)[];
}

const STEP_MS: Readonly<Record<HistoryWindow, number>> = { "10m": 1_000, "24h": 60_000 };
const EVERY_MS: Readonly<Record<HistoryWindow, number>> = { "10m": 2_000, "24h": 20_000 };

export function useHistory(
  window: HistoryWindow,
  series: readonly string[],
  namespace = "",
): Query<History> {
  const resolution = window === "10m" ? "SECOND" : "MINUTE";
  const query = useQuery(
    `history ${window} ${namespace} ${series.join(" ")}`,
    (signal) => client.getMetricsHistory({ resolution, namespace, series, signal }),
    { everyMs: EVERY_MS[window] },
  );
  const { data } = query;
  const history = useMemo(
    () => (data === undefined ? undefined : historyOf(data, STEP_MS[window])),
    [data, window],
  );
  return { ...query, data: history };
}

function historyOf(answer: MetricsHistory, stepMs: number): History {
  const { process, processStartTime, namespaces, startTime, samples, series } = answer;
  const start = startTime === undefined ? 0 : Date.parse(startTime);
  const byName = new Map(series.map(({ name, values }) => [name, values]));
  const nothing = Array.from({ length: samples }, () => null);
  return {
    process,
    processStartTime,
    namespaces,
    times: Array.from({ length: samples }, (_, index) => start + index * stepMs),
    stepMs,
    names: [...byName.keys()],
    values: (name, factor = 1) => {
      const values = byName.get(name) ?? nothing;
      return factor === 1
        ? values
        : values.map((value) => (value === null ? null : value * factor));
    },
  };
}
