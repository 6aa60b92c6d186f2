/** Reads the original of a split run by run, one run ahead of the work. */
import { LinkedAbort } from "../../lib/linked-abort.ts";
import type { Namespace } from "../../model/namespace.ts";
import type { PartitionKey } from "../../model/partition.ts";
import { PartitionReader } from "../../partition/partition-reader.ts";
import type { ServiceLevel } from "../../ports/event-store.ts";
import type { Run } from "../../wire/frames.ts";
import type { SplitContext } from "./split-context.ts";

/** The work holds two runs at a time: one that it processes and one that it is reading. */
export const RUN_BYTES_MAX = 1 << 20;

/**
 * How the original is read. The pass that confirms a copy uses another order and other run sizes
 * than the pass that made it (rule C6). For speed its sizes are close to those of the first pass,
 * but in no simple ratio to them, so that runs end at other events.
 */
const PASSES = {
  COPY: { order: "NEWEST_FIRST", runEventsMax: 65_536, runBytesMax: RUN_BYTES_MAX },
  CONFIRM: { order: "OLDEST_FIRST", runEventsMax: 40_009, runBytesMax: 700_001 },
} as const;
/** No caller waits for a copy, so asking a second replica early gains nothing. */
const PATIENT_MS = 5_000;

/** The event time `[from, to)`. */
export interface OriginalRange {
  readonly from: number;
  readonly to: number;
  /** Default: COPY. */
  readonly pass?: keyof typeof PASSES;
}

/**
 * The level that reads enough replicas to see every event that was ever acknowledged (rule C5): all
 * replicas if a write ever needed less than a majority, or if a majority of one data centre is not
 * a majority of all replicas.
 */
export function copyLevel(
  { everEventual }: Pick<Namespace, "everEventual">,
  copyAtAll: boolean,
): ServiceLevel {
  const consistency = everEventual || copyAtAll ? "ALL" : "READ_YOUR_WRITES";
  return { consistency, targetMs: PATIENT_MS, maxMs: PATIENT_MS };
}

/**
 * When the caller leaves the loop, the generator stops the read in progress and waits for its end.
 */
export async function* originalRuns(
  { store, clock }: Pick<SplitContext, "store" | "clock">,
  partition: PartitionKey,
  { from, to, pass = "COPY" }: OriginalRange,
  level: ServiceLevel,
  signal: AbortSignal,
): AsyncGenerator<Run, void, undefined> {
  if (from >= to) return;
  const abort = new LinkedAbort(signal);
  const reader = new PartitionReader(
    store,
    clock,
    partition,
    { from, to, after: undefined, ...PASSES[pass], level },
    abort.signal,
  );
  let ahead = reader.next();
  try {
    for (;;) {
      const run = await ahead;
      if (run === undefined) {
        // The runs also end when the signal aborts; that is not the end of the original.
        signal.throwIfAborted();
        return;
      }
      ahead = reader.next();
      // The next round awaits it; until then its rejection must not count as unhandled.
      ahead.catch(() => undefined);
      yield run;
    }
  } finally {
    abort.abort();
    await ahead.catch(() => undefined);
    await reader.close();
  }
}
