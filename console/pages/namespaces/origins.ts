/** Where each value of a namespace's configuration comes from. */
import type { Namespace, Tuning } from "../../../client/connect.ts";
import { samePartitioning } from "./partitioning.ts";

export type Origin = "default" | "plan" | "tuning" | "given";

const PARTITIONING = "timePartition.";

/** `field` as the API names it: "slos.read.max". */
export function originOf(
  field: string,
  { config, defaultFields, provisioned }: Namespace,
  tunings: readonly Tuning[],
): Origin {
  if (field.startsWith(PARTITIONING)) {
    if (tunings.some((tuning) => isInForce(tuning, config.timePartition))) return "tuning";
    const planned = provisioned?.plan.timePartition;
    if (planned !== undefined && samePartitioning(planned, config.timePartition)) return "plan";
  }
  return defaultFields.includes(field) ? "default" : "given";
}

function isInForce(
  { state, to }: Tuning,
  partitioning: Namespace["config"]["timePartition"],
): boolean {
  return (state === "APPLIED" || state === "EFFECTIVE") && samePartitioning(to, partitioning);
}

/** The leaves of a configuration with their paths, in its own order. */
export function fieldsOf(value: object, path = ""): [field: string, value: string][] {
  return Object.entries(value).flatMap(([name, field]: [string, unknown]) =>
    typeof field === "object" && field !== null
      ? fieldsOf(field, `${path}${name}.`)
      : [[`${path}${name}`, String(field)] as [string, string]],
  );
}
