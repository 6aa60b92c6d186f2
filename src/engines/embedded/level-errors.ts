/**
 * Translates LevelDB's errors for a caller. `what` names the store: "the catalog", "slice
 * data_20260328".
 */
import { ServiceError } from "../../lib/errors.ts";
import { LevelDamage } from "./level-damage.ts";

/** The code of LevelDB or of the file system, also if an opening error wraps it. */
export function levelCode(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const cause = levelCode(error.cause);
  if (cause !== undefined) return cause;
  return "code" in error && typeof error.code === "string" ? error.code : undefined;
}

/** Whether LevelDB itself found damage. */
export function isCorruption(error: unknown): boolean {
  return levelCode(error) === "LEVEL_CORRUPTION";
}

/** Translates a failed opening for a caller. */
export function openingError(error: unknown, what: string): ServiceError {
  if (error instanceof ServiceError) return error;
  const lost = error instanceof LevelDamage || isCorruption(error);
  return lost ? dataLoss(what, error) : unavailable(what, error);
}

/** Translates a failed read for a caller. */
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
