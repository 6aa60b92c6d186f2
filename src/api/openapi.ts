/** The API as OpenAPI 3.1, from the same descriptors that the server answers by. */
import type { DescEnum, DescField, DescMessage, DescMethod } from "@bufbuild/protobuf";
import { ScalarType } from "@bufbuild/protobuf";
import { CODES } from "../lib/errors.ts";
import type { Code } from "../lib/errors.ts";
import { commentOf } from "./comments.ts";
import { EXAMPLES } from "./examples.ts";
import { pathOf } from "./methods/method.ts";

type Json = Readonly<Record<string, unknown>>;

export function openApi(methods: readonly DescMethod[]): Json {
  const schemas: Record<string, Json> = { Error: errorSchema() };
  const paths = Object.fromEntries(
    methods.map((method) => [pathOf({ desc: method }), { post: operation(method, schemas) }]),
  );
  const services = [...new Set(methods.map((method) => method.parent))];
  return {
    openapi: "3.1.0",
    info: {
      title: "Braid",
      version: "v1",
      summary: "A time-series event store that keeps its own partitions at a healthy width.",
      description:
        "Every method is also answered over gRPC on the same port, with reflection, and over the Connect protocol. " +
        "A connect-protocol-version header selects Connect's error shape. Names are lowerCamelCase; " +
        "snake_case is understood too. Bytes are base64, times RFC 3339 with at most microseconds, durations " +
        '`"3600s"`, 64-bit integers strings. Unknown fields are errors.',
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: "/" }],
    tags: services.map((service) => ({ name: service.name, description: commentOf(service) })),
    paths,
    components: { schemas, parameters: PARAMETERS, responses: errorResponses() },
  };
}

/** What a method does, in a sentence, even without a comment in the proto file. */
export function summaryOf(method: DescMethod): string {
  const comment = commentOf(method);
  return comment === "" ? `${method.name.replace(/([a-z])([A-Z])/g, "$1 $2")}.` : comment;
}

/** The codes of the error table, by HTTP status. */
export function codesByStatus(): ReadonlyMap<number, readonly Code[]> {
  const byStatus = new Map<number, Code[]>();
  // Object.keys returns strings, but these keys are the codes.
  for (const code of Object.keys(CODES) as Code[]) {
    const { http } = CODES[code];
    byStatus.set(http, [...(byStatus.get(http) ?? []), code]);
  }
  return byStatus;
}

function operation(method: DescMethod, schemas: Record<string, Json>): Json {
  const example = EXAMPLES[method.name];
  const answer = messageRef(method.output, schemas);
  const streams = method.methodKind === "server_streaming";
  const lines = {
    "application/x-ndjson": {
      schema: {
        type: "object",
        description:
          "One per line: a result, or, as the last line, the error that ended the stream.",
        properties: { result: answer, error: { $ref: "#/components/schemas/Error" } },
      },
      ...(example && { example: { result: example.answer } }),
    },
  };
  return {
    operationId: method.name,
    tags: [method.parent.name],
    summary: summaryOf(method),
    parameters: [
      { $ref: "#/components/parameters/timeout" },
      { $ref: "#/components/parameters/requestId" },
      ...(method.parent.name === "ControlService"
        ? [{ $ref: "#/components/parameters/operator" }]
        : []),
    ],
    requestBody: {
      required: true,
      content: {
        "application/json": {
          schema: messageRef(method.input, schemas),
          ...(example && { example: example.request }),
        },
      },
    },
    responses: {
      200: {
        description: streams ? "Pages, one per line, until the end." : "Done.",
        content: streams
          ? lines
          : { "application/json": { schema: answer, ...(example && { example: example.answer }) } },
      },
      ...Object.fromEntries(
        [...codesByStatus().keys()].map((status) => [
          status,
          { $ref: `#/components/responses/Error${status}` },
        ]),
      ),
    },
  };
}

function messageRef(message: DescMessage, schemas: Record<string, Json>): Json {
  const wellKnown = WELL_KNOWN[message.typeName];
  if (wellKnown !== undefined) return wellKnown;
  const name = message.typeName.replace(/^braid\.v1\./, "");
  if (schemas[name] === undefined) {
    // Registered first, so that a message nested in itself ends the recursion.
    schemas[name] = {};
    schemas[name] = {
      type: "object",
      ...described(commentOf(message)),
      properties: Object.fromEntries(
        message.fields.map((field) => [field.jsonName, fieldSchema(field, schemas)]),
      ),
      additionalProperties: false,
    };
  }
  return { $ref: `#/components/schemas/${name}` };
}

function fieldSchema(field: DescField, schemas: Record<string, Json>): Json {
  const comment = described(commentOf(field));
  switch (field.fieldKind) {
    case "scalar":
      return { ...SCALARS[field.scalar], ...comment };
    case "enum":
      return { ...enumSchema(field.enum), ...comment };
    case "message":
      return { ...messageRef(field.message, schemas), ...comment };
    case "list": {
      const items =
        field.listKind === "message"
          ? messageRef(field.message, schemas)
          : field.listKind === "enum"
            ? enumSchema(field.enum)
            : SCALARS[field.scalar];
      return { type: "array", items, ...comment };
    }
    case "map":
      return { type: "object", ...comment };
  }
}

function enumSchema(type: DescEnum): Json {
  const values = type.values.filter((value) => value.number !== 0);
  return { type: "string", enum: values.map((value) => value.name) };
}

function described(comment: string): Json {
  return comment === "" ? {} : { description: comment };
}

const WELL_KNOWN: Readonly<Record<string, Json>> = {
  "google.protobuf.Timestamp": {
    type: "string",
    format: "date-time",
    examples: ["2026-11-15T10:00:00.000001Z"],
  },
  "google.protobuf.Duration": {
    type: "string",
    pattern: "^\\d+(\\.\\d{1,9})?s$",
    examples: ["3600s"],
  },
};

const INTEGER = { type: "integer" };
const INTEGER_TEXT = { type: "string", pattern: "^-?\\d+$" };
const NUMBER = { type: "number" };

const SCALARS: Readonly<Record<ScalarType, Json>> = {
  [ScalarType.STRING]: { type: "string" },
  [ScalarType.BYTES]: { type: "string", contentEncoding: "base64" },
  [ScalarType.BOOL]: { type: "boolean" },
  [ScalarType.DOUBLE]: NUMBER,
  [ScalarType.FLOAT]: NUMBER,
  [ScalarType.INT32]: INTEGER,
  [ScalarType.UINT32]: { ...INTEGER, minimum: 0 },
  [ScalarType.SINT32]: INTEGER,
  [ScalarType.FIXED32]: { ...INTEGER, minimum: 0 },
  [ScalarType.SFIXED32]: INTEGER,
  [ScalarType.INT64]: INTEGER_TEXT,
  [ScalarType.UINT64]: { type: "string", pattern: "^\\d+$" },
  [ScalarType.SINT64]: INTEGER_TEXT,
  [ScalarType.FIXED64]: { type: "string", pattern: "^\\d+$" },
  [ScalarType.SFIXED64]: INTEGER_TEXT,
};

const PARAMETERS: Json = {
  timeout: {
    name: "braid-timeout-ms",
    in: "header",
    description: "How long the caller waits, in milliseconds. Default: 60,000.",
    schema: { type: "integer", minimum: 1 },
  },
  requestId: {
    name: "braid-request-id",
    in: "header",
    description: "The caller's id for this request. The answer and the server's log show it.",
    schema: { type: "string", maxLength: 128 },
  },
  operator: {
    name: "braid-operator",
    in: "header",
    description:
      "The operator's name for histories, pauses, read modes and the kill switch: printable ASCII. Nothing " +
      'verifies it. Default: "operator".',
    schema: { type: "string", maxLength: 128 },
  },
};

function errorSchema(): Json {
  return {
    type: "object",
    description: "What went wrong and what to do.",
    required: ["code", "message", "details"],
    properties: {
      code: { type: "string", enum: Object.keys(CODES) },
      message: { type: "string" },
      details: { type: "object", additionalProperties: true },
    },
    examples: [
      {
        code: "NAMESPACE_NOT_FOUND",
        message: "there is no namespace plays; create it with CreateNamespace",
        details: { namespace: "plays" },
      },
    ],
  };
}

function errorResponses(): Json {
  return Object.fromEntries(
    [...codesByStatus()].map(([status, codes]) => {
      const retry = codes.some((code) => CODES[code].retry);
      return [
        `Error${status}`,
        {
          description: codes.join(", "),
          ...(retry && {
            headers: {
              "Retry-After": {
                description: "Seconds to wait before a retry.",
                schema: { type: "integer" },
              },
            },
          }),
          content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } },
        },
      ];
    }),
  );
}
