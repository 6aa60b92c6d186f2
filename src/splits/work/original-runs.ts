/** The original of a split, newest first, one run read ahead of the work. */
import { LinkedAbort } from "../../lib/linked-abort.ts";
import type { Namespace } from "../../model/namespace.ts";
import type { PartitionKey } from "../../model/partition.ts";
import { PartitionReader } from "../../partition/partition-reader.ts";
import type { ServiceLevel } from "../../ports/event-store.ts";
import type { Run } from "../../wire/frames.ts";
import type { SplitContext } from "./split-context.ts";

/** Two of them are held at a time: one is worked on, one is under way. */
export const RUN_BYTES_MAX = 1 << 20;
const RUN_EVENTS_MAX = 65_536;
/** Nobody waits for a copy, so nothing is gained by asking a second replica early. */
const PATIENT_MS = 5_000;

/** Below `to`, down to `from`. */
export interface OriginalRange {
  readonly from: number;
  readonly to: number;
}

/**
 * Enough replicas to see all that was ever acknowledged (rule C5): all of them where less than a majority
 * was ever enough for a write, or where a majority of one place is not one of all.
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
  range: OriginalRange,
  level: ServiceLevel,
  signal: AbortSignal,
): AsyncGenerator<Run, void, undefined> {
  if (range.from >= range.to) return;
  const abort = new LinkedAbort(signal);
  const reader = new PartitionReader(
    store,
    clock,
    partition,
    {
      ...range,
      order: "NEWEST_FIRST",
      after: undefined,
      runEventsMax: RUN_EVENTS_MAX,
      runBytesMax: RUN_BYTES_MAX,
      level,
    },
    abort.signal,
  );
  let ahead = reader.next();
  try {
    for (;;) {
      const run = await ahead;
      if (run === undefined) {
        // Who was told to stop must not take that for the end.
        signal.throwIfAborted();
        return;
      }
      ahead = reader.next();
      // It is awaited in its turn; until then a failure is nobody's.
      ahead.catch(() => undefined);
      yield run;
    }
  } finally {
    abort.abort();
    await ahead.catch(() => undefined);
    await reader.close();
  }
}
