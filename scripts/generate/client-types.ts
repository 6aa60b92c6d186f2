/**
 * The client's message types: what the API takes and answers in proto3 JSON, as plain TypeScript
 * types without imports. 64-bit numbers, times, durations and bytes are text; enums are their
 * names.
 *
 * The proto says which fields an answer may lack, in two rules:
 * - A field that is `optional`, or one of several, may be absent. Every other field is always
 * there, also at its default.
 * - A message whose fields are all `optional` holds settings: a request gives some, an answer has
 * all.
 *
 * A request may leave out any field, so its nested messages are `Given`.
 */
import { isFieldSet } from "@bufbuild/protobuf";
import {
  FieldDescriptorProto_Label,
  FieldDescriptorProto_Type,
  FieldDescriptorProtoSchema,
} from "@bufbuild/protobuf/wkt";
import type {
  DescriptorProto,
  EnumDescriptorProto,
  FieldDescriptorProto,
  FileDescriptorProto,
  ServiceDescriptorProto,
} from "@bufbuild/protobuf/wkt";

type Comments = Readonly<Record<string, string>>;

export function clientTypes(files: readonly FileDescriptorProto[], comments: Comments): string {
  const writer = new TypeWriter(comments);
  for (const file of files.toSorted((a, b) => (a.name < b.name ? -1 : 1))) writer.addFile(file);
  return writer.text();
}

class TypeWriter {
  readonly #comments: Comments;
  readonly #blocks: string[] = [];
  readonly #names = new Set<string>();

  constructor(comments: Comments) {
    this.#comments = comments;
  }

  text(): string {
    return `${[HEAD, ...this.#blocks].join("\n\n")}\n`;
  }

  addFile({ package: scope, service, messageType, enumType }: FileDescriptorProto): void {
    for (const each of service) this.#addService(each, scope);
    for (const each of messageType) this.#addMessage(each, `${scope}.${each.name}`);
    for (const each of enumType) this.#addEnum(each, `${scope}.${each.name}`);
  }

  #addService({ name, method }: ServiceDescriptorProto, scope: string): void {
    const full = `${scope}.${name}`;
    const lines = method.map((each) => {
      const types = `request: ${typeName(each.inputType)}; answer: ${typeName(each.outputType)}`;
      return `${this.#comment(`${full}.${each.name}`, "  ")}  readonly ${each.name}: { ${types} };`;
    });
    this.#add(`${name}Methods`, `interface ${name}Methods {\n${lines.join("\n")}\n}`, full);
  }

  #addMessage(message: DescriptorProto, full: string): void {
    const name = typeName(full);
    const nested = message.nestedType.length + message.enumType.length > 0;
    if (message.field.length > 0) {
      const fields = this.#fields(message, full);
      this.#add(name, `interface ${name} {\n${fields.join("\n")}\n}`, full);
    } else if (!nested) {
      this.#add(name, `type ${name} = Readonly<Record<string, never>>;`, full);
    }
    for (const each of message.enumType) this.#addEnum(each, `${full}.${each.name}`);
    for (const each of message.nestedType) this.#addMessage(each, `${full}.${each.name}`);
  }

  #fields({ name, field }: DescriptorProto, full: string): string[] {
    const request = name.endsWith("Request");
    const settings = field.every(({ proto3Optional }) => proto3Optional);
    return field.map((each) => {
      const absent = request || (isFieldSet(each, ONE_OF) && !settings) ? "?" : "";
      const type = fieldType(each, request);
      const comment = this.#comment(`${full}.${each.name}`, "  ");
      return `${comment}  readonly ${each.jsonName}${absent}: ${type};`;
    });
  }

  #addEnum({ value }: EnumDescriptorProto, full: string): void {
    const name = typeName(full);
    // The zero stands for "not given", which neither an answer nor a sensible request has.
    const names = value.filter(({ number }) => number !== 0);
    const lines = names.map((each) => {
      return `${this.#comment(`${full}.${each.name}`, "  ")}  | "${each.name}"`;
    });
    this.#add(name, `type ${name} =\n${lines.join("\n")};`, full);
  }

  #add(name: string, declaration: string, full: string): void {
    if (this.#names.has(name)) throw new Error(`two types of the proto are named ${name}`);
    this.#names.add(name);
    this.#blocks.push(`${this.#comment(full, "")}export ${declaration}`);
  }

  #comment(full: string, indent: string): string {
    const lines = this.#comments[full]?.split("\n") ?? [];
    if (lines.length === 0) return "";
    if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`;
    return `${indent}/**\n${lines.map((line) => `${indent} * ${line}`.trimEnd()).join("\n")}\n${indent} */\n`;
  }
}

const HEAD = `/**
 * The messages of the API in proto3 JSON. Generated from proto/ by scripts/generate.ts: do not edit.
 *
 * 64-bit numbers are decimal text, times RFC 3339 text, durations text such as "600s", bytes base64.
 */

/** What a request may leave out: everything. What is left out keeps its value, or its default. */
export type Given<T> = T extends readonly (infer E)[]
  ? readonly Given<E>[]
  : T extends object
    ? { readonly [K in keyof T]?: Given<T[K]> | undefined }
    : T;`;

/** `braid.v1.Split.State` is `SplitState`: JSON has no scopes. */
function typeName(full: string): string {
  return full
    .replace(/^\./, "")
    .replace(/^braid\.v1\./, "")
    .replaceAll(".", "");
}

function fieldType(field: FieldDescriptorProto, request: boolean): string {
  const one = valueType(field);
  const given = request && field.type === TYPE.MESSAGE && one !== "string" ? `Given<${one}>` : one;
  return field.label === FieldDescriptorProto_Label.REPEATED ? `readonly ${given}[]` : given;
}

const TYPE = FieldDescriptorProto_Type;
/** Set for an `optional` field too: it is alone in its oneof. */
const ONE_OF = FieldDescriptorProtoSchema.field.oneofIndex;

function valueType(field: FieldDescriptorProto): string {
  if (TEXTS.has(field.typeName) || TEXT_TYPES.has(field.type)) return "string";
  if (field.type === TYPE.MESSAGE || field.type === TYPE.ENUM) {
    if (field.typeName.startsWith(".braid.v1.")) return typeName(field.typeName);
    throw new Error(`${field.name}: the client has no type for ${field.typeName}`);
  }
  return field.type === TYPE.BOOL ? "boolean" : "number";
}

/** Messages that are text in JSON. */
const TEXTS = new Set([".google.protobuf.Timestamp", ".google.protobuf.Duration"]);
const TEXT_TYPES = new Set([
  TYPE.STRING,
  TYPE.BYTES,
  TYPE.INT64,
  TYPE.UINT64,
  TYPE.SINT64,
  TYPE.FIXED64,
  TYPE.SFIXED64,
]);
