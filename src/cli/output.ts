/** `-o table|json|yaml|csv|text`: the one place that formats data. */
import { Option } from "commander";
import { renderAligned, renderCells } from "./blocks.ts";
import type { Block } from "./blocks.ts";
import { csv } from "./csv.ts";
import type { ListName } from "./csv-columns.ts";
import { UsageError } from "./failures.ts";
import { printable } from "./print.ts";
import { lookOf } from "./style.ts";
import type { Terminal } from "./terminal.ts";

export const OUTPUT_FORMATS = ["table", "json", "yaml", "csv", "text"] as const;
export type OutputFormat = (typeof OUTPUT_FORMATS)[number];

export interface OutputOptions {
  readonly output?: OutputFormat;
  readonly json?: boolean;
}

/** The output of a command, for people and for programs. */
export interface Data {
  /** In the API's form. */
  readonly value: object;
  /** The rows of a CSV file; `value` as the only row if not given. */
  readonly records?: readonly object[];
  /** What the records are, if the list's name in `value` does not say it. */
  readonly list?: ListName;
  /** The columns of records that are not the API's own. */
  readonly columns?: readonly string[];
  readonly blocks: readonly Block[];
  /** Notes for people, one line each, on stderr. */
  readonly notes?: readonly string[];
}

export function outputOption(): Option {
  return new Option("-o, --output <format>", "how data is printed (default: table)").choices(
    OUTPUT_FORMATS,
  );
}

export function formatOf({ output, json }: OutputOptions): OutputFormat {
  if (json !== true) return output ?? "table";
  if (output !== undefined && output !== "json") {
    throw new UsageError(`--json is short for -o json: leave out one of --json and -o ${output}`);
  }
  return "json";
}

/** Whether the data is for people, who also want hints. */
export function isForPeople(options: OutputOptions): boolean {
  return formatOf(options) === "table";
}

export async function emit(terminal: Terminal, options: OutputOptions, data: Data): Promise<void> {
  await terminal.print(await formatted(terminal, formatOf(options), data));
  for (const note of data.notes ?? []) terminal.note(`braid: ${printable(note)}\n`);
}

export async function formatted(
  terminal: Terminal,
  format: OutputFormat,
  { value, records = [value], list, columns, blocks }: Data,
): Promise<string> {
  switch (format) {
    case "json":
      return `${JSON.stringify(value, null, 2)}\n`;
    case "yaml": {
      const { stringify } = await import("yaml");
      return stringify(value);
    }
    case "csv": {
      if (records.length > 0) return csv(records);
      const { columnsOf } = await import("./csv-columns.ts");
      return csv(records, columns ?? (await columnsOf(value, list)));
    }
    case "text":
      return renderCells(blocks);
    case "table":
      return renderAligned(blocks, lookOf(terminal));
  }
}
