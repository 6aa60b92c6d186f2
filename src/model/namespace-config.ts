/**
 * The settings of a namespace, in the units of the code, and the rules between the fields.
 *
 * Names and defaults are those of the API (`proto/braid/v1/control_service.proto`).
 */
import type { SplitLayout } from "./layouts.ts";

/** How the events of a slice are distributed over partitions. Frozen in the slice. */
export interface TimePartition {
  readonly secondsPerTimeSlice: number;
  readonly secondsPerTimeBucket: number;
  readonly eventBuckets: number;
}

export interface LatencyTargets {
  readonly targetMs: number;
  readonly maxMs: number;
}

export interface NamespaceConfig {
  readonly timePartition: TimePartition;
  readonly acceptLimitMicros: number;
  readonly futureLimitMicros: number;
  readonly retention: { readonly closeAfterMicros: number; readonly deleteAfterMicros: number };
  readonly slos: { readonly read: LatencyTargets; readonly write: LatencyTargets };
  readonly consistency: "READ_YOUR_WRITES" | "EVENTUAL";
  readonly widePartition: {
    readonly detect: boolean;
    readonly bytesMax: number;
    readonly eventsMax: number;
    readonly targetBytes: number;
    readonly maxParts: number;
    readonly layout: SplitLayout;
    readonly strategy: string;
    /** What to do with a wide partition whose reads meet `slos.read.target`. */
    readonly whenHarmless: "SPLIT" | "LEAVE";
  };
  readonly tuning: {
    readonly mode: "PROPOSE" | "OFF" | "AUTO";
    readonly densityMinBytes: number;
    readonly densityMaxBytes: number;
  };
}

export const SECOND_MICROS = 1_000_000;

export const DEFAULT_NAMESPACE_CONFIG: NamespaceConfig = {
  timePartition: { secondsPerTimeSlice: 86_400, secondsPerTimeBucket: 3_600, eventBuckets: 1 },
  acceptLimitMicros: 600 * SECOND_MICROS,
  futureLimitMicros: 60 * SECOND_MICROS,
  retention: {
    closeAfterMicros: 1_296_000 * SECOND_MICROS,
    deleteAfterMicros: 1_382_400 * SECOND_MICROS,
  },
  slos: { read: { targetMs: 500, maxMs: 1_000 }, write: { targetMs: 50, maxMs: 500 } },
  consistency: "READ_YOUR_WRITES",
  widePartition: {
    detect: true,
    bytesMax: 10_485_760,
    eventsMax: 100_000,
    targetBytes: 8_388_608,
    maxParts: 4_096,
    layout: "PACKED",
    strategy: "AUTO",
    whenHarmless: "SPLIT",
  },
  tuning: { mode: "PROPOSE", densityMinBytes: 2_097_152, densityMaxBytes: 10_485_760 },
};
