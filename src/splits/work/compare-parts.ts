/** Compares a split's parts with what is listed, and describes a difference. */
import { ServiceError } from "../../lib/errors.ts";
import { quantity } from "../../lib/quantity.ts";
import { readParts } from "../../records/part-records.ts";
import type { PartitionKey } from "../../model/partition.ts";
import type { PartRecord, Segment } from "../../model/split.ts";
import type { RangeDigest } from "../../parts/range-digest.ts";
import type { Catalog } from "../../ports/catalog.ts";
import { formatTime } from "../../wire/time-text.ts";
import { Interruption } from "./interruption.ts";

/** Throws a mismatch unless `found` equals what is listed. `where` names what was read. */
export function requireSame(part: PartRecord, found: RangeDigest, where: string): void {
  const same = found.events === part.events && found.bytes === part.bytes;
  if (same && found.digest() === part.digest) return;
  const location = `part ${part.part} (${formatTime(part.from)} to ${formatTime(part.to)})`;
  const what = same ? "the same number of events and bytes, but other bytes" : amountOf(found);
  throw new Interruption(
    "mismatch",
    `${location}: ${where} has ${what}; listed are ${amountOf(part)}`,
    part,
  );
}

function amountOf({ events, bytes }: Pick<PartRecord, "events" | "bytes">): string {
  return `${quantity(events, "event")} of ${quantity(bytes, "byte")}`;
}

/**
 * The listed parts of a segment, in order. A missing part is a mismatch: a later attempt does not
 * find it either.
 */
export async function listedParts(
  catalog: Catalog,
  partition: PartitionKey,
  segment: Segment,
): Promise<readonly PartRecord[]> {
  try {
    return await readParts(catalog, partition, segment.partRanges);
  } catch (error) {
    const lost = error instanceof ServiceError && error.code === "DATA_LOSS";
    throw lost ? new Interruption("mismatch", error.message) : error;
  }
}
