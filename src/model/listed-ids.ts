/**
 * The order in which ids are listed: by their UTF-8 bytes, and an id behind all ids that begin with
 * it. It is the order of the keys that begin with an id and a byte that no UTF-8 has. Pure.
 */
import { utf8 } from "../lib/bytes.ts";

export function compareListedIds(a: string, b: string): number {
  const [left, right] = [utf8(a), utf8(b)];
  const length = Math.min(left.length, right.length);
  for (let at = 0; at < length; at++) {
    const difference = (left[at] as number) - (right[at] as number);
    if (difference !== 0) return difference;
  }
  return right.length - left.length;
}
