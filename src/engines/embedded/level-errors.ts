/**
 * What LevelDB's errors mean for a caller. `what` names the store: "the catalog", "slice
 * data_20260328".
 */
import { ServiceError } from "../../lib/errors.ts";
import { LevelDamage } from "./level-damage.ts";

/** LevelDB's code, or that of the file system, also where the error of an opening wraps it. */
export function levelCode(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const cause = levelCode(error.cause);
  if (cause !== undefined) return cause;
  return "code" in error && typeof error.code === "string" ? error.code : undefined;
}

/** LevelDB itself ran into damage. */
export function isCorruption(error: unknown): boolean {
  return levelCode(error) === "LEVEL_CORRUPTION";
}

/** What a failed opening means for a caller. */
export function openingError(error: unknown, what: string): ServiceError {
  if (error instanceof ServiceError) return error;
  const lost = error instanceof LevelDamage || isCorruption(error);
  return lost ? dataLoss(what, error) : unavailable(what, error);
}

/** What a failed read means for a caller. */
export function readError(error: unknown, what: string): ServiceError {
  if (error instanceof ServiceError) return error;
  return isCorruption(error) ? dataLoss(what, error) : unavailable(what, error);
}

export function unavailable(what: string, cause: unknown): ServiceError {
  return new ServiceError("STORAGE_UNAVAILABLE", `${what} is not available now; retry later`, {
    ...(cause === undefined ? {} : { cause }),
    retryAfterMs: 500,
  });
}

function dataLoss(what: string, cause: unknown): ServiceError {
  const known =
    cause instanceof Error ? (cause.cause instanceof Error ? cause.cause : cause) : undefined;
  return new ServiceError("DATA_LOSS", `${what} is damaged: ${known?.message ?? "unknown"}`, {
    cause,
  });
}
