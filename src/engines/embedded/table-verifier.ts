/**
 * Reads tables again that were verified long ago, one at a time and slowly: a disk can lose bytes
 * that no request reads. A table that is no longer whole is reported as its opening would report it
 * (rule C22).
 */
import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../lib/clock.ts";
import { levelCode } from "./level-errors.ts";
import { LevelDamage } from "./level-damage.ts";
import type { VerifiedTables } from "./verified-tables.ts";
import { verifyTableFile } from "./verify-level.ts";

export interface TableVerifierOptions {
  readonly tables: VerifiedTables;
  readonly clock: Clock;
  /** The table of that store is damaged. */
  readonly damaged: (directory: string, damage: LevelDamage) => void;
  readonly verified: (bytes: number) => void;
  /** A table could not be read. It is tried again later. */
  readonly failed: (table: string, error: unknown) => void;
}

/** A table is read again when this much time has passed. */
export const VERIFY_AGAIN_MS = 24 * 3_600_000;
/** A day of this reads 345 GB; it is little beside what a disk can do. */
const BYTES_PER_SECOND = 4 << 20;
/** How often it looks whether a table is due. */
export const VERIFY_LOOK_MS = 60_000;

/** Runs until the signal aborts. Never rejects. */
export async function verifyTablesAgain(
  options: TableVerifierOptions,
  signal: AbortSignal,
): Promise<void> {
  const { tables, clock } = options;
  while (!signal.aborted) {
    await clock.sleep(VERIFY_LOOK_MS, signal);
    for (const { directory, name } of tables.verifiedBefore(
      clock.monotonicMs() - VERIFY_AGAIN_MS,
    )) {
      if (signal.aborted) return;
      const bytes = await verifyAgain(options, directory, name);
      await clock.sleep((bytes / BYTES_PER_SECOND) * 1_000, signal);
    }
  }
}

/** Returns how many bytes it has read. */
async function verifyAgain(
  { tables, clock, damaged, verified, failed }: TableVerifierOptions,
  directory: string,
  name: string,
): Promise<number> {
  try {
    const { size } = await stat(join(directory, name));
    await verifyTableFile(directory, name, undefined, { tables, nowMs: clock.monotonicMs() });
    verified(size);
    return size;
  } catch (error) {
    if (levelCode(error) === "ENOENT") {
      // A compaction has removed it, or the whole store was dropped.
      tables.remove(directory, name);
    } else if (error instanceof LevelDamage) {
      // The next opening reads every table of the store.
      tables.forget(directory);
      damaged(directory, error);
    } else failed(join(directory, name), error);
    return 0;
  }
}
