/** Finds every field and name of a JSON body that its message does not have, before the rest is looked at. */
import type { DescEnum, DescField, DescMessage } from "@bufbuild/protobuf";
import { Problems } from "../../lib/problems.ts";
import { nearest } from "../../lib/nearest.ts";

/** Throws REQUEST_INVALID that names all unknown fields, and unknown names of enums, by their path. Types are left to the decoder. */
export function checkJsonFields(schema: DescMessage, value: unknown): void {
  const problems = new Problems();
  collect(schema, value, "", problems);
  problems.throwIfAny("REQUEST_INVALID");
}

function collect(schema: DescMessage, value: unknown, path: string, problems: Problems): void {
  // Timestamp, Duration and their like have a JSON form of their own.
  if (schema.typeName.startsWith("google.protobuf.")) return;
  if (typeof value !== "object" || value === null || Array.isArray(value)) return;
  for (const [key, content] of Object.entries(value)) {
    const field = fieldNamed(schema, key);
    if (field === undefined) {
      // Looking for the nearest name costs: not for what will not be listed.
      problems.add(problems.isFull ? "" : unknownField(schema, key, path));
      continue;
    }
    if (field.fieldKind === "message") {
      collect(field.message, content, `${path}${key}.`, problems);
    } else if (field.fieldKind === "enum") {
      const problem = unknownName(field.enum, content, `${path}${key}`);
      if (problem !== undefined) problems.add(problem);
    } else if (field.fieldKind === "list" && field.listKind === "message") {
      if (!Array.isArray(content)) continue;
      content.forEach((item, i) => collect(field.message, item, `${path}${key}[${i}].`, problems));
    }
  }
}

function fieldNamed(schema: DescMessage, key: string): DescField | undefined {
  return schema.fields.find((field) => field.jsonName === key || field.name === key);
}

function unknownName(type: DescEnum, content: unknown, path: string): string | undefined {
  if (typeof content !== "string") return undefined;
  if (type.values.some(({ name }) => name === content)) return undefined;
  const names = type.values.filter(({ number }) => number !== 0).map(({ name }) => name);
  return `${path} ${JSON.stringify(content.slice(0, 120))} is not known; it is ${names.join(" or ")}`;
}

function unknownField(schema: DescMessage, key: string, path: string): string {
  const names = schema.fields.map((field) => field.jsonName);
  const shown = JSON.stringify(`${path}${key}`.slice(0, 120));
  const hint = nearest(key, names);
  if (hint !== undefined) return `unknown field ${shown}; did you mean ${hint}?`;
  return names.length === 0
    ? `unknown field ${shown}; this request has no fields`
    : `unknown field ${shown}; known are ${names.join(", ")}`;
}
