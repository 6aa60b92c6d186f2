/** What operators do with splits, read modes and comparisons: the use cases of the API. */
import type { Evidence, KillSwitchState, ReadMode, ReadModeState } from "../model/read-mode.ts";
import type { PartRecord, SplitRecord, SplitState } from "../model/split.ts";

/** A partition as people name it. */
export interface SplitLocation {
  readonly namespace: string;
  readonly timeSlice: string;
  readonly seriesId: string;
  readonly timeBucket: number;
  readonly eventBucket: number;
}

export interface SplitDetail {
  readonly record: SplitRecord;
  /**
   * The listed parts of each segment, by the segment's place in the record; none where not asked
   * for.
   */
  readonly parts: readonly (readonly PartRecord[])[];
  /**
   * The event time of the partition's bucket, microseconds, end not included; undefined: its slice
   * is gone.
   */
  readonly bucket: { readonly start: number; readonly end: number } | undefined;
}

/** Who asks, as claimed, and why: both are recorded. */
export interface OperatorRequest {
  readonly by: string;
  readonly reason: string;
}

export interface SplitRequest extends OperatorRequest {
  /** Splits a partition that is not wide too. */
  readonly force?: boolean;
}

/** A namespace whose splits are paused: since when, by which operator, and why. */
export interface PausedNamespace extends OperatorRequest {
  readonly namespace: string;
  /** Microseconds. */
  readonly at: number;
}

export interface SplitPage {
  readonly splits: readonly SplitDetail[];
  readonly nextPageToken: string;
  readonly killSwitch: KillSwitchState;
  /** Of the namespaces this page has looked at. */
  readonly paused: readonly PausedNamespace[];
}

export interface SplitUseCases {
  /** Without parts. `namespace` "": all of them. `state` undefined: all. */
  list(
    namespace: string,
    options: {
      readonly state: SplitState | undefined;
      readonly pageSize: number;
      readonly pageToken: string;
    },
  ): Promise<SplitPage>;
  /** SPLIT_NOT_FOUND if there is none. */
  get(location: SplitLocation): Promise<SplitDetail>;
  /**
   * The partition of a split, by its id. SPLIT_NOT_FOUND if there is none, REQUEST_INVALID if there
   * are several or too many records to look through.
   */
  locate(namespace: string, splitId: string): Promise<SplitLocation>;
  /**
   * Does by hand what a detection does; one that is there already is looked at again.
   * PARTITION_NOT_FOUND if there is none and the partition holds no events.
   */
  request(location: SplitLocation, request: SplitRequest): Promise<SplitDetail>;
  /** Lets one that failed, was refused, parked or rolled back be planned again. */
  retry(location: SplitLocation, operatorRequest: OperatorRequest): Promise<SplitDetail>;
  /** Back to the original, everywhere within view_max_age; stays so until a retry. */
  rollback(location: SplitLocation, operatorRequest: OperatorRequest): Promise<SplitDetail>;
  /** Of a whole namespace. A repeat keeps the first pause, with its time, operator and reason. */
  pause(
    namespace: string,
    operatorRequest: OperatorRequest,
  ): Promise<{ readonly pause: PausedNamespace; readonly wasPaused: boolean }>;
  /** Whether it was paused. */
  resume(namespace: string, operatorRequest: OperatorRequest): Promise<boolean>;
}

export interface ReadModeReport {
  readonly state: ReadModeState;
  readonly evidence: readonly Evidence[];
  /** Undefined at the last. */
  readonly nextMode: ReadMode | undefined;
  /** Why it has not advanced yet; "" if nothing is in the way. */
  readonly blockedBy: string;
  /** While it is on, reads use no split, whatever the mode. */
  readonly killSwitch: KillSwitchState;
  readonly splitsPaused: PausedNamespace | undefined;
}

/** What SetKillSwitch leaves behind. */
export interface KillSwitchAnswer extends KillSwitchState {
  /** It was so already: time, operator and reason are those of the first request. */
  readonly unchanged: boolean;
}

export interface ReadModeUseCases {
  get(namespace: string): Promise<ReadModeReport>;
  /**
   * CONFLICT without `force` where the evidence does not allow it. Undefined leaves `autoAdvance`
   * as it is.
   */
  set(
    namespace: string,
    mode: ReadMode,
    options: { readonly force: boolean; readonly autoAdvance: boolean | undefined },
    operatorRequest: OperatorRequest,
  ): Promise<ReadModeReport>;
  killSwitch(): Promise<KillSwitchState>;
  setKillSwitch(on: boolean, operatorRequest: OperatorRequest): Promise<KillSwitchAnswer>;
}

export interface Difference {
  readonly location: SplitLocation;
  /** "only in original", "only in split", "other bytes", "out of order", "damaged split". */
  readonly kind: string;
  /** Microseconds. */
  readonly eventTime: number;
  readonly eventId: string;
  /** What is known of it, for people. */
  readonly detail: string;
}

export interface VerifyProgress {
  readonly verifyId: string;
  readonly namespace: string;
  readonly state: "RUNNING" | "DONE" | "FAILED" | "STOPPED";
  readonly splitsDone: number;
  readonly splitsTotal: number;
  readonly eventsCompared: number;
  readonly bytesCompared: number;
  /** At most a bounded number of them; `differencesFound` counts all. */
  readonly differences: readonly Difference[];
  readonly differencesFound: number;
  readonly startedAt: number;
  readonly endedAt: number;
  /** Why it failed, or what it could not compare. */
  readonly reason: string;
}

export interface VerifyUseCases {
  /**
   * Of one partition, of a slice, or of all slices. Continues from where it was if it was
   * interrupted.
   */
  start(
    namespace: string,
    target: { readonly location?: SplitLocation; readonly timeSlice?: string },
  ): Promise<string>;
  /** VERIFY_NOT_FOUND if there is none. */
  get(namespace: string, verifyId: string): Promise<VerifyProgress>;
}
