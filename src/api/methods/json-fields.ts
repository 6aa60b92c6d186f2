/**
 * Finds everything that is wrong with a JSON body for its message, by path, before anything else
 * reads it.
 */
import { ScalarType } from "@bufbuild/protobuf";
import type { DescEnum, DescField, DescMessage } from "@bufbuild/protobuf";
import type { Problems } from "../../lib/problems.ts";
import { nearest } from "../../lib/nearest.ts";
import { parseTime } from "../../wire/time-text.ts";

/**
 * Adds every unknown field, every unknown enum name and every value of the wrong type. The decoder
 * runs afterwards and stops at its first problem; it rarely finds any that this check does not.
 *
 * Returns the body without what is wrong, so that the decoder accepts it and later checks can find
 * the other problems of the request.
 */
export function soundFields(schema: DescMessage, value: unknown, problems: Problems): JsonObject {
  const before = problems.count;
  collect(schema, value, WHOLE, problems);
  if (problems.count === before && isObject(value)) return value;
  return onlySound(schema, value, "", problems);
}

type JsonObject = Readonly<Record<string, unknown>>;

/** A place in the body: as the caller spells it, and by the names of the fields. */
interface Path {
  readonly spelled: string;
  readonly field: string;
}

const WHOLE: Path = { spelled: "", field: "" };

function collect(schema: DescMessage, value: unknown, path: Path, problems: Problems): void {
  if (!isObject(value)) {
    const whole = path.field === "";
    const what = whole ? "the body must be a JSON object" : `${path.spelled} must be an object`;
    problems.add(what, whole ? undefined : path.field);
    return;
  }
  for (const [key, content] of Object.entries(value)) {
    const field = fieldNamed(schema, key);
    if (field === undefined) {
      // Finding the nearest name is expensive: skip it for problems that the error will not list.
      problems.add(problems.isFull ? "" : unknownField(schema, key, inside(path.spelled, "")));
    } else if (content !== null) {
      const { jsonName } = field;
      const at = { spelled: inside(path.spelled, key), field: inside(path.field, jsonName) };
      collectField(field, content, at, problems);
    }
  }
}

/** null counts as not given, everywhere. */
function collectField(field: DescField, content: unknown, path: Path, problems: Problems): void {
  if (field.fieldKind !== "list") {
    collectValue(field, content, path, problems);
  } else if (!Array.isArray(content)) {
    problems.add(`${path.spelled} must be an array`, path.field);
  } else {
    content.forEach((item, i) => {
      const at = { spelled: `${path.spelled}[${i}]`, field: `${path.field}[${i}]` };
      collectValue(field, item, at, problems);
    });
  }
}

function collectValue(field: DescField, content: unknown, path: Path, problems: Problems): void {
  const { message, enum: names, scalar } = field;
  const form = message && FORMS[message.typeName];
  const fits = (wanted: Form): void => {
    if (wanted.fits(content)) return;
    problems.add(`${path.spelled} must be ${wanted.what}, not ${shown(content)}`, path.field);
  };
  if (form !== undefined) fits(form);
  else if (message !== undefined) collect(message, content, path, problems);
  else if (names !== undefined) {
    const problem = unknownName(names, content, path.spelled);
    if (problem !== undefined) problems.add(problem, path.field);
  } else if (scalar !== undefined) fits(SCALAR_FORMS[scalar]);
}

function onlySound(
  schema: DescMessage,
  value: unknown,
  path: string,
  problems: Problems,
): JsonObject {
  const sound: Record<string, unknown> = {};
  if (!isObject(value)) return sound;
  for (const [key, content] of Object.entries(value)) {
    const field = fieldNamed(schema, key);
    if (field === undefined) continue;
    const at = inside(path, field.jsonName);
    if (!problems.sound(at)) continue;
    sound[key] =
      field.fieldKind === "list" && Array.isArray(content)
        ? content.map((item, i) => soundItem(field, item, `${at}[${i}]`, problems))
        : soundValue(field, content, at, problems);
  }
  return sound;
}

/** An empty item stands for a wrong one: the others keep their numbers. */
function soundItem(field: DescField, item: unknown, path: string, problems: Problems): unknown {
  if (problems.sound(path)) return soundValue(field, item, path, problems);
  if (field.message !== undefined) return {};
  return field.scalar === ScalarType.STRING || field.scalar === ScalarType.BYTES ? "" : 0;
}

function soundValue(field: DescField, content: unknown, path: string, problems: Problems): unknown {
  const { message } = field;
  if (message === undefined || FORMS[message.typeName] !== undefined || content === null) {
    return content;
  }
  return onlySound(message, content, path, problems);
}

function inside(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}

interface Form {
  readonly what: string;
  readonly fits: (content: unknown) => boolean;
}

/** Messages with a special JSON form. */
const FORMS: Readonly<Record<string, Form>> = {
  "google.protobuf.Timestamp": {
    what: 'a time such as "2026-11-15T10:00:00.000001Z"',
    fits: (content) => typeof content === "string" && parseTime(content) !== undefined,
  },
  "google.protobuf.Duration": {
    what: 'a duration in seconds such as "3600s"',
    fits: (content) => typeof content === "string" && /^-?\d+(\.\d{1,9})?s$/.test(content),
  },
};

const TEXT: Form = { what: "a string", fits: (content) => typeof content === "string" };
const TRUTH: Form = { what: "true or false", fits: (content) => typeof content === "boolean" };
const NUMBER: Form = {
  what: "a number",
  fits: (content) => typeof content === "number" || isNumberText(content),
};

/**
 * 64-bit integers are strings in JSON. Numbers are accepted too, as are strings for 32-bit
 * integers.
 */
function integer(from: bigint, to: bigint): Form {
  return {
    what: `an integer from ${from} to ${to}`,
    fits: (content) => {
      if (typeof content !== "number" && !isNumberText(content)) return false;
      const value = Number(content);
      if (!Number.isInteger(value)) return false;
      const exact =
        typeof content === "string" && /^-?\d+$/.test(content) ? BigInt(content) : BigInt(value);
      return exact >= from && exact <= to;
    },
  };
}

function isNumberText(content: unknown): boolean {
  return typeof content === "string" && /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(content);
}

const INT32 = integer(-(2n ** 31n), 2n ** 31n - 1n);
const UINT32 = integer(0n, 2n ** 32n - 1n);
const INT64 = integer(-(2n ** 63n), 2n ** 63n - 1n);
const UINT64 = integer(0n, 2n ** 64n - 1n);

const SCALAR_FORMS: Readonly<Record<ScalarType, Form>> = {
  [ScalarType.STRING]: TEXT,
  [ScalarType.BYTES]: {
    what: "base64",
    fits: (content) => typeof content === "string" && /^[A-Za-z0-9+/_-]*={0,2}$/.test(content),
  },
  [ScalarType.BOOL]: TRUTH,
  [ScalarType.DOUBLE]: NUMBER,
  [ScalarType.FLOAT]: NUMBER,
  [ScalarType.INT32]: INT32,
  [ScalarType.SINT32]: INT32,
  [ScalarType.SFIXED32]: INT32,
  [ScalarType.UINT32]: UINT32,
  [ScalarType.FIXED32]: UINT32,
  [ScalarType.INT64]: INT64,
  [ScalarType.SINT64]: INT64,
  [ScalarType.SFIXED64]: INT64,
  [ScalarType.UINT64]: UINT64,
  [ScalarType.FIXED64]: UINT64,
};

function fieldNamed(schema: DescMessage, key: string): DescField | undefined {
  return schema.fields.find((field) => field.jsonName === key || field.name === key);
}

function unknownName(type: DescEnum, content: unknown, path: string): string | undefined {
  if (Number.isInteger(content)) return undefined;
  if (type.values.some(({ name }) => name === content)) return undefined;
  const names = type.values.filter(({ number }) => number !== 0).map(({ name }) => name);
  return `${path} ${shown(content)} is not known; use ${names.join(" or ")}`;
}

function unknownField(schema: DescMessage, key: string, within: string): string {
  const names = schema.fields.map((field) => field.jsonName);
  const path = JSON.stringify(`${within}${key}`.slice(0, 120));
  const hint = nearest(key, names);
  if (hint !== undefined) return `unknown field ${path}; did you mean ${hint}?`;
  return names.length === 0
    ? `unknown field ${path}; this request has no fields`
    : `unknown field ${path}; the known fields are ${names.join(", ")}`;
}

/** A value as an error message shows it: shortened. */
function shown(content: unknown): string {
  if (typeof content === "string") return JSON.stringify(content.slice(0, 120));
  if (isObject(content)) return "an object";
  if (Array.isArray(content)) return "an array";
  return String(content);
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
