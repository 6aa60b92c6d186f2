/**
 * The key that page tokens are signed with: made once, by whoever comes first, and shared by all
 * servers (rule C12).
 */
import { ServiceError } from "../lib/errors.ts";
import type { Random } from "../lib/random.ts";
import type { Catalog } from "../ports/catalog.ts";

const SPACE = "secrets";
const KEY = "page-token-key";
const KEY_BYTES = 32;

export async function loadTokenKey(catalog: Catalog, random: Random): Promise<Uint8Array> {
  const stored = await catalog.read(SPACE, KEY);
  if (stored !== undefined) return decode(stored.value);
  const made = Buffer.from(random.bytes(KEY_BYTES));
  const written = await catalog.write(SPACE, KEY, JSON.stringify(made.toString("hex")), 0);
  if (written !== undefined) return made;
  // Someone else was faster: theirs is the key, and it is never changed.
  const theirs = await catalog.read(SPACE, KEY);
  return decode(theirs?.value ?? "");
}

function decode(value: string): Uint8Array {
  const match = /^"([0-9a-f]{64})"$/.exec(value);
  if (match === null) {
    throw new ServiceError(
      "DATA_LOSS",
      `the catalog's record ${SPACE}/${KEY} cannot be read; remove it to have a new one made (open page tokens end)`,
    );
  }
  return Buffer.from(match[1] ?? "", "hex");
}
