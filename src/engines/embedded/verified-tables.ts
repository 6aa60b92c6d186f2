/**
 * Which table files this process has verified. LevelDB never changes a table once it is written, so
 * a table with unchanged size, times and inode is not read again when its store reopens.
 */
import type { BigIntStats } from "node:fs";

interface Verified {
  readonly identity: string;
  readonly atMs: number;
}

export class VerifiedTables {
  /** By path of the store's directory, then by file name. */
  readonly #byDirectory = new Map<string, Map<string, Verified>>();

  has(directory: string, name: string, stats: BigIntStats): boolean {
    return this.#byDirectory.get(directory)?.get(name)?.identity === identityOf(stats);
  }

  add(directory: string, name: string, stats: BigIntStats, atMs: number): void {
    let tables = this.#byDirectory.get(directory);
    if (tables === undefined)
      this.#byDirectory.set(directory, (tables = new Map<string, Verified>()));
    tables.set(name, { identity: identityOf(stats), atMs });
  }

  remove(directory: string, name: string): void {
    this.#byDirectory.get(directory)?.delete(name);
  }

  /** Forgets every table of a store except the named ones: compactions have removed the others. */
  keepOnly(directory: string, names: ReadonlySet<string>): void {
    const tables = this.#byDirectory.get(directory);
    for (const name of tables?.keys() ?? []) if (!names.has(name)) tables?.delete(name);
  }

  /** Forgets a store: it is dropped, or damage was found in it. */
  forget(directory: string): void {
    this.#byDirectory.delete(directory);
  }

  /** The tables that were verified at `untilMs` or before, longest ago first. */
  verifiedBefore(untilMs: number): { readonly directory: string; readonly name: string }[] {
    return [...this.#byDirectory]
      .flatMap(([directory, tables]) =>
        [...tables].map(([name, { atMs }]) => ({ directory, name, atMs })),
      )
      .filter(({ atMs }) => atMs <= untilMs)
      .toSorted((a, b) => a.atMs - b.atMs);
  }
}

function identityOf({ ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return `${ino}/${size}/${mtimeNs}/${ctimeNs}`;
}
