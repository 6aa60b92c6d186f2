/** A namespace that never changes: for tests of reading and writing that need no catalog. */
import { DEFAULT_NAMESPACE_CONFIG } from "../../src/model/namespace-config.ts";
import type { NamespaceConfig, TimePartition } from "../../src/model/namespace-config.ts";
import type { BlockedId, NamespaceView, ViewSource } from "../../src/model/namespace.ts";
import { FIRST_READ_MODE } from "../../src/model/read-mode.ts";
import type { IdStrategyStep, ReadMode } from "../../src/model/read-mode.ts";
import type { TimeSlice } from "../../src/model/time-slice.ts";

export interface StaticViewOptions {
  readonly slices: readonly TimeSlice[];
  readonly config?: Partial<NamespaceConfig>;
  readonly floor?: number;
  readonly blocked?: readonly BlockedId[];
  readonly readMode?: ReadMode;
  readonly idStrategies?: ReadonlyMap<string, readonly IdStrategyStep[]>;
}

export function staticView(options: StaticViewOptions): NamespaceView {
  return {
    namespace: {
      name: "plays",
      id: "plays-1",
      config: { ...DEFAULT_NAMESPACE_CONFIG, ...options.config },
      epoch: 1,
      epochStarts: [],
      reopening: null,
      floor: options.floor ?? 0,
      createdAt: 0,
      readMode: {
        ...FIRST_READ_MODE,
        since: 0,
        mode: options.readMode ?? FIRST_READ_MODE.mode,
      },
      splitsPaused: null,
      everEventual: false,
      version: 1,
    },
    slices: options.slices,
    blocked: new Map((options.blocked ?? []).map((block) => [block.seriesId, block])),
    idStrategies: options.idStrategies ?? new Map(),
    askedAtMs: 0,
  };
}

export function viewSource(view: () => NamespaceView): ViewSource {
  return { current: view, get: async () => view() };
}

/** Joined slices from `start` on, one for each given strategy. Times in microseconds. */
export function joinedSlices(start: number, strategies: readonly TimePartition[]): TimeSlice[] {
  let at = start;
  return strategies.map((timePartition, nth) => {
    const end = at + timePartition.secondsPerTimeSlice * 1_000_000;
    const slice = { name: `data_${nth}`, start: at, end, timePartition, state: "OPEN" as const };
    at = end;
    return slice;
  });
}
