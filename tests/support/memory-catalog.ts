/**
 * The catalog's contract in memory, for tests of code that uses it, with a hook to inject faults.
 */
import { compareBytes, utf8 } from "../../src/lib/bytes.ts";
import type { Catalog, CatalogRecord, CatalogVersion } from "../../src/ports/catalog.ts";

export type CatalogCall = "read" | "list" | "versions" | "write" | "remove";

export class MemoryCatalog implements Catalog {
  readonly shared: boolean;
  readonly #spaces = new Map<string, Map<string, CatalogRecord>>();
  #version = 0;
  /**
   * Called before each operation; if it throws, the operation rejects with that error and has no
   * effect.
   */
  before: (call: CatalogCall, space: string, key: string) => void | Promise<void> = () => undefined;

  /** Called with each change: the record before and after it. */
  changed: (
    space: string,
    before: CatalogRecord | undefined,
    after: CatalogRecord | undefined,
  ) => void = () => undefined;

  constructor(options: { shared?: boolean } = {}) {
    this.shared = options.shared ?? false;
  }

  async read(space: string, key: string): Promise<CatalogRecord | undefined> {
    await this.before("read", space, key);
    return this.#spaces.get(space)?.get(key);
  }

  async list(space: string, after: string, limit: number): Promise<readonly CatalogRecord[]> {
    await this.before("list", space, after);
    return this.#sorted(space, after, limit);
  }

  async versions(space: string, after: string, limit: number): Promise<readonly CatalogVersion[]> {
    await this.before("versions", space, after);
    return this.#sorted(space, after, limit).map(({ key, version }) => ({ key, version }));
  }

  #sorted(space: string, after: string, limit: number): CatalogRecord[] {
    const records = [...(this.#spaces.get(space)?.values() ?? [])];
    return records
      .filter((record) => compareText(record.key, after) > 0)
      .toSorted((a, b) => compareText(a.key, b.key))
      .slice(0, limit);
  }

  async write(
    space: string,
    key: string,
    value: string,
    expected: number,
  ): Promise<number | undefined> {
    await this.before("write", space, key);
    const records = this.#spaces.get(space) ?? new Map<string, CatalogRecord>();
    const there = records.get(key);
    if ((there?.version ?? 0) !== expected) return undefined;
    // One counter for all keys: greater than every version any key ever had.
    const version = ++this.#version;
    const record = { key, value, version };
    records.set(key, record);
    this.#spaces.set(space, records);
    this.changed(space, there, record);
    return version;
  }

  async remove(space: string, key: string, expected: number): Promise<boolean> {
    await this.before("remove", space, key);
    const records = this.#spaces.get(space);
    const there = records?.get(key);
    if (there?.version !== expected) return false;
    this.changed(space, there, undefined);
    return records?.delete(key) === true;
  }

  /** The records of a space, for assertions; does not call `before`. */
  peek(space: string): readonly CatalogRecord[] {
    return [...(this.#spaces.get(space)?.values() ?? [])];
  }

  /** All records, for assertions. */
  dump(): string[] {
    return [...this.#spaces].flatMap(([space, records]) =>
      [...records.keys()].map((key) => `${space}/${key}`),
    );
  }
}

function compareText(a: string, b: string): number {
  return compareBytes(utf8(a), utf8(b));
}
