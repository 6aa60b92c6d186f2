/**
 * Converts one input line of `braid write` to the JSON of an event. The server validates the event.
 */
import { fromTextLine } from "./text-event.ts";

export type EventLine = { readonly json: Uint8Array } | { readonly problem: string };

/** Returns undefined for a blank line. `line` counts from 1. */
export function eventOf(
  bytes: Uint8Array,
  line: number,
  textValues: boolean,
): EventLine | undefined {
  const content = line === 1 ? withoutMark(bytes) : bytes;
  if (isBlank(content)) return undefined;
  let parsed: unknown;
  try {
    parsed = JSON.parse(decoder.decode(content));
  } catch (error) {
    if (error instanceof SyntaxError) return { problem: `not JSON: ${error.message}` };
    return { problem: "not UTF-8" };
  }
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) {
    return { problem: "not a JSON object" };
  }
  if (!textValues) return "items" in parsed ? { problem: TEXT_NEEDED } : { json: content };
  const converted = fromTextLine(parsed);
  return "json" in converted ? { json: encoder.encode(converted.json) } : converted;
}

const TEXT_NEEDED =
  "has items, which are text values: give --text, or eventItems with values in base64";

const decoder = new TextDecoder("utf-8", { fatal: true });
const encoder = new TextEncoder();

function isBlank(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d);
}

/** Removes the byte order mark that some editors put before the first line. */
function withoutMark(bytes: Uint8Array): Uint8Array {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;
}
