/** What operators do with splits, read modes and comparisons: the use cases behind API, CLI and console. */
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
  /** The listed parts of each segment, by the segment's place in the record; none where not asked for. */
  readonly parts: readonly (readonly PartRecord[])[];
}

/** An operator's wish, with who and why: both are kept. */
export interface OperatorRequest {
  readonly by: string;
  readonly reason: string;
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
}

export interface SplitUseCases {
  /** Without parts. `state` undefined: all. */
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
  /** Does by hand what a detection does; one that is there already is looked at again. */
  request(location: SplitLocation, operatorRequest: OperatorRequest): Promise<SplitDetail>;
  /** Lets one that failed, was refused, parked or rolled back be planned anew. */
  retry(location: SplitLocation, operatorRequest: OperatorRequest): Promise<SplitDetail>;
  /** Back to the original, everywhere within L; stays so until a retry. */
  rollback(location: SplitLocation, operatorRequest: OperatorRequest): Promise<SplitDetail>;
  /** Of a whole namespace. */
  pause(namespace: string, operatorRequest: OperatorRequest): Promise<void>;
  resume(namespace: string, operatorRequest: OperatorRequest): Promise<void>;
}

export interface ReadModeReport {
  readonly state: ReadModeState;
  readonly evidence: readonly Evidence[];
  /** Undefined at the last. */
  readonly nextMode: ReadMode | undefined;
  /** Why it has not advanced yet; "" if nothing is in the way. */
  readonly blockedBy: string;
}

export interface ReadModeUseCases {
  get(namespace: string): Promise<ReadModeReport>;
  /** CONFLICT without `force` where the evidence does not allow it. Undefined leaves `autoAdvance` as it is. */
  set(
    namespace: string,
    mode: ReadMode,
    options: { readonly force: boolean; readonly autoAdvance: boolean | undefined },
    operatorRequest: OperatorRequest,
  ): Promise<ReadModeReport>;
  killSwitch(): Promise<KillSwitchState>;
  setKillSwitch(on: boolean, operatorRequest: OperatorRequest): Promise<KillSwitchState>;
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
  /** Of one partition, of a slice, or of all slices. Goes on from where it was if it was interrupted. */
  start(
    namespace: string,
    target: { readonly location?: SplitLocation; readonly timeSlice?: string },
  ): Promise<string>;
  /** VERIFY_NOT_FOUND if there is none. */
  get(namespace: string, verifyId: string): Promise<VerifyProgress>;
}
