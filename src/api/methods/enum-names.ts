/** Values of enums in a request, as the names the code works with. */
import type { Problems } from "../../lib/problems.ts";

/** The name of an enum's value. UNSPECIFIED is as good as not given; any other number can come over the wire. */
export function nameOf<E extends number, N extends string>(
  value: E | undefined,
  names: ReadonlyMap<E, N>,
  field: string,
  problems: Problems,
): N | undefined {
  if (value === undefined || value === 0) return undefined;
  const name = names.get(value);
  if (name === undefined) problems.add(`${field} must be ${[...names.values()].join(" or ")}`);
  return name;
}
