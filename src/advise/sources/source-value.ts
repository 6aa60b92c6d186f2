/** A value of a JSON line or of Parquet. A nested value is one value, as text. Pure. */
import type { Value } from "../row-source.ts";

export function sourceValue(value: unknown): Value {
  if (value === null || value === undefined) return null;
  if (value instanceof Date || value instanceof Uint8Array) return value;
  switch (typeof value) {
    case "string":
    case "number":
    case "bigint":
    case "boolean":
      return value;
    default:
      return JSON.stringify(value, (_, each: unknown) =>
        typeof each === "bigint" ? `${each}` : each,
      );
  }
}
