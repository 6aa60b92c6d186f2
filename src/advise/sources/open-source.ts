/** Opens a file, or a pipe, as a source of rows. */
import { createReadStream } from "node:fs";
import { open, stat } from "node:fs/promises";
import { extname } from "node:path";
import type { Readable } from "node:stream";
import { SampleError } from "../draw-sample.ts";
import type { RowBatch, RowSource, SourceRow } from "../row-source.ts";

export const SOURCE_FORMATS = ["ndjson", "csv", "parquet"] as const;
export type SourceFormat = (typeof SOURCE_FORMATS)[number];

const EXTENSIONS: Readonly<Record<string, SourceFormat>> = {
  ".ndjson": "ndjson",
  ".jsonl": "ndjson",
  ".json": "ndjson",
  ".csv": "csv",
  ".tsv": "csv",
  ".parquet": "parquet",
  ".pq": "parquet",
};

/** Rows by which the roles of the columns are guessed. */
const HEAD_ROWS = 1_000;

/** The format of a file by its name; undefined if the name does not tell. */
export function formatOfFile(path: string): SourceFormat | undefined {
  return EXTENSIONS[extname(path).toLowerCase()];
}

export async function openFile(path: string, format: SourceFormat): Promise<RowSource> {
  const { size } = await statOf(path);
  if (await isPacked(path)) {
    throw new SampleError(
      `${path} is compressed: unpack it, or pipe it (zcat ${path} | braid advise - --format csv)`,
    );
  }
  return {
    name: path,
    repeatable: true,
    batches: (signal) => fileBatches(path, format, size, signal),
  };
}

/** `head` takes the first rows from the pipe, and `batches` gives them again. */
export function openPipe(input: Readable, format: SourceFormat): RowSource {
  if (format === "parquet") {
    throw new SampleError(
      "a pipe cannot be Parquet, which is read from its end: save it to a file",
    );
  }
  return { name: "stdin", repeatable: false, batches: () => textBatches("stdin", input, format) };
}

/** The first rows, and the source with all rows. */
export async function headOf(
  source: RowSource,
  signal: AbortSignal,
): Promise<{ readonly head: readonly SourceRow[]; readonly source: RowSource }> {
  if (source.repeatable) {
    for await (const { rows } of source.batches(signal)) {
      return { head: rows.slice(0, HEAD_ROWS), source };
    }
    return { head: [], source };
  }
  const batches = source.batches(signal)[Symbol.asyncIterator]();
  const first = await batches.next();
  const head = first.done === true ? [] : first.value.rows;
  return {
    head: head.slice(0, HEAD_ROWS),
    source: { ...source, batches: () => rest(first, batches) },
  };
}

async function* rest(
  first: IteratorResult<RowBatch>,
  batches: AsyncIterator<RowBatch>,
): AsyncGenerator<RowBatch> {
  for (let next = first; next.done !== true; next = await batches.next()) yield next.value;
}

async function statOf(path: string): Promise<{ readonly size: number }> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) throw new SampleError(`${path}: there is no such file`);
  if (found.isDirectory()) throw new SampleError(`${path} is a directory: give one file of it`);
  return found;
}

/** The first bytes of gzip and of Zstandard. */
const PACKED = ["1f8b", "28b52ffd"];

/** A pipe by name can be read once, so it is not looked into. */
async function isPacked(path: string): Promise<boolean> {
  if (!(await stat(path)).isFile()) return false;
  await using file = await open(path);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(4), 0, 4, 0);
  const start = buffer.subarray(0, bytesRead).toString("hex");
  return PACKED.some((each) => start.startsWith(each));
}

async function* fileBatches(
  path: string,
  format: SourceFormat,
  bytesTotal: number,
  signal: AbortSignal,
): AsyncGenerator<RowBatch> {
  if (format === "parquet") {
    const { parquetBatches } = await import("./parquet.ts");
    yield* parquetBatches(path, signal);
    return;
  }
  const input = createReadStream(path, { signal });
  const bytes = () => ({ bytesRead: input.bytesRead, bytesTotal });
  try {
    yield* textBatches(path, input, format, bytes);
  } finally {
    input.destroy();
  }
}

async function* textBatches(
  name: string,
  input: Readable,
  format: Exclude<SourceFormat, "parquet">,
  bytes: () => Pick<RowBatch, "bytesRead" | "bytesTotal"> = () => ({}),
): AsyncGenerator<RowBatch> {
  if (format === "csv") {
    const { csvBatches } = await import("./csv.ts");
    yield* csvBatches(name, input, bytes);
  } else {
    const { ndjsonBatches } = await import("./ndjson.ts");
    yield* ndjsonBatches(name, input, bytes);
  }
}
