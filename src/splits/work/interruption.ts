/**
 * The expected ends of work on a split, as opposed to failures: `work-on-split.ts` leaves the
 * record as each of them wants it.
 */
import { ServiceError } from "../../lib/errors.ts";
import type { PartRecord } from "../../model/split.ts";

/**
 * overtaken: another worker has the split, or an operator has stopped it. Nothing more is written.
 * paused: an operator has paused the namespace's splits.
 * reopened: the namespace has another epoch, so what is being copied may be open again (rule C3).
 * gone: namespace or slice are dropped, and the record goes with them.
 * mismatch: the copy is not what it should be. Counts against the retries (rule C16).
 */
type InterruptionKind = "overtaken" | "paused" | "reopened" | "gone" | "mismatch";

export class Interruption extends Error {
  readonly kind: InterruptionKind;
  /** Of a mismatch: the part whose events are not what was listed, where it is one part. */
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
    "the namespace has begun another epoch: its sealed time is being opened again",
  );
}

/** What an error of the work is, if it was to be expected. */
export function interruptionOf(error: unknown): Interruption | undefined {
  if (error instanceof Interruption) return error;
  const gone = error instanceof ServiceError && error.code === "NAMESPACE_NOT_FOUND";
  return gone ? new Interruption("gone", error.message) : undefined;
}
