/** The command-line flags that select events, shared by `read` and `explain`. */
import { Option } from "commander";
import type { Command } from "commander";
import type { ReadQuery } from "../../client/connect.ts";
import { UsageError } from "./failures.ts";
import { append } from "./namespace-flags.ts";
import type { Terminal } from "./terminal.ts";
import { timeArgument } from "./time-argument.ts";

export interface QueryFlags {
  readonly from: string;
  readonly to: string;
  readonly order?: "newest" | "oldest";
  readonly limit?: string;
  readonly pageSize?: string;
  readonly filter?: readonly string[];
}

export function addQueryFlags(command: Command): Command {
  return command
    .option(
      "--from <time>",
      "start, included, such as 2026-11-15T10:00:00Z, 2026-11-15, now, -1h",
      "-1h",
    )
    .option("--to <time>", "end, not included", "now")
    .addOption(
      new Option("--order <order>", "newest or oldest first (default: newest)").choices([
        "newest",
        "oldest",
      ]),
    )
    .option("--limit <events>", "the most events to read")
    .option("--page-size <events>", "events in a page (default: 100)")
    .option("--filter <key=value>", "only events with this item; may be repeated", append);
}

export async function queryOf(
  id: string,
  flags: QueryFlags,
  terminal: Terminal,
): Promise<ReadQuery> {
  const filters = Object.fromEntries((flags.filter ?? []).map(parseFilter));
  const limit = parseCount("--limit", flags.limit);
  const pageSize = parseCount("--page-size", flags.pageSize);
  return {
    timeSeriesId: id,
    start: await timeArgument("--from", flags.from, terminal),
    end: await timeArgument("--to", flags.to, terminal),
    filters,
    ...(flags.order === "oldest" && { order: "OLDEST_FIRST" }),
    ...(flags.order === "newest" && { order: "NEWEST_FIRST" }),
    ...(limit !== undefined && { totalRecordLimit: limit }),
    ...(pageSize !== undefined && { pageSize }),
    signal: terminal.interrupted,
  };
}

function parseFilter(text: string): [string, string] {
  const at = text.indexOf("=");
  if (at < 1) throw new UsageError(`--filter ${text}: give key=value`);
  return [text.slice(0, at), text.slice(at + 1)];
}

function parseCount(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < 1) {
    throw new UsageError(`${flag} ${text}: not a whole number of at least 1`);
  }
  return number;
}
