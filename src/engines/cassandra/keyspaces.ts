/**
 * Names in Cassandra: one keyspace for the catalog, and one for each namespace.
 *
 * A name has at most 48 characters, so a long namespace name is cut; the unique suffix of its
 * internal id never is.
 */
import { assert } from "../../lib/errors.ts";
import { hash32 } from "../../lib/hash.ts";

const KEYSPACE_CHARS_MAX = 48;

/** The keyspace of the catalog is the prefix itself: `braid`. */
const KEYSPACE_PREFIX = /^[a-z][a-z0-9_]{0,15}$/;

/** `braid_plays_3f1c9a…` for the namespace id `plays-3f1c9a…`. */
export function keyspaceOf(prefix: string, namespaceId: string): string {
  assert(KEYSPACE_PREFIX.test(prefix), "a prefix is a short plain name");
  assert(/^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/.test(namespaceId), "a namespace's id is a plain name");
  const dash = namespaceId.lastIndexOf("-");
  const name = dash < 0 ? namespaceId : namespaceId.slice(0, dash);
  const unique =
    dash < 0 ? hash32(Buffer.from(namespaceId), 0).toString(16) : namespaceId.slice(dash + 1);
  const suffix = `_${plain(unique)}`;
  const cut = KEYSPACE_CHARS_MAX - prefix.length - 1 - suffix.length;
  assert(cut > 0, "an internal id leaves room for a name");
  return `${prefix}_${plain(name).slice(0, cut)}${suffix}`;
}

/** A slice's name is the name of its table. */
export function tableOf(slice: string): string {
  assert(/^[a-z][a-z0-9_]{0,47}$/.test(slice), "a slice's name is the name of a table");
  return slice;
}

function plain(text: string): string {
  return text.toLowerCase().replaceAll(/[^a-z0-9]/g, "_");
}
