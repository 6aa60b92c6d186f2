/**
 * The envelope of every stored JSON record (rule C28): its fields, and `format`, the version of
 * their meaning. A process reads the formats it knows and refuses a newer one, so that it never
 * rewrites what it does not understand.
 *
 * A format above 1 also carries `formatSince`, the first version of Braid that reads it. An older
 * version cannot know its successors, but must say what to install.
 */
import { ServiceError } from "./errors.ts";
import type { ErrorDetails } from "./errors.ts";

/** The format of every kind of record that has not changed yet. */
export const FIRST_FORMAT = 1;

export function encodeFormat(fields: object, format: number = FIRST_FORMAT): string {
  return JSON.stringify({ format, ...fields });
}

export interface StoredName {
  /** The record's name in messages. */
  readonly what: string;
  readonly details: ErrorDetails;
}

/**
 * The fields without the envelope. DATA_LOSS if the text is not such a record. STORAGE_UNAVAILABLE
 * if its format is newer than `formatMax`: the record is sound, and another server may be able to
 * read it.
 */
export function decodeFormat(
  text: string,
  name: StoredName,
  formatMax: number = FIRST_FORMAT,
): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw unreadable(name, cause);
  }
  if (typeof value !== "object" || value === null) throw unreadable(name, undefined);
  const { format, formatSince, ...fields }: Readonly<Record<string, unknown>> = { ...value };
  if (!Number.isInteger(format) || Number(format) < FIRST_FORMAT) throw unreadable(name, undefined);
  if (Number(format) <= formatMax) return fields;
  const writer =
    typeof formatSince === "string" ? `Braid ${formatSince} or later` : "a newer version of Braid";
  throw new ServiceError(
    "STORAGE_UNAVAILABLE",
    `${name.what} has format ${Number(format)}, which ${writer} wrote; this process reads formats up to ` +
      `${formatMax}: upgrade it to ${writer}`,
    { details: { ...name.details, format: Number(format), formatMax } },
  );
}

export function unreadable({ what, details }: StoredName, cause: unknown): ServiceError {
  return new ServiceError(
    "DATA_LOSS",
    `${what} cannot be read; restore it from a backup or remove it`,
    cause === undefined ? { details } : { details, cause },
  );
}

/** Whether the record itself is the cause, damaged or too new, and not an outage of storage. */
export function isUnreadable(error: unknown): boolean {
  if (!(error instanceof ServiceError)) return false;
  return error.code === "DATA_LOSS" || error.details["formatMax"] !== undefined;
}
