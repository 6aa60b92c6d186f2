/**
 * The compare-and-set loop: read a record, decide, write over the version that was read, and repeat
 * if another process wrote first.
 *
 * The number of attempts is bounded. Each loss means that another process succeeded, so losing
 * every attempt means that something is wrong, and waiting would not help: there is no pause
 * between attempts. An attempt may run several times, so it must take effect only through its
 * write.
 */
import { ServiceError } from "./errors.ts";
import type { ErrorDetails } from "./errors.ts";

/** The result of an attempt whose record another process changed after it was read. */
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

/**
 * Like `tryCompareAndSet`, but throws CONFLICT with this message if every attempt is lost: the
 * caller may retry after a second.
 */
export async function compareAndSet<T>(
  conflict: { readonly message: string; readonly details?: ErrorDetails },
  attempt: () => Promise<T | Lost>,
): Promise<T> {
  const result = await tryCompareAndSet(attempt);
  if (result !== LOST) return result;
  const { message, details = {} } = conflict;
  throw new ServiceError("CONFLICT", message, { details, retryAfterMs: 1_000 });
}
