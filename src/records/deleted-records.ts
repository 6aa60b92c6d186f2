/**
 * Deleted namespaces in the catalog (rule C26): space `deleted`, key = internal id.
 *
 * The record is written before a deletion frees the name. It exists for as long as the events do,
 * also after a restoration: so an id without a namespace and without such a record is gone for good.
 *
 * DELETED: its events stay until its grace is over. RESTORED: the namespace exists again, under
 * `namespace.name`. PURGING: its events are being removed; nothing brings it back.
 */
import { z } from "zod";
import { ServiceError } from "../lib/errors.ts";
import type { Catalog, CatalogRecord } from "../ports/catalog.ts";
import { deletionFields, namespaceFields } from "./namespace-records.ts";
import type { Deletion, NamespaceRecord } from "./namespace-records.ts";
import { decodeStored, encodeStored, storedObject } from "./stored-json.ts";

const SPACE = "deleted";
const DELETED_PAGE = 500;

export interface DeletedRecord {
  /** The internal id. */
  readonly id: string;
  readonly phase: "DELETED" | "RESTORED" | "PURGING";
  /** As it was when it left; `version` is the one it had. */
  readonly namespace: NamespaceRecord;
  readonly deletion: Deletion;
  /**
   * Believed time from which the grace counts. Null: it was deleted while the clock was in doubt,
   * and the grace begins when the doubt is over.
   */
  readonly graceFrom: number | null;
  /** Approximate, when it was deleted; null if the store could not tell. */
  readonly size: { readonly bytes: number; readonly events: number } | null;
  /** Of a RESTORED one: the version of this record that was restored. */
  readonly restoredOf: number | null;
  /** 0: not written yet. */
  readonly version: number;
}

/** A record that cannot be read is given as its error. */
export interface ListedDeleted {
  readonly id: string;
  readonly record: DeletedRecord | ServiceError;
}

export async function readDeleted(
  catalog: Catalog,
  id: string,
): Promise<DeletedRecord | undefined> {
  const stored = await catalog.read(SPACE, id);
  return stored === undefined ? undefined : decode(stored);
}

/** Writes over the version it was read with. Undefined if it has changed meanwhile. */
export async function writeDeleted(
  catalog: Catalog,
  record: DeletedRecord,
): Promise<DeletedRecord | undefined> {
  const { id, version, namespace, ...rest } = record;
  const { name, version: of, ...fields } = namespace;
  const value = encodeStored({ name, of, ...rest, namespace: fields });
  const written = await catalog.write(SPACE, id, value, version);
  return written === undefined ? undefined : { ...record, version: written };
}

/** Removes it if it still has that version. */
export function removeDeleted(catalog: Catalog, record: DeletedRecord): Promise<boolean> {
  return catalog.remove(SPACE, record.id, record.version);
}

/** At most `limit` in the order of their ids, and so of their first names; in any phase. */
export async function listDeleted(
  catalog: Catalog,
  after: string,
  limit: number,
): Promise<ListedDeleted[]> {
  const page = await catalog.list(SPACE, after, limit);
  return page.map((stored) => {
    try {
      return { id: stored.key, record: decode(stored) };
    } catch (error) {
      if (error instanceof ServiceError) return { id: stored.key, record: error };
      throw error;
    }
  });
}

/** Every record in any phase, by bounded pages. Ends when the signal aborts. */
export async function* deletedPages(
  catalog: Catalog,
  signal?: AbortSignal,
): AsyncGenerator<readonly ListedDeleted[], void, undefined> {
  for (let after: string | undefined = ""; after !== undefined && signal?.aborted !== true;) {
    const page: readonly ListedDeleted[] = await listDeleted(catalog, after, DELETED_PAGE);
    if (page.length > 0) yield page;
    after = page.length < DELETED_PAGE ? undefined : page.at(-1)?.id;
  }
}

const count = z.number().int().nonnegative();

const deletedSchema = storedObject({
  name: z.string().min(1),
  /** The version that the namespace's own record had. */
  of: count,
  phase: z.enum(["DELETED", "RESTORED", "PURGING"]),
  namespace: namespaceFields,
  deletion: deletionFields,
  graceFrom: z.number().int().nullable(),
  size: storedObject({ bytes: count, events: count }).nullable(),
  restoredOf: count.nullable(),
});

function decode(stored: CatalogRecord): DeletedRecord {
  const { name, of, namespace, ...fields } = decodeStored(deletedSchema, SPACE, stored);
  return {
    ...fields,
    id: stored.key,
    namespace: { ...namespace, name, version: of },
    version: stored.version,
  };
}
