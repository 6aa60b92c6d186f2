/** What the proto files say about a service, method, message, field or enum value, by its full name. */
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

// Written by scripts/generate.ts as an object of texts.
const COMMENTS = new Map(
  Object.entries(
    JSON.parse(readFileSync(new URL("../gen/comments.json", import.meta.url), "utf8")) as Record<
      string,
      string
    >,
  ),
);

/** "" if there is none. */
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
