/**
 * Records of the catalog as JSON: written plainly, checked on reading. What does not parse is
 * DATA_LOSS, never a guess.
 */
import type { z } from "zod";
import { ServiceError } from "../lib/errors.ts";
import type { Catalog, CatalogRecord } from "../ports/catalog.ts";

/** How many records are asked for at once where all of a space are wanted. */
const LIST_PAGE = 1_000;

export function decodeStored<T>(schema: z.ZodType<T>, space: string, record: CatalogRecord): T {
  let value: unknown;
  try {
    value = JSON.parse(record.value);
  } catch (cause) {
    throw unreadable(space, record.key, cause);
  }
  const parsed = schema.safeParse(value);
  if (!parsed.success) throw unreadable(space, record.key, parsed.error);
  return parsed.data;
}

/** Every record of a space, a bounded page at a time. */
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

function unreadable(space: string, key: string, cause: unknown): ServiceError {
  return new ServiceError(
    "DATA_LOSS",
    `the catalog's record ${space}/${key} cannot be read; restore it from a backup or remove it`,
    { details: { space, key }, cause },
  );
}
