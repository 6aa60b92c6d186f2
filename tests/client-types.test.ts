/**
 * The client's types as generated from a proto: which fields may be absent, and which are strings.
 */
import { match } from "node:assert/strict";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import {
  FieldDescriptorProto_Label,
  FieldDescriptorProto_Type,
  FileDescriptorProtoSchema,
} from "@bufbuild/protobuf/wkt";
import { clientTypes } from "../scripts/generate/client-types.ts";

const { STRING, UINT32, UINT64, MESSAGE, ENUM } = FieldDescriptorProto_Type;
const field = (jsonName: string, type: FieldDescriptorProto_Type, more: object = {}) => ({
  name: jsonName,
  jsonName,
  type,
  ...more,
});
const OPTIONAL = { oneofIndex: 0, proto3Optional: true };
const WIDTH = { typeName: ".braid.v1.Width" };

const file = create(FileDescriptorProtoSchema, {
  name: "braid/v1/a.proto",
  package: "braid.v1",
  messageType: [
    {
      name: "Slice",
      field: [
        field("name", STRING),
        field("bytes", UINT64),
        field("end", MESSAGE, { typeName: ".google.protobuf.Timestamp", ...OPTIONAL }),
        field("width", MESSAGE, WIDTH),
        field("status", ENUM, { typeName: ".braid.v1.Slice.Status" }),
      ],
      enumType: [
        {
          name: "Status",
          value: [
            { name: "UNSPECIFIED", number: 0 },
            { name: "ACTIVE", number: 1 },
          ],
        },
      ],
    },
    { name: "Width", field: [field("seconds", UINT32, OPTIONAL)] },
    {
      name: "SetWidthsRequest",
      field: [
        field("widths", MESSAGE, { ...WIDTH, label: FieldDescriptorProto_Label.REPEATED }),
        field("reason", STRING),
      ],
    },
  ],
  service: [
    {
      name: "Widths",
      method: [
        { name: "Set", inputType: ".braid.v1.SetWidthsRequest", outputType: ".braid.v1.Slice" },
      ],
    },
  ],
});
const types = clientTypes([file], { "braid.v1.Slice.name": "As people name it." });

test("64-bit numbers and times are strings, and only an optional field may be absent", () => {
  match(
    types,
    /interface Slice \{\n {2}\/\*\* As people name it\. \*\/\n {2}readonly name: string;/,
  );
  match(types, /readonly bytes: string;\n {2}readonly end\?: string;/);
});

test("settings, all optional in the proto, are complete in an answer", () => {
  match(types, /interface Width \{\n {2}readonly seconds: number;\n\}/);
});

test("a request may omit any field, also in nested messages", () => {
  match(types, /readonly widths\?: readonly Given<Width>\[\];\n {2}readonly reason\?: string;/);
});

test("an enum is the union of its names without the zero value, scoped by its message", () => {
  match(types, /type SliceStatus =\n {2}\| "ACTIVE";/);
});

test("a service is a table of the requests and answers of its methods", () => {
  match(types, /readonly Set: \{ request: SetWidthsRequest; answer: Slice \};/);
});
