/**
 * The key that signs page tokens: the first server makes it, once, and all servers share it (rule
 * C12).
 */
import { z } from "zod";
import type { Random } from "../lib/random.ts";
import type { Catalog, CatalogRecord } from "../ports/catalog.ts";
import { decodeStored, encodeStored, storedObject } from "./stored-json.ts";

const SPACE = "secrets";
const KEY = "page-token-key";
const KEY_BYTES = 32;

export async function loadTokenKey(catalog: Catalog, random: Random): Promise<Uint8Array> {
  const stored = await catalog.read(SPACE, KEY);
  if (stored !== undefined) return decode(stored);
  const made = Buffer.from(random.bytes(KEY_BYTES));
  const value = encodeStored({ key: made.toString("hex") });
  if ((await catalog.write(SPACE, KEY, value, 0)) !== undefined) return made;
  // Another server was faster: its key is used, and never changed.
  const theirs = await catalog.read(SPACE, KEY);
  return decode(theirs ?? { key: KEY, value: "", version: 0 });
}

const keySchema = storedObject({ key: z.string().regex(/^[0-9a-f]{64}$/) });

/**
 * If it cannot be read, an operator may remove it: servers make another, and open page tokens end.
 */
function decode(stored: CatalogRecord): Uint8Array {
  return Buffer.from(decodeStored(keySchema, SPACE, stored).key, "hex");
}
