/**
 * Reopens a store after a failed commit, as soon as its disk works.
 *
 * LevelDB would continue to write after a torn record, so the failed handle takes no more writes.
 * Reads use it until the disk works: while an opening cannot succeed, the old handle serves them
 * better.
 */
import { join } from "node:path";
import type { Clock } from "../../lib/clock.ts";
import type { ServiceError } from "../../lib/errors.ts";
import { isCorruption, openingError } from "./level-errors.ts";
import type { LevelOptions } from "./level-options.ts";
import { openLevel } from "./open-level.ts";
import type { OpenedLevel } from "./open-level.ts";
import { probeDisk } from "./probe-disk.ts";
import { verifyLevel } from "./verify-level.ts";

export interface Recovery {
  readonly directory: string;
  readonly what: string;
  readonly clock: Clock;
  readonly tuning: LevelOptions;
  /** Why the commit failed. */
  readonly cause: unknown;
  /** The last commit that was acknowledged. */
  readonly acknowledged: number;
  /** Closes the failed handle, if it is still open. */
  readonly letGo: () => Promise<void>;
}

const WAIT_MIN_MS = 50;
const WAIT_MAX_MS = 2000;
const PROBE_MARGIN_BYTES = 4 << 20;

/** Tries until it succeeds or finds DATA_LOSS; undefined if the signal aborts first. */
export async function recoverLevel(
  recovery: Recovery,
  signal: AbortSignal,
): Promise<OpenedLevel | ServiceError | undefined> {
  const { directory, what, clock, tuning, cause, acknowledged, letGo } = recovery;
  // What an opening writes: the logs as a table.
  const probeBytes = 2 * tuning.writeBufferSize + PROBE_MARGIN_BYTES;
  for (let waitMs = WAIT_MIN_MS; ; waitMs = Math.min(waitMs * 2, WAIT_MAX_MS)) {
    await clock.sleep(waitMs, signal);
    if (signal.aborted) return undefined;
    if (!(await probeDisk(directory, probeBytes))) continue;
    try {
      await letGo();
      // LevelDB itself found damage: verify every file again.
      if (isCorruption(cause)) await verifyLevel(join(directory, "level"), undefined);
      return await openLevel(directory, tuning, acknowledged);
    } catch (error) {
      const failure = openingError(error, what);
      if (failure.code === "DATA_LOSS") return failure;
    }
  }
}
