/**
 * Records of the catalog as JSON, each with its format (rule C28).
 *
 * A record that does not parse is DATA_LOSS, never a guess. Fields that this version does not know
 * are kept, including nested ones: a record that is read, changed by spreading it and written still
 * has them.
 */
import { z } from "zod";
import { ServiceError } from "../lib/errors.ts";
import {
  decodeFormat,
  encodeFormat,
  FIRST_FORMAT,
  isUnreadable,
  unreadable,
} from "../lib/stored-format.ts";
import type { Catalog, CatalogRecord } from "../ports/catalog.ts";

/** How many records one call requests when all of a space are wanted. */
const LIST_PAGE = 1_000;

/** A stored record, or an object inside one. Fields that are not in `shape` pass through. */
export function storedObject<S extends z.core.$ZodLooseShape>(shape: S): z.ZodObject<S> {
  // Typed as if it had only the known fields: no code may read the others.
  return z.looseObject(shape);
}

export function encodeStored(fields: object, format: number = FIRST_FORMAT): string {
  return encodeFormat(fields, format);
}

export function decodeStored<T>(
  schema: z.ZodType<T>,
  space: string,
  { key, value }: CatalogRecord,
  formatMax: number = FIRST_FORMAT,
): T {
  const name = { what: `the catalog's record ${space}/${key}`, details: { space, key } };
  const parsed = schema.safeParse(decodeFormat(value, name, formatMax));
  if (!parsed.success) throw unreadable(name, parsed.error);
  return parsed.data;
}

/** An entry that this process cannot decode: damaged, or of a newer version (rule C28). */
export interface UnreadableEntry {
  readonly space: string;
  readonly key: string;
  readonly error: ServiceError;
}

/**
 * For lists of work and for people: hands an entry that cannot be decoded to `skip` and returns
 * undefined, so that it does not keep the others waiting. A list that decides where an event lies
 * must not use it.
 */
export function decodeOrSkip<T>(
  space: string,
  { key }: CatalogRecord,
  decode: () => T,
  skip: (entry: UnreadableEntry) => void,
): T | undefined {
  try {
    return decode();
  } catch (error) {
    if (!(error instanceof ServiceError) || !isUnreadable(error)) throw error;
    skip({ space, key, error });
    return undefined;
  }
}

/** Every record of a space, by bounded pages. */
export async function* listAll(
  catalog: Catalog,
  space: string,
): AsyncGenerator<CatalogRecord, void, undefined> {
  let after = "";
  for (;;) {
    const page = await catalog.list(space, after, LIST_PAGE);
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < LIST_PAGE) return;
    after = last.key;
  }
}
