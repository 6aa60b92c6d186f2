/** Translates a workload from API messages to the types of the code. */
import { NamespaceConfig_Consistency_Level as Level } from "../../gen/braid/v1/namespace_config_pb.js";
import type { NamespaceConfig_Latency } from "../../gen/braid/v1/namespace_config_pb.js";
import type { Workload as WorkloadMessage } from "../../gen/braid/v1/plan_pb.js";
import type { Problems } from "../../lib/problems.ts";
import type { LatencyInput, WorkloadInput } from "../../provision/workload.ts";
import { nameOf } from "./enum-names.ts";
import { microsOfDuration } from "./times.ts";

/** Adds what cannot be decoded to `problems`. */
export function workloadOf(message: WorkloadMessage, problems: Problems): WorkloadInput {
  const { retention, acceptLimit, slos, consistency, ...numbers } = message;
  const micros = (duration: Parameters<typeof microsOfDuration>[0], field: string) =>
    microsOfDuration(duration, `workload.${field}`, problems);
  const seconds = (duration: Parameters<typeof microsOfDuration>[0], field: string) => {
    const found = micros(duration, field);
    return found === undefined ? undefined : found / 1_000_000;
  };
  const latency = (
    given: NamespaceConfig_Latency | undefined,
    field: string,
  ): LatencyInput | undefined =>
    given && {
      targetMs: msOf(micros(given.target, `${field}.target`)),
      maxMs: msOf(micros(given.max, `${field}.max`)),
    };
  return {
    ...numbers,
    retentionSeconds: seconds(retention, "retention"),
    acceptLimitSeconds: seconds(acceptLimit, "acceptLimit"),
    slos: slos && {
      read: latency(slos.read, "slos.read"),
      write: latency(slos.write, "slos.write"),
    },
    consistency: nameOf(consistency, CONSISTENCIES, "workload.consistency", problems),
  };
}

const CONSISTENCIES = new Map([
  [Level.READ_YOUR_WRITES, "READ_YOUR_WRITES" as const],
  [Level.EVENTUAL, "EVENTUAL" as const],
]);

function msOf(micros: number | undefined): number | undefined {
  return micros === undefined ? undefined : micros / 1_000;
}
