/** The caller's id for its request, so that both sides find it in their logs. */

export const REQUEST_ID_HEADER = "braid-request-id";

const USABLE = /^[\x21-\x7e]{1,128}$/;

/** Undefined if the caller gave none, or one that does not fit a log line or a header. */
export function callerRequestId(given: unknown): string | undefined {
  return typeof given === "string" && USABLE.test(given) ? given : undefined;
}
