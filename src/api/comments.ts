/**
 * The comments of the proto files on services, methods, messages, fields and enum values, by full
 * name.
 */
import { readFileSync } from "node:fs";
import type {
  DescEnum,
  DescEnumValue,
  DescField,
  DescMessage,
  DescMethod,
  DescService,
} from "@bufbuild/protobuf";

type Commented = DescService | DescMethod | DescMessage | DescField | DescEnum | DescEnumValue;

// scripts/generate.ts writes it as an object of strings.
const COMMENTS = new Map(
  Object.entries(
    JSON.parse(readFileSync(new URL("../gen/comments.json", import.meta.url), "utf8")) as Record<
      string,
      string
    >,
  ),
);

/** Returns "" if there is no comment. */
export function commentOf(desc: Commented): string {
  return COMMENTS.get(fullName(desc)) ?? "";
}

function fullName(desc: Commented): string {
  switch (desc.kind) {
    case "service":
    case "message":
    case "enum":
      return desc.typeName;
    case "rpc":
    case "field":
    case "enum_value":
      return `${desc.parent.typeName}.${desc.name}`;
  }
}
