/**
 * The catalog of a simulated world. Keys of a space are kept in order, so that a list costs only
 * what it returns. Tells a listener of every change.
 */
import { compareBytes, utf8 } from "../../src/lib/bytes.ts";
import type { Catalog, CatalogRecord, CatalogVersion } from "../../src/ports/catalog.ts";

interface Space {
  readonly records: Map<string, CatalogRecord>;
  /** In order. */
  readonly keys: string[];
}

export type CatalogListener = (
  space: string,
  before: CatalogRecord | undefined,
  after: CatalogRecord | undefined,
) => void;

export class SimCatalog implements Catalog {
  readonly shared = true;
  readonly #spaces = new Map<string, Space>();
  #version = 0;
  changed: CatalogListener = () => undefined;

  async read(space: string, key: string): Promise<CatalogRecord | undefined> {
    return this.#spaces.get(space)?.records.get(key);
  }

  async list(space: string, after: string, limit: number): Promise<readonly CatalogRecord[]> {
    const found = this.#spaces.get(space);
    if (found === undefined) return [];
    const from = firstBehind(found.keys, after);
    return found.keys
      .slice(from, from + limit)
      .map((key) => found.records.get(key) as CatalogRecord);
  }

  async versions(space: string, after: string, limit: number): Promise<readonly CatalogVersion[]> {
    const records = await this.list(space, after, limit);
    return records.map(({ key, version }) => ({ key, version }));
  }

  async write(
    space: string,
    key: string,
    value: string,
    expected: number,
  ): Promise<number | undefined> {
    const there = this.#spaces.get(space)?.records.get(key);
    if ((there?.version ?? 0) !== expected) return undefined;
    const found = this.#spaces.get(space) ?? { records: new Map(), keys: [] };
    this.#spaces.set(space, found);
    const record = { key, value, version: ++this.#version };
    if (there === undefined) found.keys.splice(firstBehind(found.keys, key), 0, key);
    found.records.set(key, record);
    this.changed(space, there, record);
    return record.version;
  }

  async remove(space: string, key: string, expected: number): Promise<boolean> {
    const found = this.#spaces.get(space);
    const there = found?.records.get(key);
    if (found === undefined || there?.version !== expected) return false;
    found.records.delete(key);
    found.keys.splice(firstBehind(found.keys, key) - 1, 1);
    this.changed(space, there, undefined);
    return true;
  }
}

/** The place of the first key behind this one. */
function firstBehind(keys: readonly string[], key: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareKeys(keys[middle] as string, key) <= 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

const ASCII = /^[\0-\x7f]*$/;

/** As UTF-8; for ASCII, JavaScript's order is the same. */
function compareKeys(a: string, b: string): number {
  if (a === b) return 0;
  if (ASCII.test(a) && ASCII.test(b)) return a < b ? -1 : 1;
  return compareBytes(utf8(a), utf8(b));
}
