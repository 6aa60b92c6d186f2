/**
 * Pages of the control API's lists: a bounded size, and a token that names the last key returned.
 */
import { fromUtf8, utf8 } from "../lib/bytes.ts";
import { ServiceError } from "../lib/errors.ts";

export interface ControlPage {
  /** 0 or none means the default. */
  readonly pageSize?: number | undefined;
  readonly pageToken?: string | undefined;
}

const PAGE_SIZE_DEFAULT = 100;
const PAGE_SIZE_MAX = 1_000;

export function pageSizeOf(page: ControlPage): number {
  const problem = pageSizeProblem(page);
  if (problem !== undefined) throw new ServiceError("REQUEST_INVALID", problem);
  return page.pageSize || PAGE_SIZE_DEFAULT;
}

/** The problem with the size, for a request that reports all its problems at once. */
export function pageSizeProblem({ pageSize: size = 0 }: ControlPage): string | undefined {
  if (Number.isInteger(size) && size >= 0 && size <= PAGE_SIZE_MAX) return undefined;
  return `pageSize (${size}) must be from 1 to ${PAGE_SIZE_MAX}, or 0 for ${PAGE_SIZE_DEFAULT}`;
}

/** The key after which the page starts; "" for the first page. */
export function pageAfter({ pageToken }: ControlPage): string {
  if (pageToken === undefined || pageToken === "") return "";
  try {
    const key = fromUtf8(Buffer.from(pageToken, "base64url"));
    if (key !== "" && pageTokenAfter(key) === pageToken) return key;
  } catch {
    // Not UTF-8: not a token of this server, as below.
  }
  throw new ServiceError(
    "PAGE_TOKEN_INVALID",
    "pageToken is not one this server gave out; begin again without it",
  );
}

export function pageTokenAfter(key: string): string {
  return Buffer.from(utf8(key)).toString("base64url");
}
