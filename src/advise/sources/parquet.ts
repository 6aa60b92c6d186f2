/**
 * Rows of a Parquet file, some thousand at a time. Memory holds the pages of one row group while it
 * is read.
 */
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } from "hyparquet";
import { compressors } from "hyparquet-compressors";
import { SampleError } from "../draw-sample.ts";
import type { RowBatch, SourceRow } from "../row-source.ts";
import { sourceValue } from "./source-value.ts";

/** A row group is read in steps of so many rows. */
const STEP_ROWS = 50_000;

export async function* parquetBatches(path: string, signal: AbortSignal): AsyncGenerator<RowBatch> {
  const file = await asyncBufferFromFile(path);
  const bytesTotal = file.byteLength;
  let metadata;
  try {
    metadata = await parquetMetadataAsync(file);
  } catch (error) {
    throw new SampleError(`${path}: not a Parquet file (${messageOf(error)}); give --format`);
  }
  const rowsTotal = Number(metadata.num_rows);
  let groupStart = 0;
  for (const group of metadata.row_groups) {
    const groupEnd = groupStart + Number(group.num_rows);
    for (let rowStart = groupStart; rowStart < groupEnd; rowStart += STEP_ROWS) {
      signal.throwIfAborted();
      const rowEnd = Math.min(groupEnd, rowStart + STEP_ROWS);
      const rows = await rowsOf(path, { file, metadata, rowStart, rowEnd, compressors });
      const bytesRead = Math.floor((bytesTotal * rowEnd) / Math.max(1, rowsTotal));
      yield { rows: rows.map(rowOf), bytesRead, bytesTotal };
    }
    groupStart = groupEnd;
  }
}

async function rowsOf(
  path: string,
  options: Parameters<typeof parquetReadObjects>[0],
): Promise<Record<string, unknown>[]> {
  try {
    return await parquetReadObjects(options);
  } catch (error) {
    throw new SampleError(`${path}: its data cannot be read (${messageOf(error)}); write it again`);
  }
}

function rowOf(row: Readonly<Record<string, unknown>>): SourceRow {
  return Object.fromEntries(
    Object.entries(row).map(([column, value]) => [column, sourceValue(value)]),
  );
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
