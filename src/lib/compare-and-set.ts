/**
 * The loop around compare-and-set: read a record, decide, write over the version that was read, and again if
 * somebody else was faster.
 *
 * The number of attempts is bounded. Each loss means that another process has succeeded, so losing all of
 * them means that something is wrong, not that the caller should wait longer: there is no pause between
 * attempts. An attempt may run several times, so it must take effect only through its write.
 */
import { ServiceError } from "./errors.ts";
import type { ErrorDetails } from "./errors.ts";

/** What an attempt comes to when somebody else has changed the record since it was read. */
export const LOST = Symbol("lost");
export type Lost = typeof LOST;

const ATTEMPTS_MAX = 20;

/** The first result that is not LOST; LOST after `attemptsMax` attempts. An error ends the loop. */
export async function tryCompareAndSet<T>(
  attempt: () => Promise<T | Lost>,
  attemptsMax: number = ATTEMPTS_MAX,
): Promise<T | Lost> {
  for (let n = 0; n < attemptsMax; n++) {
    const result = await attempt();
    if (result !== LOST) return result;
  }
  return LOST;
}

/** The same, and CONFLICT with this message if every attempt is lost: the caller may try again a second later. */
export async function compareAndSet<T>(
  conflict: { readonly message: string; readonly details?: ErrorDetails },
  attempt: () => Promise<T | Lost>,
): Promise<T> {
  const result = await tryCompareAndSet(attempt);
  if (result !== LOST) return result;
  const { message, details = {} } = conflict;
  throw new ServiceError("CONFLICT", message, { details, retryAfterMs: 1_000 });
}
