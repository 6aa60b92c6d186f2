/**
 * Small records that must never be lost or overwritten unseen: namespaces, slices, blocked ids,
 * keys.
 *
 * Every change is compare-and-set on the record's version. Records live in spaces. A space is
 * listed in key order and should stay small, so code with many records spreads them over several
 * spaces. Every engine passes the suite in `tests/conformance/catalog.ts`.
 */
export interface CatalogRecord {
  readonly key: string;
  /** Text, JSON by convention; the catalog does not interpret it. */
  readonly value: string;
  /** Greater than every version this key ever had, also before it was removed. */
  readonly version: number;
}

/** A record without its value. */
export type CatalogVersion = Pick<CatalogRecord, "key" | "version">;

export interface Catalog {
  /**
   * Whether other processes may hold views of these records, so that a change must wait for them.
   */
  readonly shared: boolean;

  read(space: string, key: string): Promise<CatalogRecord | undefined>;

  /**
   * At most `limit` records behind `after` (exclusive; "" for the first), by key as UTF-8 bytes.
   */
  list(space: string, after: string, limit: number): Promise<readonly CatalogRecord[]>;

  /**
   * Like `list`, without the values: a process that holds the records asks this way, often and for
   * many at once, which of them have changed.
   */
  versions(space: string, after: string, limit: number): Promise<readonly CatalogVersion[]>;

  /**
   * Writes if the record still has the version `expected` (0: does not exist), and resolves with
   * the new version when the write is durable. Otherwise resolves with undefined and changes
   * nothing.
   */
  write(space: string, key: string, value: string, expected: number): Promise<number | undefined>;

  /**
   * Removes the record if it still has the version `expected`; otherwise returns false and changes
   * nothing.
   */
  remove(space: string, key: string, expected: number): Promise<boolean>;
}
