/**
 * Counts the fields of a protobuf message before the decoder runs (rule C27): a few kilobytes can
 * hold millions of empty fields, and the decoder makes an object of each.
 */
import type { DescMessage } from "@bufbuild/protobuf";
import { ServiceError } from "../../lib/errors.ts";
import { VarintReader } from "../../wire/varint.ts";

/** No message of the API is nested more deeply. */
const DEPTH_MAX = 16;

/**
 * Throws REQUEST_TOO_LARGE at the first field beyond `fieldsMax`. Leaves malformed bytes to the
 * decoder.
 */
export function checkMessageShape(schema: DescMessage, bytes: Uint8Array, fieldsMax: number): void {
  const reader = new VarintReader();
  let fields = 0;
  const walk = (message: DescMessage, end: number, depth: number): void => {
    while (reader.position < end) {
      const tag = reader.read(bytes, end);
      if (tag < 0) return;
      if (++fields > fieldsMax) throw tooMany(fieldsMax);
      const wireType = tag & 7;
      if (wireType === 0) reader.position = behindVarint(bytes, reader.position);
      else if (wireType === 1) reader.position += 8;
      else if (wireType === 5) reader.position += 4;
      else if (wireType === 2) {
        const length = reader.read(bytes, end);
        const fieldEnd = reader.position + length;
        if (length < 0 || fieldEnd > end) return;
        const inner = messageOf(message, tag >>> 3);
        if (inner !== undefined && depth < DEPTH_MAX) walk(inner, fieldEnd, depth + 1);
        reader.position = fieldEnd;
      } else return;
    }
  };
  walk(schema, bytes.length, 1);
}

/** Skips a varint. A negative number takes ten bytes, more than a length may take. */
function behindVarint(bytes: Uint8Array, start: number): number {
  let at = start;
  while ((bytes[at] ?? 0) >= 0x80) at++;
  return at + 1;
}

function messageOf(message: DescMessage, number: number): DescMessage | undefined {
  const field = message.fields.find((each) => each.number === number);
  if (field?.fieldKind === "message") return field.message;
  return field?.fieldKind === "list" && field.listKind === "message" ? field.message : undefined;
}

function tooMany(fieldsMax: number): ServiceError {
  return new ServiceError(
    "REQUEST_TOO_LARGE",
    `the request holds more than ${fieldsMax} values; send it in several`,
    { details: { limit: fieldsMax } },
  );
}
