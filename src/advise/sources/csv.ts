/** Rows of a CSV file whose first line names the columns. */
import { pipeline, Readable } from "node:stream";
import { CsvError, parse } from "csv-parse";
import { SampleError } from "../draw-sample.ts";
import { cqlType, isMissing } from "../read-value.ts";
import type { RowBatch, SourceRow } from "../row-source.ts";
import { BATCH_ROWS } from "./batch-rows.ts";

/** A longer record is a missing quote. */
const RECORD_BYTES_MAX = 16 * 2 ** 20;

export async function* csvBatches(
  name: string,
  input: Readable,
  bytes: () => Pick<RowBatch, "bytesRead" | "bytesTotal">,
): AsyncGenerator<RowBatch> {
  const chunks: AsyncIterator<Buffer | string> = input[Symbol.asyncIterator]();
  const first = await chunks.next();
  const parser = parse({
    columns: (names: readonly string[]) => columnsOf(name, names),
    bom: true,
    delimiter: first.done === true ? "," : separatorOf(String(first.value)),
    skip_empty_lines: true,
    max_record_size: RECORD_BYTES_MAX,
  });
  // The loop below receives a failure through the parser.
  pipeline(Readable.from(allOf(first, chunks)), parser, () => undefined);
  let batch: SourceRow[] = [];
  try {
    for await (const row of parser) {
      // With `columns` a record is an object of texts.
      batch.push(row as SourceRow);
      if (batch.length < BATCH_ROWS) continue;
      yield { rows: batch, ...bytes() };
      batch = [];
    }
  } catch (error) {
    if (error instanceof CsvError) throw new SampleError(`${name}: ${error.message}`);
    throw error;
  } finally {
    input.destroy();
  }
  yield { rows: batch, ...bytes() };
}

async function* allOf<T>(
  first: IteratorResult<T>,
  chunks: AsyncIterator<T>,
): AsyncGenerator<T, void> {
  for (let next = first; next.done !== true; next = await chunks.next()) yield next.value;
}

/** The names in the first line; pandas writes a nameless column of row numbers. */
function columnsOf(name: string, names: readonly string[]): string[] {
  const value = names.find((each) => (isMissing(each) ? false : cqlType(each) !== "text"));
  if (value !== undefined) {
    throw new SampleError(
      `${name}: its first line has a value, "${value}", where names of columns must be; add a line ` +
        "with the names (cqlsh: COPY ... WITH HEADER = true)",
    );
  }
  const columns = names.map((each, at) => (isMissing(each) ? `column_${at + 1}` : each));
  const twice = columns.find((each, at) => columns.indexOf(each) < at);
  if (twice !== undefined) {
    throw new SampleError(`${name}: two columns are named ${twice}; rename or remove one`);
  }
  return columns;
}

/** The one that is most often in the line with the names. */
function separatorOf(text: string): string {
  const [names = ""] = text.split(/\r?\n/, 1);
  const count = (separator: string): number => names.split(separator).length;
  return [",", ";", "\t"].toSorted((a, b) => count(b) - count(a))[0] ?? ",";
}
