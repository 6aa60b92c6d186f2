/** A request's body, from bytes to parsed JSON, with nothing in it taken on trust. */
import { isUtf8 } from "node:buffer";
import { ServiceError } from "../lib/errors.ts";
import type { JsonBody } from "./methods/method.ts";

/** No message of the API is nested this deeply. */
const DEPTH_MAX = 32;

/** Below this a body cannot nest deeply enough to cost anything. */
const DEPTH_CHECKED_FROM = 64 * 1024;

export function parseJsonBody(body: Buffer): JsonBody {
  if (body.length === 0) return { value: {}, bytes: 0 };
  if (!isUtf8(body)) throw new ServiceError("REQUEST_INVALID", "the body is not valid UTF-8");
  if (body.length > DEPTH_CHECKED_FROM && depthOf(body) > DEPTH_MAX) {
    throw new ServiceError(
      "REQUEST_INVALID",
      `the body is nested more than ${DEPTH_MAX} levels deep`,
    );
  }
  try {
    const value: unknown = JSON.parse(body.toString());
    return { value, bytes: body.length };
  } catch (cause) {
    const said = cause instanceof Error ? cause.message.slice(0, 200) : "";
    throw new ServiceError("REQUEST_INVALID", `the body is not JSON: ${said}`, { cause });
  }
}

/** How deep brackets nest, strings left aside; looks no further than it must. */
function depthOf(body: Buffer): number {
  let depth = 0;
  let inString = false;
  for (let i = 0; i < body.length && depth <= DEPTH_MAX; i++) {
    const byte = body[i];
    if (inString) {
      if (byte === BACKSLASH) i++;
      else if (byte === QUOTE) inString = false;
    } else if (byte === QUOTE) inString = true;
    else if (byte === OPEN_BRACKET || byte === OPEN_BRACE) depth++;
    else if (byte === CLOSE_BRACKET || byte === CLOSE_BRACE) depth--;
  }
  return depth;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
