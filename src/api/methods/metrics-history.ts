/** GetMetricsHistory: what the server has kept of its own figures. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { ControlService } from "../../gen/braid/v1/control_service_pb.js";
import { GetMetricsHistoryRequest_Resolution } from "../../gen/braid/v1/metrics_history_pb.js";
import type { MetricsHistorySchema } from "../../gen/braid/v1/metrics_history_pb.js";
import type { Problems } from "../../lib/problems.ts";
import { messageMethod } from "./method.ts";
import type { UnaryMethod } from "./method.ts";
import { durationOfMicros, microsOfTime, timeOfMicros } from "./times.ts";

export interface HistoryQuery {
  readonly resolution: "SECOND" | "MINUTE";
  /** "": of the whole process. */
  readonly namespace: string;
  /** Names of series, or their beginnings up to a dot; none: all. */
  readonly series: readonly string[];
  /** In microseconds, like all times here: only samples that begin at this time or later. */
  readonly since: number;
}

export interface HistoryAnswer {
  /** The name of the process in histories. */
  readonly process: string;
  readonly startedAt: number;
  readonly stepMicros: number;
  /** When the first sample begins; undefined without samples. */
  readonly start: number | undefined;
  readonly samples: number;
  readonly series: readonly {
    readonly name: string;
    readonly unit: string;
    /** NaN where nothing was measured. */
    readonly values: readonly number[];
  }[];
  /** Namespaces that have series of their own. */
  readonly namespaces: readonly string[];
}

export interface MetricsHistoryUseCase {
  read(query: HistoryQuery): HistoryAnswer;
  /** Calls `listener` after each sample, until the returned function is called. */
  onSample(listener: () => void): () => void;
}

const SERIES_MAX = 100;
const SERIES_NAME_MAX = 100;

export function metricsHistoryMethods(history: MetricsHistoryUseCase): UnaryMethod[] {
  return [
    messageMethod({
      desc: ControlService.method.getMetricsHistory,
      changes: false,
      namespaceOf: ({ namespace }) => namespace,
      argumentsOf: ({ resolution, namespace, series, since }, problems): HistoryQuery => {
        checkSeries(series, problems);
        return {
          resolution: resolutionOf(resolution, problems),
          namespace,
          series,
          since: microsOfTime(since, "since", problems) ?? 0,
        };
      },
      handle: async (query) => historyMessage(history.read(query)),
    }),
  ];
}

export function historyMessage({
  start,
  startedAt,
  stepMicros,
  series,
  ...answer
}: HistoryAnswer): MessageInitShape<typeof MetricsHistorySchema> {
  return {
    ...answer,
    processStartTime: timeOfMicros(startedAt),
    step: durationOfMicros(stepMicros),
    ...(start !== undefined && { startTime: timeOfMicros(start) }),
    series: series.map((each) => ({ ...each, values: [...each.values] })),
    namespaces: [...answer.namespaces],
  };
}

export function checkSeries(series: readonly string[], problems: Problems): void {
  if (series.length > SERIES_MAX) {
    problems.add(`series: at most ${SERIES_MAX}, or none for all of them`, "series");
  }
  if (series.some((name) => name === "" || name.length > SERIES_NAME_MAX)) {
    problems.add(
      `series: give names such as "reads", or beginnings such as "read_latency."`,
      "series",
    );
  }
}

function resolutionOf(
  resolution: GetMetricsHistoryRequest_Resolution,
  problems: Problems,
): HistoryQuery["resolution"] {
  switch (resolution) {
    case GetMetricsHistoryRequest_Resolution.SECOND:
      return "SECOND";
    case GetMetricsHistoryRequest_Resolution.MINUTE:
    case GetMetricsHistoryRequest_Resolution.UNSPECIFIED:
      return "MINUTE";
    // Any number can arrive over gRPC.
    default:
      problems.add(`resolution ${String(resolution)} is not known; use SECOND or MINUTE`);
      return "MINUTE";
  }
}
