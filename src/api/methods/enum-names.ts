/** Translates enum values of a request into the names that the code uses. */
import type { Problems } from "../../lib/problems.ts";

/**
 * The name of an enum value. UNSPECIFIED counts as not given. Any other number can arrive over
 * gRPC.
 */
export function nameOf<E extends number, N extends string>(
  value: E | undefined,
  names: ReadonlyMap<E, N>,
  field: string,
  problems: Problems,
): N | undefined {
  if (value === undefined || value === 0) return undefined;
  const name = names.get(value);
  if (name === undefined) {
    problems.add(`${field} must be ${[...names.values()].join(" or ")}`, field);
  }
  return name;
}
