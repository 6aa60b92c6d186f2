/**
 * What the storage itself said about the partitions of a slice when the slice was settled: space
 * `size-reports/<namespace id>`, key = the slice's name, one record each with a report of each
 * source, its time and what it leaves out. It stays when the slice is dropped; above a limit the
 * oldest slices are removed.
 */
import { z } from "zod";
import { LOST, tryCompareAndSet } from "../lib/compare-and-set.ts";
import { SizeHistogram } from "../model/size-histogram.ts";
import type { Catalog, CatalogRecord } from "../ports/catalog.ts";
import type { SizeReport, SliceReports } from "../ports/partition-sizes.ts";
import { HISTOGRAMS_MAX } from "./histogram-records.ts";
import { sliceFields } from "./slice-change.ts";
import { decodeOrSkip, decodeStored, encodeStored, listAll, storedObject } from "./stored-json.ts";
import { trimOldest } from "./trim-oldest.ts";

/** Undefined if the slice has none. */
export async function readSizeReports(
  catalog: Catalog,
  namespaceId: string,
  timeSlice: string,
): Promise<SliceReports | undefined> {
  const space = spaceOf(namespaceId);
  const stored = await catalog.read(space, timeSlice);
  return stored === undefined ? undefined : decode(space, stored);
}

/** By start, oldest first, without those of a newer version. */
export async function readAllSizeReports(
  catalog: Catalog,
  namespaceId: string,
): Promise<SliceReports[]> {
  const space = spaceOf(namespaceId);
  const all: SliceReports[] = [];
  for await (const stored of listAll(catalog, space)) {
    const found = decodeOrSkip(
      space,
      stored,
      () => decode(space, stored),
      () => undefined,
    );
    if (found !== undefined) all.push(found);
  }
  return all.sort((a, b) => a.start - b.start);
}

/** Replaces the slice's reports, and removes the oldest slices' above the limit. */
export async function writeSizeReports(
  catalog: Catalog,
  namespaceId: string,
  { timeSlice, reports, ...slice }: SliceReports,
): Promise<void> {
  const space = spaceOf(namespaceId);
  const fields = { ...slice, reports: reports.map(storedReport) };
  await tryCompareAndSet(async () => {
    const stored = await catalog.read(space, timeSlice);
    // One that cannot be decoded may be of a newer version: it stays.
    if (stored !== undefined) decode(space, stored);
    const version = stored?.version ?? 0;
    const written = await catalog.write(space, timeSlice, encodeStored(fields), version);
    return written === undefined ? LOST : undefined;
  });
  await trimOldest(catalog, space, HISTOGRAMS_MAX);
}

function spaceOf(namespaceId: string): string {
  return `size-reports/${namespaceId}`;
}

const count = z.number().nonnegative();

const reportSchema = storedObject({
  source: z.enum(["WALK", "READS", "TABLE_ESTIMATES", "JMX"]),
  count,
  meanBytes: count,
  maxBytes: count,
  sizes: storedObject({
    count,
    total: count,
    min: count,
    max: count,
    buckets: z.array(z.tuple([count, count])),
  }).nullable(),
  coverage: z.string(),
  tells: z.string(),
  doesNotTell: z.string(),
  asOf: z.number().int(),
});

const schema = storedObject({
  start: z.number().int(),
  end: z.number().int(),
  timePartition: sliceFields.timePartition,
  reports: z.array(reportSchema),
});

function storedReport({ histogram, ...report }: SizeReport): object {
  return { ...report, asOf: Math.floor(report.asOf), sizes: histogram?.distribution() ?? null };
}

function decode(space: string, stored: CatalogRecord): SliceReports {
  const { start, end, timePartition, reports } = decodeStored(schema, space, stored);
  return {
    timeSlice: stored.key,
    start,
    end,
    timePartition,
    reports: reports.map(({ sizes, ...report }) => ({
      ...report,
      kind: "sizes",
      histogram: sizes === null ? undefined : SizeHistogram.of(sizes),
    })),
  };
}
