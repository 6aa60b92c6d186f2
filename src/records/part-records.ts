/**
 * The parts of splits in the catalog: space `parts/<namespace id>/<slice>/<shard>`, key = the
 * original partition and the part's number. Written once, before a split lists them, and never
 * changed.
 *
 * Each has a row of its own, so that listing a further part rewrites nothing (rule C19). Parts that
 * no split lists are garbage, which is removed with the slice.
 */
import { compareBytes, utf8 } from "../lib/bytes.ts";
import { ServiceError } from "../lib/errors.ts";
import type { PartitionKey } from "../model/partition.ts";
import type { PartRecord, PartNumberRange } from "../model/split.ts";
import type { Catalog, CatalogRecord } from "../ports/catalog.ts";
import { partSchema } from "./split-schema.ts";
import { keyOf, spaceOf } from "./split-spaces.ts";
import { decodeStored, encodeStored } from "./stored-json.ts";

/** Parts requested at once. */
const PARTS_PAGE = 1_000;

/** CONFLICT if one with that number exists: numbers are never used again (rule C8). */
export async function writePart(
  catalog: Catalog,
  partition: PartitionKey,
  record: PartRecord,
): Promise<void> {
  const { part, ...stored } = record;
  const space = spaceOf("parts", partition);
  const written = await catalog.write(space, partKeyOf(partition, part), encodeStored(stored), 0);
  if (written !== undefined) return;
  throw new ServiceError("CONFLICT", `another process wrote part ${part} of this split`, {
    details: { part },
  });
}

/** The listed parts, in the order of the ranges. DATA_LOSS if one is missing. */
export async function readParts(
  catalog: Catalog,
  partition: PartitionKey,
  partRanges: readonly PartNumberRange[],
): Promise<PartRecord[]> {
  const parts: PartRecord[] = [];
  for (const run of partRanges) await readRun(catalog, partition, run, parts);
  return parts;
}

async function readRun(
  catalog: Catalog,
  partition: PartitionKey,
  { start, count }: PartNumberRange,
  parts: PartRecord[],
): Promise<void> {
  const space = spaceOf("parts", partition);
  const end = start + count;
  const lastKey = utf8(partKeyOf(partition, end - 1));
  let next = start;
  // Before the range's first key, whatever other ids begin like this one.
  let after = start === 0 ? `${keyOf(partition)}|` : partKeyOf(partition, start - 1);
  while (next < end) {
    const page = await catalog.list(space, after, Math.min(end - next, PARTS_PAGE));
    for (const stored of page) {
      // Any other key in between belongs to another id, or lies behind a missing part.
      if (next < end && stored.key === partKeyOf(partition, next)) {
        parts.push(decode(space, next++, stored));
      }
    }
    const last = page.at(-1);
    if (next >= end) return;
    if (last === undefined || compareBytes(utf8(last.key), lastKey) >= 0) {
      throw missing(partition, next);
    }
    after = last.key;
  }
}

function missing(partition: PartitionKey, part: number): ServiceError {
  const { slice, seriesId, timeBucket, eventBucket } = partition;
  return new ServiceError(
    "DATA_LOSS",
    `the catalog has no record of part ${part}, which a split of slice ${slice} lists; roll that split back and retry it`,
    { details: { slice, timeSeriesId: seriesId, timeBucket, eventBucket, part } },
  );
}

function partKeyOf(partition: PartitionKey, part: number): string {
  return `${keyOf(partition)}|${String(part).padStart(7, "0")}`;
}

function decode(space: string, part: number, stored: CatalogRecord): PartRecord {
  return { ...decodeStored(partSchema, space, stored), part };
}
