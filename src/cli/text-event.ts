/**
 * Events with text values, one line of JSON each, so that nobody has to read or type base64:
 *
 *   {"timeSeriesId":"profile:123","eventTime":"…","eventId":"e-1","items":{"device":"ios"}}
 *
 * `read -o text` prints these lines and `write --text` accepts them. A value that is not text is an
 *   object,
 * `{"base64":"…"}`, so that an event that was read can be written again byte for byte.
 */
import type { ReceivedEvent } from "../../client/connect.ts";
import { asText } from "./print.ts";

export function textLine(event: ReceivedEvent): string {
  const { timeSeriesId, eventTime, eventId } = event;
  const head = JSON.stringify({ timeSeriesId, eventTime, eventId }).slice(0, -1);
  // Built as text: an object would reorder keys such as "10" and "9".
  const items = event.items.map(({ key, value }) => {
    const text = asText(value) ?? { base64: Buffer.from(value).toString("base64") };
    return `${JSON.stringify(key)}:${JSON.stringify(text)}`;
  });
  return `${head},"items":{${items.join(",")}}}\n`;
}

/** Returns the line in the API's form, or what is wrong with it. The server validates the event. */
export function fromTextLine(
  line: object,
): { readonly json: string } | { readonly problem: string } {
  const { items, eventItems, ...event } = line as { items?: unknown; eventItems?: unknown };
  if (items !== undefined && eventItems !== undefined) {
    return { problem: "has both items and eventItems; give one" };
  }
  if (eventItems !== undefined && !Array.isArray(eventItems)) {
    return { problem: "eventItems is not a list" };
  }
  if (items !== undefined && !isObject(items)) {
    return { problem: 'items is not an object such as {"device":"ios"}' };
  }
  const encoded: object[] = [];
  for (const [key, value, rest] of entriesOf(items, eventItems)) {
    const base64 = toBase64(value);
    if (base64 === undefined) {
      return { problem: `the value of ${JSON.stringify(key)} is neither text nor {"base64":"…"}` };
    }
    encoded.push({ ...rest, eventItemKey: key, eventItemValue: base64 });
  }
  return { json: JSON.stringify({ ...event, eventItems: encoded }) };
}

function* entriesOf(
  items: object | undefined,
  eventItems: readonly unknown[] | undefined,
): Generator<[key: unknown, value: unknown, rest: object]> {
  for (const [key, value] of Object.entries(items ?? {})) yield [key, value, {}];
  for (const item of eventItems ?? []) {
    const { eventItemKey, eventItemValue, ...rest } = isObject(item) ? item : {};
    yield [eventItemKey, eventItemValue, rest];
  }
}

function toBase64(value: unknown): string | undefined {
  if (typeof value === "string") return Buffer.from(value).toString("base64");
  if (typeof value === "number" || typeof value === "boolean") return toBase64(String(value));
  if (!isObject(value) || Object.keys(value).length !== 1) return undefined;
  const { base64 } = value;
  return typeof base64 === "string" ? base64 : undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
