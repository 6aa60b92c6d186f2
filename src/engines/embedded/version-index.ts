/**
 * The versions of all records of a space, in the order of their keys.
 *
 * Several tasks ask every few seconds which of thousands of namespaces have changed, and LevelDB
 * would read and check every value for that. One process owns the catalog, so it can know the
 * versions: they are listed once, and follow each change that this process stores.
 */
import { compareBytes, utf8 } from "../../lib/bytes.ts";
import type { CatalogVersion } from "../../ports/catalog.ts";

export class VersionIndex {
  readonly #versions = new Map<string, number>();
  /** Changes that were stored while the space was being listed; 0: removed. */
  #meanwhile: Map<string, number> | undefined = new Map();
  /** Undefined after a key was added or removed. */
  #sorted: readonly string[] | undefined;
  readonly #loading: Promise<void>;

  /** `list`: the whole space; it has at least what was stored before the call. */
  constructor(list: () => Promise<readonly CatalogVersion[]>) {
    this.#loading = this.#load(list);
    // The next call of `versions` rejects with it.
    this.#loading.catch(() => undefined);
  }

  /** At most `limit` behind `after`. Rejects if the space could not be listed. */
  async versions(after: string, limit: number): Promise<readonly CatalogVersion[]> {
    await this.#loading;
    this.#sorted ??= [...this.#versions.keys()]
      .map((key) => ({ key, bytes: utf8(key) }))
      .sort((a, b) => compareBytes(a.bytes, b.bytes))
      .map(({ key }) => key);
    const first = after === "" ? 0 : firstBehind(this.#sorted, utf8(after));
    return this.#sorted
      .slice(first, first + limit)
      .map((key) => ({ key, version: this.#versions.get(key) ?? 0 }));
  }

  /** This change is stored. `version` 0: the record is removed. Changes of one key come in order. */
  stored(key: string, version: number): void {
    if (this.#meanwhile === undefined) this.#set(key, version);
    else this.#meanwhile.set(key, version);
  }

  async #load(list: () => Promise<readonly CatalogVersion[]>): Promise<void> {
    for (const { key, version } of await list()) this.#set(key, version);
    for (const [key, version] of this.#meanwhile ?? []) this.#set(key, version);
    this.#meanwhile = undefined;
  }

  #set(key: string, version: number): void {
    if (version === 0) {
      if (this.#versions.delete(key)) this.#sorted = undefined;
      return;
    }
    if (!this.#versions.has(key)) this.#sorted = undefined;
    this.#versions.set(key, version);
  }
}

function firstBehind(sorted: readonly string[], after: Uint8Array): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareBytes(utf8(sorted[middle] ?? ""), after) > 0) high = middle;
    else low = middle + 1;
  }
  return low;
}
