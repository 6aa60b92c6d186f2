/** The original of a split, run by run, one run read ahead of the work. */
import { LinkedAbort } from "../../lib/linked-abort.ts";
import type { Namespace } from "../../model/namespace.ts";
import type { PartitionKey } from "../../model/partition.ts";
import { PartitionReader } from "../../partition/partition-reader.ts";
import type { ServiceLevel } from "../../ports/event-store.ts";
import type { Run } from "../../wire/frames.ts";
import type { SplitContext } from "./split-context.ts";

/** The work holds two of them at a time: one that it works on, one under way. */
export const RUN_BYTES_MAX = 1 << 20;

/**
 * How the original is read. The pass that confirms a copy has another order and other sizes of runs
 * than the pass that made it (rule C6). Its sizes are near those of the first, for speed, but no
 * simple ratio of them, so that runs end elsewhere.
 */
const PASSES = {
  COPY: { order: "NEWEST_FIRST", runEventsMax: 65_536, runBytesMax: RUN_BYTES_MAX },
  CONFIRM: { order: "OLDEST_FIRST", runEventsMax: 40_009, runBytesMax: 700_001 },
} as const;
/** Nobody waits for a copy, so nothing is gained by asking a second replica early. */
const PATIENT_MS = 5_000;

/** From `from` on, below `to`. */
export interface OriginalRange {
  readonly from: number;
  readonly to: number;
  /** Without it, COPY. */
  readonly pass?: keyof typeof PASSES;
}

/**
 * Enough replicas to see all that was ever acknowledged (rule C5): all of them where less than a
 * majority was ever enough for a write, or where a majority of one data centre is not one of all.
 */
export function copyLevel(
  { everEventual }: Pick<Namespace, "everEventual">,
  copyAtAll: boolean,
): ServiceLevel {
  const consistency = everEventual || copyAtAll ? "ALL" : "READ_YOUR_WRITES";
  return { consistency, targetMs: PATIENT_MS, maxMs: PATIENT_MS };
}

/** Leaving the loop stops what is under way and waits for it. */
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
        // The runs also end when the signal aborts, which is not the end of the original.
        signal.throwIfAborted();
        return;
      }
      ahead = reader.next();
      // The next round awaits it: until then a failure is not unhandled.
      ahead.catch(() => undefined);
      yield run;
    }
  } finally {
    abort.abort();
    await ahead.catch(() => undefined);
    await reader.close();
  }
}
