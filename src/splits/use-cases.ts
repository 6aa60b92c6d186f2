/** The operators' use cases of the API: splits, read modes and comparisons. */
import type { Evidence, KillSwitchState, ReadMode, ReadModeState } from "../model/read-mode.ts";
import type { PartRecord, SplitRecord, SplitState } from "../model/split.ts";
import type { SplitSummary } from "../model/split-summary.ts";

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
   * The listed parts of each segment, by the segment's index in the record; empty if not requested.
   */
  readonly parts: readonly (readonly PartRecord[])[];
  /**
   * The event time of the partition's bucket, microseconds, end not included; undefined if its
   * slice is gone.
   */
  readonly bucket: { readonly start: number; readonly end: number } | undefined;
}

/** The operator, as claimed, and the reason: both are recorded. */
export interface OperatorRequest {
  readonly by: string;
  readonly reason: string;
}

export interface SplitRequest extends OperatorRequest {
  /** Also splits a partition that is not wide. */
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
  /** The paused namespaces among those that this page has read. */
  readonly paused: readonly PausedNamespace[];
  /** How many splits, and namespaces with all of theirs, the page leaves out (rule C28). */
  readonly unreadable: number;
  /** False: there are more splits, behind this page or beyond the bounds of the search. */
  readonly examinedAll: boolean;
}

export interface SplitSummaryPage {
  /** Of all namespaces; undefined before the first count. */
  readonly total: (SplitSummary & { readonly countedAt: number }) | undefined;
  readonly namespaces: readonly (SplitSummary & { readonly namespace: string })[];
  readonly nextPageToken: string;
}

export interface SplitUseCases {
  /** Without parts. `namespace` "": all namespaces. `states` undefined: all states. */
  list(
    namespace: string,
    options: {
      readonly states: ReadonlySet<SplitState> | undefined;
      readonly pageSize: number;
      readonly pageToken: string;
    },
  ): Promise<SplitPage>;
  /** The splits that moved last, newest first: one page, from a bounded search. */
  newest(
    namespace: string,
    options: {
      readonly states: ReadonlySet<SplitState> | undefined;
      readonly pageSize: number;
    },
  ): Promise<SplitPage>;
  /** As last counted, by name; of one namespace, or of all if `namespace` is "". */
  summary(
    namespace: string,
    page: { readonly pageSize: number; readonly pageToken: string },
  ): Promise<SplitSummaryPage>;
  /** SPLIT_NOT_FOUND if there is no split. */
  get(location: SplitLocation): Promise<SplitDetail>;
  /**
   * The partition of a split, by its id. SPLIT_NOT_FOUND if there is none, REQUEST_INVALID if there
   * are several or too many records to search.
   */
  locate(namespace: string, splitId: string): Promise<SplitLocation>;
  /**
   * Does by hand what a detection does; an existing split becomes due again. PARTITION_NOT_FOUND if
   * there is no split and the partition holds no events.
   */
  request(location: SplitLocation, request: SplitRequest): Promise<SplitDetail>;
  /** Plans a split again that failed, was refused, parked or rolled back. */
  retry(location: SplitLocation, operatorRequest: OperatorRequest): Promise<SplitDetail>;
  /** Returns reads to the original, everywhere within `viewMaxAge`, until a retry. */
  rollback(location: SplitLocation, operatorRequest: OperatorRequest): Promise<SplitDetail>;
  /**
   * Pauses the splits of a namespace. A repeat keeps the first pause, with its time, operator and
   * reason.
   */
  pause(
    namespace: string,
    operatorRequest: OperatorRequest,
  ): Promise<{ readonly pause: PausedNamespace; readonly wasPaused: boolean }>;
  /** Returns whether the namespace was paused. */
  resume(namespace: string, operatorRequest: OperatorRequest): Promise<boolean>;
}

export interface ReadModeReport {
  readonly state: ReadModeState;
  readonly evidence: readonly Evidence[];
  /** Undefined for the last mode. */
  readonly nextMode: ReadMode | undefined;
  /** Why the mode has not advanced yet; "" if nothing blocks it. */
  readonly blockedBy: string;
  /** While it is on, reads use no split, whatever the mode. */
  readonly killSwitch: KillSwitchState;
  readonly splitsPaused: PausedNamespace | undefined;
}

/** The switch as SetKillSwitch leaves it. */
export interface KillSwitchAnswer extends KillSwitchState {
  /** The switch was already set so: time, operator and reason are those of the first request. */
  readonly unchanged: boolean;
}

export interface ReadModeUseCases {
  get(namespace: string): Promise<ReadModeReport>;
  /**
   * CONFLICT without `force` if the evidence does not allow the mode. Undefined leaves
   * `autoAdvance` as it is.
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
  /** Details, for people. */
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
  /** Of everything to compare; absent before it is counted. */
  readonly eventsTotal?: number | undefined;
  readonly bytesTotal?: number | undefined;
  /** A bounded number of differences; `differencesFound` counts all. */
  readonly differences: readonly Difference[];
  readonly differencesFound: number;
  readonly startedAt: number;
  readonly endedAt: number;
  /** Why the comparison failed, what it could not compare, or what it waits for. */
  readonly reason: string;
}

export interface VerifyUseCases {
  /**
   * Compares one partition, one slice, or all slices. Continues an interrupted comparison where it
   * stopped.
   */
  start(
    namespace: string,
    target: { readonly location?: SplitLocation; readonly timeSlice?: string },
  ): Promise<string>;
  /** VERIFY_NOT_FOUND if there is no such comparison. `by`: the process that works on it, or "". */
  get(namespace: string, verifyId: string): Promise<VerifyProgress & { readonly by: string }>;
}
