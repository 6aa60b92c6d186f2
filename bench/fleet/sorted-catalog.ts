/** A catalog in memory for millions of records: each space keeps its keys sorted. */
import { compareBytes, utf8 } from "../../src/lib/bytes.ts";
import type { Catalog, CatalogRecord, CatalogVersion } from "../../src/ports/catalog.ts";

interface Space {
  readonly records: Map<string, CatalogRecord>;
  /** Undefined after a key was added or removed. */
  sorted: readonly string[] | undefined;
}

export class SortedCatalog implements Catalog {
  readonly shared = false;
  readonly #spaces = new Map<string, Space>();
  #version = 0;

  async read(space: string, key: string): Promise<CatalogRecord | undefined> {
    return this.#spaces.get(space)?.records.get(key);
  }

  async list(space: string, after: string, limit: number): Promise<readonly CatalogRecord[]> {
    const found = this.#spaces.get(space);
    if (found === undefined) return [];
    found.sorted ??= [...found.records.keys()].sort((a, b) => compareBytes(utf8(a), utf8(b)));
    const { sorted, records } = found;
    const page = sorted.slice(firstBehind(sorted, after), firstBehind(sorted, after) + limit);
    return page.flatMap((key) => records.get(key) ?? []);
  }

  async versions(space: string, after: string, limit: number): Promise<readonly CatalogVersion[]> {
    const page = await this.list(space, after, limit);
    return page.map(({ key, version }) => ({ key, version }));
  }

  async write(
    space: string,
    key: string,
    value: string,
    expected: number,
  ): Promise<number | undefined> {
    const found = this.#spaces.get(space) ?? newSpace();
    this.#spaces.set(space, found);
    const there = found.records.get(key);
    if ((there?.version ?? 0) !== expected) return undefined;
    if (there === undefined) found.sorted = undefined;
    const version = ++this.#version;
    found.records.set(key, { key, value, version });
    return version;
  }

  async remove(space: string, key: string, expected: number): Promise<boolean> {
    const found = this.#spaces.get(space);
    if (found?.records.get(key)?.version !== expected) return false;
    found.records.delete(key);
    found.sorted = undefined;
    return true;
  }
}

/** The keys of a fleet are ASCII, so their order as strings is that of their bytes. */
function firstBehind(sorted: readonly string[], after: string): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] as string) > after) high = middle;
    else low = middle + 1;
  }
  return low;
}

function newSpace(): Space {
  return { records: new Map(), sorted: undefined };
}
