/** Parses the body of a request from bytes to JSON. Trusts nothing in it. */
import { isUtf8 } from "node:buffer";
import { ServiceError } from "../lib/errors.ts";
import type { Problems } from "../lib/problems.ts";
import { JsonWalk } from "../wire/json-walk.ts";

/**
 * Throws REQUEST_TOO_LARGE, before it parses anything, if the body holds more than `valuesMax`
 * values. Throws REQUEST_INVALID if it is not JSON. Adds problems that leave it readable.
 */
export function parseJsonBody(body: Buffer, valuesMax: number, problems: Problems): unknown {
  if (body.length === 0) return {};
  if (!isUtf8(body)) throw new ServiceError("REQUEST_INVALID", "the body is not valid UTF-8");
  const walk = new JsonWalk(body, valuesMax);
  walk.skipValue();
  let value: unknown;
  try {
    value = JSON.parse(body.toString()) as unknown;
  } catch (cause) {
    const problem = cause instanceof Error ? cause.message.slice(0, 200) : "";
    throw new ServiceError("REQUEST_INVALID", `the body is not JSON: ${problem}`, { cause });
  }
  // JSON.parse keeps the last of two members with the same name; nobody knows which one was meant.
  if (membersOf(value) !== walk.members) {
    problems.add("an object in the body has the same field twice; remove one");
  }
  return value;
}

function membersOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  const inner = Object.values(value).reduce<number>((sum, each) => sum + membersOf(each), 0);
  return Array.isArray(value) ? inner : inner + Object.keys(value).length;
}
