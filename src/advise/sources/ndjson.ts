/** Rows of a file or a pipe with one JSON object a line. */
import type { Readable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import { SampleError } from "../draw-sample.ts";
import type { RowBatch, SourceRow } from "../row-source.ts";
import { BATCH_ROWS } from "./batch-rows.ts";
import { sourceValue } from "./source-value.ts";

export async function* ndjsonBatches(
  name: string,
  input: Readable,
  bytes: () => Pick<RowBatch, "bytesRead" | "bytesTotal">,
): AsyncGenerator<RowBatch> {
  let batch: SourceRow[] = [];
  let number = 0;
  for await (const line of linesOf(name, input)) {
    number++;
    if (line.trim() === "") continue;
    batch.push(rowOf(number === 1 ? line.replace(/^\ufeff/, "") : line, name, number));
    if (batch.length < BATCH_ROWS) continue;
    yield { rows: batch, ...bytes() };
    batch = [];
  }
  yield { rows: batch, ...bytes() };
}

/** A longer line is not of this format. */
const LINE_CHARS_MAX = 16 * 2 ** 20;

async function* linesOf(name: string, input: Readable): AsyncGenerator<string> {
  const decoder = new StringDecoder("utf8");
  let open = "";
  for await (const chunk of input as AsyncIterable<Buffer | string>) {
    const lines = (open + (typeof chunk === "string" ? chunk : decoder.write(chunk))).split("\n");
    open = lines.pop() ?? "";
    if (open.length > LINE_CHARS_MAX) {
      throw new SampleError(`${name}: a line is longer than 16 MiB; give one JSON object a line`);
    }
    yield* lines;
  }
  yield open + decoder.end();
}

function rowOf(line: string, name: string, number: number): SourceRow {
  let parsed: unknown;
  try {
    parsed = LONG_NUMBER.test(line) ? JSON.parse(line, exactNumber) : JSON.parse(line);
  } catch {
    throw wrongLine(name, number);
  }
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) {
    throw wrongLine(name, number);
  }
  return Object.fromEntries(
    Object.entries(parsed).map(([column, value]: [string, unknown]) => [
      column,
      sourceValue(value),
    ]),
  );
}

/** Such a number may not be exact as a double: ids that differ in the last digit would be one. */
const LONG_NUMBER = /\d{16}/;

function exactNumber(_: string, value: unknown, context?: { readonly source?: string }): unknown {
  const source = context?.source ?? "";
  if (typeof value !== "number" || Number.isSafeInteger(value)) return value;
  return /^-?\d+$/.test(source) ? BigInt(source) : value;
}

function wrongLine(name: string, number: number): SampleError {
  return new SampleError(
    `${name}: line ${number} is not a JSON object; give one object a line, or --format csv`,
  );
}
