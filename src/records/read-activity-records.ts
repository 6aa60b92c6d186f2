/**
 * When callers last read a namespace: space `read-activity/<namespace id>`, one record. The tuner
 * asks it, because partitions that nobody reads need no other size.
 */
import { z } from "zod";
import { LOST, tryCompareAndSet } from "../lib/compare-and-set.ts";
import type { Catalog } from "../ports/catalog.ts";
import { isStampedAhead } from "./stamped-ahead.ts";
import { decodeStored, encodeStored, storedObject } from "./stored-json.ts";

/** How much later than recorded the last read may be: a server records it no more often. */
export const READ_ACTIVITY_MICROS = 3_600_000_000;
const KEY = "last";

/** Microseconds; undefined if nobody did. Later than now if a clock was ahead, see `isStampedAhead`. */
export async function lastReadAt(
  catalog: Catalog,
  namespaceId: string,
): Promise<number | undefined> {
  const space = spaceOf(namespaceId);
  const stored = await catalog.read(space, KEY);
  return stored === undefined ? undefined : decodeStored(activitySchema, space, stored).lastReadAt;
}

/** Raises it, or replaces one that is ahead. */
export async function noteReadAt(catalog: Catalog, namespaceId: string, at: number): Promise<void> {
  const space = spaceOf(namespaceId);
  await tryCompareAndSet(async () => {
    const stored = await catalog.read(space, KEY);
    const known = stored === undefined ? undefined : decodeStored(activitySchema, space, stored);
    if (known !== undefined && known.lastReadAt >= at && !isStampedAhead(known.lastReadAt, at))
      return;
    const value = encodeStored({ ...known, lastReadAt: at });
    const written = await catalog.write(space, KEY, value, stored?.version ?? 0);
    return written === undefined ? LOST : undefined;
  });
}

function spaceOf(namespaceId: string): string {
  return `read-activity/${namespaceId}`;
}

const activitySchema = storedObject({ lastReadAt: z.number().int() });
