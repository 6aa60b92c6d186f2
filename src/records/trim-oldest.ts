/** Bounds a space with a record for each slice. */
import type { Catalog } from "../ports/catalog.ts";

/** Records of one call: bounds the answer of the catalog. */
const PAGE = 50;

/**
 * Removes the oldest slices' records above `keptMax`; returns their names. Names of slices sort by
 * their start: `data_20260328`, `data_20260328_1430`.
 */
export async function trimOldest(
  catalog: Catalog,
  space: string,
  keptMax: number,
): Promise<string[]> {
  const keys: { readonly key: string; readonly version: number }[] = [];
  for (let after = ""; ;) {
    const page = await catalog.list(space, after, PAGE);
    for (const { key, version } of page) keys.push({ key, version });
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) break;
    after = last.key;
  }
  const removed: string[] = [];
  for (const { key, version } of keys.slice(0, Math.max(0, keys.length - keptMax))) {
    if (await catalog.remove(space, key, version)) removed.push(key);
  }
  return removed;
}
