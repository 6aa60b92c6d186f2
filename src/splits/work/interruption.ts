/**
 * The expected ends of work on a split, as opposed to failures. For each of them `work-on-split.ts`
 * leaves the record in the state that fits.
 */
import { ServiceError } from "../../lib/errors.ts";
import type { PartRecord } from "../../model/split.ts";

/**
 * overtaken: another worker owns the split, or an operator has stopped it. The worker writes
 * nothing more.
 * paused: an operator has paused the namespace's splits.
 * reopened: a new epoch of the namespace opens the time that is being copied (rule C3).
 * gone: the namespace or the slice is dropped, and the record with it.
 * mismatch: the copy differs from what it should be. Counts as a failure for the retries (rule
 * C16).
 */
type InterruptionKind = "overtaken" | "paused" | "reopened" | "gone" | "mismatch";

export class Interruption extends Error {
  readonly kind: InterruptionKind;
  /** For a mismatch in one part: the part whose events differ from what is listed. */
  readonly part: PartRecord | undefined;

  constructor(kind: InterruptionKind, message: string, part?: PartRecord) {
    super(message);
    this.name = "Interruption";
    this.kind = kind;
    this.part = part;
  }
}

export function reopened(): Interruption {
  return new Interruption(
    "reopened",
    "the namespace has begun another epoch, which opens this time again",
  );
}

/** The interruption that an error of the work stands for; undefined if it is a failure. */
export function interruptionOf(error: unknown): Interruption | undefined {
  if (error instanceof Interruption) return error;
  const gone = error instanceof ServiceError && error.code === "NAMESPACE_NOT_FOUND";
  return gone ? new Interruption("gone", error.message) : undefined;
}
