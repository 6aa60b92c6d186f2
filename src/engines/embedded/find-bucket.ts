/**
 * Finds the next time bucket in which a series has an event, by one seek over the series' keys.
 *
 * The entry it finds must match its checksum, which covers the key: a damaged key must not make a
 * read skip events.
 */
import { utf8 } from "../../lib/bytes.ts";
import { ServiceError } from "../../lib/errors.ts";
import type { BucketSearch, SeriesRef } from "../../ports/event-store.ts";
import type { CheckedLevel } from "./checked-level.ts";
import { CHECKSUM_BYTES, partitionOfKey, partitionSeed, placeKey, readValue } from "./key-codec.ts";
import { SteadyIterator } from "./steady-iterator.ts";

export async function findBucket(
  level: CheckedLevel,
  { namespaceId, slice, seriesId }: SeriesRef,
  { first, last, order }: BucketSearch,
  signal: AbortSignal,
): Promise<number | undefined> {
  signal.throwIfAborted();
  const series = utf8(seriesId);
  const before = (timeBucket: number): Buffer =>
    placeKey(series, { timeBucket, eventBucket: 0 }, 0, undefined);
  const bounds = {
    gte: before(first),
    lt: before(last + 1),
    reverse: order === "NEWEST_FIRST",
    limit: 1,
  };
  const iterator = new SteadyIterator(level, () => bounds, signal);
  try {
    const [entry] = await iterator.next(1);
    if (entry === undefined) return undefined;
    const [key, value] = entry;
    const { timeBucket, eventBucket } = partitionOfKey(key, series);
    const seed = partitionSeed(timeBucket, eventBucket);
    if (readValue(value, value.subarray(CHECKSUM_BYTES), seed) !== undefined) return timeBucket;
    throw new ServiceError(
      "DATA_LOSS",
      `a partition of slice ${slice} (time bucket ${timeBucket}, event bucket ${eventBucket}) ` +
        "is damaged: an event does not match its checksum",
      { details: { namespaceId, slice, timeBucket, eventBucket } },
    );
  } finally {
    await iterator.close();
  }
}
