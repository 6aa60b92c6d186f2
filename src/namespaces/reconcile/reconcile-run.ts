/** One run of the slice reconciler over all namespaces, as each of its tasks gets it. */
import type { Clock } from "../../lib/clock.ts";
import type { Micros } from "../../lib/time-units.ts";
import type { TimeMargins } from "../../model/time-margins.ts";
import type { NamespaceRecord } from "../../records/namespace-records.ts";
import type { Changing } from "../change-slices.ts";
import type { BelievedTime } from "../believed-time.ts";
import type { OwnerWait } from "../slice-ownership.ts";
import type { KnownSlices } from "./known-slices.ts";
import type { SettlingFloors } from "./settling-floors.ts";
import type { Sightings } from "./sightings.ts";

export type ReconcilerEvent =
  | {
      readonly kind: "slices";
      readonly action: SliceAction;
      readonly namespace: string;
      readonly slices: readonly string[];
    }
  | {
      readonly kind: "reopened" | "deleted" | "restored" | "purged";
      readonly namespace: string;
    }
  | {
      /** A wrong clock had raised it (rule C25). Event time. */
      readonly kind: "floor taken back";
      readonly namespace: string;
      readonly from: Micros;
      readonly to: Micros;
    }
  | {
      /** Reported once, until the refusal is over. */
      readonly kind: "drops refused";
      readonly namespace: string;
      readonly count: number;
      readonly message: string;
    }
  | { readonly kind: "failed"; readonly namespace: string; readonly error: unknown };

type SliceAction =
  | "made"
  | "closed"
  | "opened"
  | "marked as dropping"
  | "taken back"
  | "marked as dropped"
  | "dropped";

/** What one run did and found. */
export interface ReconcilerReport {
  readonly namespaces: number;
  readonly made: number;
  readonly dropped: number;
  /** Slices that were not dropped because the clock is in doubt. */
  readonly refused: number;
  readonly failed: number;
}

export interface ReconcileRun extends Changing {
  readonly clock: Clock;
  readonly margins: TimeMargins;
  /** Brings this process's view up to date (`NamespaceViews.refresh`). */
  readonly changed: (name: string) => Promise<void>;
  readonly observe: (event: ReconcilerEvent) => void;
  readonly time: BelievedTime;
  readonly sightings: Sightings;
  readonly knownSlices: KnownSlices;
  readonly settlingFloors: SettlingFloors;
  /** How many more slices this run may drop: the floors of all namespaces wait for it. */
  readonly drops: { slices: number };
  /** Never waits for another process that changes the slices: the next run retries. */
  readonly wait: OwnerWait;
  /** Updated as the run proceeds. */
  readonly report: { -readonly [count in keyof ReconcilerReport]: number };
}

/**
 * Skips the work if something in this process is changing the namespace's slices: making tables can
 * take minutes, and the other namespaces would have to wait.
 */
export async function inTurn(
  { ownership }: ReconcileRun,
  { name }: NamespaceRecord,
  work: () => Promise<unknown>,
): Promise<void> {
  if (!ownership.isTaken(name)) await ownership.take(name, work);
}

/** Runs work on tables holding the namespace's mutex, as the owner, or skips it in this run. */
export function asOwner(
  run: ReconcileRun,
  record: NamespaceRecord,
  work: (isOwner: () => boolean) => Promise<unknown>,
): Promise<void> {
  return inTurn(run, record, () => run.ownership.own(record.id, run.wait, work));
}

export function observeSlices(
  { observe }: ReconcileRun,
  { name }: NamespaceRecord,
  action: SliceAction,
  slices: readonly string[],
): void {
  if (slices.length > 0) observe({ kind: "slices", action, namespace: name, slices });
}
