/** A request's body, from bytes to parsed JSON, with nothing in it taken on trust. */
import { isUtf8 } from "node:buffer";
import { ServiceError } from "../lib/errors.ts";
import { JsonWalk } from "../wire/json-walk.ts";

/** Throws REQUEST_TOO_LARGE before anything is parsed if it holds more than so many values. */
export function parseJsonBody(body: Buffer, valuesMax: number): unknown {
  if (body.length === 0) return {};
  if (!isUtf8(body)) throw new ServiceError("REQUEST_INVALID", "the body is not valid UTF-8");
  const walk = new JsonWalk(body, valuesMax);
  walk.skipValue();
  let value: unknown;
  try {
    value = JSON.parse(body.toString()) as unknown;
  } catch (cause) {
    const said = cause instanceof Error ? cause.message.slice(0, 200) : "";
    throw new ServiceError("REQUEST_INVALID", `the body is not JSON: ${said}`, { cause });
  }
  // JSON.parse keeps the last of two members with one name: which one was meant nobody knows.
  if (membersOf(value) !== walk.members) {
    throw new ServiceError("REQUEST_INVALID", "an object in the body has a field twice; keep one");
  }
  return value;
}

function membersOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  const inner = Object.values(value).reduce<number>((sum, each) => sum + membersOf(each), 0);
  return Array.isArray(value) ? inner : inner + Object.keys(value).length;
}
