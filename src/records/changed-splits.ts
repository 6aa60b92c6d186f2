/**
 * In which namespaces splits have changed: space `splits-changed`, key = namespace id. Every change of
 * a split's state or route writes the record of its namespace again, so its version says whether
 * anything is new. A process that follows thousands of namespaces asks for all versions at once, and
 * then only for the changes of the few namespaces that have any.
 *
 * It is a hint: a process may stop between a change and its mark. Code that follows marks also looks
 * at everything once in a while.
 */
import type { Catalog } from "../ports/catalog.ts";
import { encodeStored } from "./stored-json.ts";

const SPACE = "splits-changed";
const PAGE = 5_000;

/** After the change. */
export async function markSplitsChanged(catalog: Catalog, namespaceId: string): Promise<void> {
  const there = await catalog.read(SPACE, namespaceId);
  // A process that was faster has marked this change too: it wrote after the read.
  await catalog.write(SPACE, namespaceId, encodeStored({}), there?.version ?? 0);
}

/** By namespace id; a namespace whose splits never changed is absent. */
export async function readSplitMarks(catalog: Catalog): Promise<ReadonlyMap<string, number>> {
  const marks = new Map<string, number>();
  for (let after = ""; ;) {
    const page = await catalog.versions(SPACE, after, PAGE);
    for (const { key, version } of page) marks.set(key, version);
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return marks;
    after = last.key;
  }
}

export async function removeSplitMark(catalog: Catalog, namespaceId: string): Promise<void> {
  const there = await catalog.read(SPACE, namespaceId);
  if (there !== undefined) await catalog.remove(SPACE, namespaceId, there.version);
}
