/** How large partitions should be: the namespace's target density. Pure. */
import type { NamespaceConfig } from "./namespace-config.ts";

export type Density = "below" | "inside" | "above";

export function densityOf(
  partitionBytes: number,
  { densityMinBytes, densityMaxBytes }: NamespaceConfig["tuning"],
): Density {
  if (partitionBytes < densityMinBytes) return "below";
  return partitionBytes > densityMaxBytes ? "above" : "inside";
}
