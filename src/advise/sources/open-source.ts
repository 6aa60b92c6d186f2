/** Opens a file, or a pipe, as a source of rows. */
import { createReadStream } from "node:fs";
import { open, stat } from "node:fs/promises";
import { extname } from "node:path";
import { pipeline } from "node:stream";
import type { Duplex, Readable } from "node:stream";
import { createGunzip, createZstdDecompress } from "node:zlib";
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

/** The format of a file by its name, packed or not; undefined if the name does not tell. */
export function formatOfFile(path: string): SourceFormat | undefined {
  const plain = path.replace(/\.(?:gz|gzip|zst)$/i, "");
  return EXTENSIONS[extname(plain).toLowerCase()];
}

export async function openFile(path: string, format: SourceFormat): Promise<RowSource> {
  const { size } = await statOf(path);
  const unpack = await unpackerOf(path);
  if (unpack !== undefined && format === "parquet") {
    throw new SampleError(
      `${path} is compressed as a whole, and Parquet is read from its end: unpack it`,
    );
  }
  return {
    name: path,
    repeatable: true,
    batches: (signal) => fileBatches({ path, format, size, unpack }, signal),
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

type Unpack = () => Duplex;

/** By the first bytes of the file. */
const UNPACKERS: readonly (readonly [start: string, Unpack])[] = [
  ["1f8b", () => createGunzip()],
  ["28b52ffd", () => createZstdDecompress()],
];

/** Undefined if the file is not packed. A pipe by name can be read once, so it is not looked into. */
async function unpackerOf(path: string): Promise<Unpack | undefined> {
  if (!(await stat(path)).isFile()) return undefined;
  await using file = await open(path);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(4), 0, 4, 0);
  const start = buffer.subarray(0, bytesRead).toString("hex");
  return UNPACKERS.find(([each]) => start.startsWith(each))?.[1];
}

interface OpenedFile {
  readonly path: string;
  readonly format: SourceFormat;
  readonly size: number;
  readonly unpack: Unpack | undefined;
}

async function* fileBatches(
  { path, format, size: bytesTotal, unpack }: OpenedFile,
  signal: AbortSignal,
): AsyncGenerator<RowBatch> {
  if (format === "parquet") {
    const { parquetBatches } = await import("./parquet.ts");
    yield* parquetBatches(path, signal);
    return;
  }
  const input = createReadStream(path, { signal });
  // The reader receives a failure through the last stream.
  const text = unpack === undefined ? input : pipeline(input, unpack(), () => undefined);
  const bytes = () => ({ bytesRead: input.bytesRead, bytesTotal });
  try {
    yield* textBatches(path, text, format, bytes);
  } catch (error) {
    if (!isUnpackError(error)) throw error;
    throw new SampleError(`${path}: it cannot be unpacked (${error.message}); copy it again`);
  } finally {
    input.destroy();
    text.destroy();
  }
}

function isUnpackError(error: unknown): error is Error {
  if (!(error instanceof Error) || !("code" in error)) return false;
  return /^(?:Z_|ZSTD_)/.test(String(error.code));
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
