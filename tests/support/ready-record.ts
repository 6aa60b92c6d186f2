/** The stored record of a namespace that is READY, with nothing under way. */
import type { Namespace } from "../../src/model/namespace.ts";
import type { NamespaceRecord } from "../../src/records/namespace-records.ts";

export function readyRecord(namespace: Namespace): NamespaceRecord {
  return {
    ...namespace,
    phase: "READY",
    settled: { epoch: 0, floor: 0 },
    deletion: null,
    restores: null,
    reopening: null,
    resealing: null,
    slicesChange: 0,
    changing: null,
    blockedChange: 0,
    blockedChanging: [],
    blockedCount: 0,
    idStrategyChange: 0,
    idStrategyChanging: [],
    idStrategyCount: 0,
    version: 0,
  };
}
