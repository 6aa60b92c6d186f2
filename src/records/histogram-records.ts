/**
 * The stored histograms of a namespace's slices: space `histograms/<namespace id>`, key = the
 * slice's name, one record each. A walk of the slice replaces it. It stays when the slice is
 * dropped, so that a tuner sees the past; above a limit the oldest slices are removed.
 */
import { z } from "zod";
import { LOST, tryCompareAndSet } from "../lib/compare-and-set.ts";
import type { Distribution } from "../model/size-histogram.ts";
import type { SliceHistogram, UnitSizes } from "../model/slice-histogram.ts";
import type { Catalog, CatalogRecord } from "../ports/catalog.ts";
import { sliceFields } from "./slice-change.ts";
import { isStampedAhead } from "./stamped-ahead.ts";
import { decodeOrSkip, decodeStored, encodeStored, storedObject } from "./stored-json.ts";
import type { UnreadableEntry } from "./stored-json.ts";
import { trimOldest } from "./trim-oldest.ts";

/** The newest ones. More than a year of daily slices; about 10 KB each. */
export const HISTOGRAMS_MAX = 400;
/** Records of one call: bounds the answer of the catalog. */
const PAGE = 50;

/** By start, oldest first. A record that cannot be decoded is given to `skip`. */
export async function readHistograms(
  catalog: Catalog,
  namespaceId: string,
  skip: (entry: UnreadableEntry) => void = () => undefined,
): Promise<SliceHistogram[]> {
  const space = spaceOf(namespaceId);
  const histograms: SliceHistogram[] = [];
  for await (const stored of pages(catalog, space)) {
    const histogram = decodeOrSkip(space, stored, () => decode(space, stored), skip);
    if (histogram !== undefined) histograms.push(histogram);
  }
  return histograms.sort((a, b) => a.start - b.start);
}

/** Undefined if the slice was not walked yet. */
export async function readHistogram(
  catalog: Catalog,
  namespaceId: string,
  timeSlice: string,
): Promise<SliceHistogram | undefined> {
  const space = spaceOf(namespaceId);
  const stored = await catalog.read(space, timeSlice);
  return stored === undefined ? undefined : decode(space, stored);
}

/**
 * Replaces the slice's histogram. An older walk never replaces a newer one, except one that a clock
 * far ahead has stamped. Rejects if the stored
 * one cannot be decoded: it may be of a newer version.
 */
export async function writeHistogram(
  catalog: Catalog,
  namespaceId: string,
  histogram: SliceHistogram,
): Promise<void> {
  const { timeSlice, ...fields } = histogram;
  const space = spaceOf(namespaceId);
  await tryCompareAndSet(async () => {
    const stored = await catalog.read(space, timeSlice);
    const known = stored === undefined ? undefined : decode(space, stored);
    if (known !== undefined && isNewer(known, histogram)) return;
    const version = stored?.version ?? 0;
    const value = isFilledLater(known, histogram) ? { ...fields, filledLater: true } : fields;
    const written = await catalog.write(space, timeSlice, encodeStored(value), version);
    return written === undefined ? LOST : undefined;
  });
}

function isNewer(known: SliceHistogram, { asOf, endedAt }: SliceHistogram): boolean {
  return known.asOf > asOf && !isStampedAhead(known.endedAt, endedAt);
}

/** A slice of which a walk saw all when it was sealed is walked again only if it was re-opened. */
function isFilledLater(known: SliceHistogram | undefined, { epoch }: SliceHistogram): boolean {
  if (known === undefined) return false;
  return known.filledLater === true || (known.sealed && known.complete && epoch > known.epoch);
}

/** Removes the oldest above `keptMax`; returns the names of their slices. */
export function trimHistograms(
  catalog: Catalog,
  namespaceId: string,
  keptMax: number = HISTOGRAMS_MAX,
): Promise<string[]> {
  return trimOldest(catalog, spaceOf(namespaceId), keptMax);
}

async function* pages(
  catalog: Catalog,
  space: string,
): AsyncGenerator<CatalogRecord, void, undefined> {
  for (let after = ""; ;) {
    const page = await catalog.list(space, after, PAGE);
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return;
    after = last.key;
  }
}

function spaceOf(namespaceId: string): string {
  return `histograms/${namespaceId}`;
}

const count = z.number().nonnegative();

export const distribution: z.ZodType<Distribution> = storedObject({
  count,
  total: count,
  min: count,
  max: count,
  buckets: z.array(z.tuple([count, count])),
});

const unitSizes: z.ZodType<UnitSizes> = storedObject({ bytes: distribution, events: distribution });

const histogramSchema: z.ZodType<Omit<SliceHistogram, "timeSlice">> = storedObject({
  start: z.number().int(),
  end: z.number().int(),
  timePartition: sliceFields.timePartition,
  source: z.enum(["WALK"]),
  asOf: z.number().int(),
  endedAt: z.number().int(),
  sealed: z.boolean(),
  epoch: count,
  filledLater: z.boolean().optional(),
  complete: z.boolean(),
  sampleShare: z.number().positive().max(1),
  omissions: storedObject({ notCounted: count, estimated: count, failed: count }),
  partitions: unitSizes,
  timeBuckets: unitSizes,
  widened: z.array(storedObject({ secondsPerTimeBucket: count, bytes: distribution })),
});

function decode(space: string, stored: CatalogRecord): SliceHistogram {
  return { ...decodeStored(histogramSchema, space, stored), timeSlice: stored.key };
}
