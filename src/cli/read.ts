/** `braid read`: the events of one id, page by page, for people or exactly in the API's form. */
import type { Command } from "commander";
import type { ReceivedEvent } from "../../client/connect.ts";
import { alignRow } from "./blocks.ts";
import { clientFor } from "./connection.ts";
import type { GlobalOptions } from "./connection.ts";
import { csvRow } from "./csv.ts";
import { formatOf, isForPeople } from "./output.ts";
import type { OutputFormat } from "./output.ts";
import { count, itemText, printable } from "./print.ts";
import { percent, perSecond, Progress } from "./progress.ts";
import { addQueryFlags, queryOf } from "./query-flags.ts";
import type { QueryFlags } from "./query-flags.ts";
import { lookOf, paint } from "./style.ts";
import type { Terminal } from "./terminal.ts";
import { textLine } from "./text-event.ts";

export function addRead(program: Command, terminal: Terminal): void {
  addQueryFlags(program.command("read <namespace> <id>"))
    .description("read the events of a time series")
    .option("--progress", "show progress on stderr even if this is not a terminal")
    .addHelpText(
      "after",
      `
-o json prints a line of JSON for each event, with values in base64, as \`braid write\` takes them.
-o text prints the same with values as text, as \`braid write --text\` takes them.
-o csv prints a row for each item of each event.

Example:
  $ braid read plays profile:123 --from -1h --filter device=ios
  $ braid read plays profile:123 --from -1h -o text
  $ braid read plays profile:123 --from 2026-11-15 --to now --json | jq .eventId`,
    )
    .action(async (namespace: string, id: string, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<
        GlobalOptions & QueryFlags & { progress?: boolean }
      >();
      const query = await queryOf(id, options, terminal);
      // On a screen the events themselves show the progress.
      const shown = options.progress ?? (terminal.noteIsTty && !terminal.outIsTty);
      const progress = new Progress(terminal, shown);
      const format = await formatFor(formatOf(options), terminal);
      let events = 0;
      try {
        const reading = clientFor(options, terminal, {}).stream(namespace, query);
        for await (const page of reading.pages()) {
          await terminal.print(format(page.events));
          events += page.events.length;
          progress.update(
            (sinceMs) =>
              `${percent(events, query.totalRecordLimit)}${count(events)} events read, ` +
              perSecond(events, sinceMs),
          );
        }
      } finally {
        progress.clear();
      }
      if (events === 0 && isForPeople(options)) {
        terminal.note(
          `no events of ${printable(id)} from ${String(query.start)} to ${String(query.end)}; ` +
            "change the interval with --from and --to\n",
        );
      }
    });
}

/** Called for each page, so that pages are printed as they arrive. */
type Format = (events: readonly ReceivedEvent[]) => string;

async function formatFor(format: OutputFormat, terminal: Terminal): Promise<Format> {
  switch (format) {
    case "json":
      return (events) => events.map((event) => `${JSON.stringify(event)}\n`).join("");
    case "text":
      return (events) => events.map(textLine).join("");
    case "yaml": {
      const { stringify } = await import("yaml");
      return (events) => events.map((event) => `---\n${stringify(event.toJSON())}`).join("");
    }
    case "csv":
      return csvFormat();
    case "table":
      return tableFormat(terminal);
  }
}

function csvFormat(): Format {
  let begun = false;
  return (events) => {
    const heads = ["timeSeriesId", "eventTime", "eventId", "eventItemKey", "eventItemValue"];
    const rows = events.flatMap((event) => {
      const { timeSeriesId, eventTime, eventId } = event;
      const items = event.items.map(({ key, value }) => [key, itemText(value)]);
      return (items.length === 0 ? [["", ""]] : items).map((item) =>
        csvRow([timeSeriesId, eventTime, eventId, ...item]),
      );
    });
    const lines = begun ? rows : [csvRow(heads), ...rows];
    begun = true;
    return lines.join("");
  };
}

/** Columns are as wide as their widest cell so far, because pages are printed as they arrive. */
function tableFormat(terminal: Terminal): Format {
  const heads = ["TIME", "EVENT ID", "ITEMS"];
  const widths = heads.map((head) => head.length);
  const { colour, columns } = lookOf(terminal);
  const valueMax = columns === undefined ? undefined : VALUE_COLUMNS;
  let begun = false;
  return (events) => {
    if (events.length === 0) return "";
    const rows = events.map((event) => [
      event.eventTime,
      printable(event.eventId),
      event.items
        .map(({ key, value }) => `${printable(key)}=${printable(itemText(value, valueMax))}`)
        .join("  "),
    ]);
    for (const row of rows) {
      for (const [column, cell] of row.entries()) {
        widths[column] = Math.max(widths[column] ?? 0, cell.length);
      }
    }
    const lines = rows.map((row) => `${cut(alignRow(row, heads, widths), columns)}\n`);
    if (!begun) lines.unshift(`${paint("bold", alignRow(heads, heads, widths), colour)}\n`);
    begun = true;
    return lines.join("");
  };
}

/** The limit of one value on a screen. */
const VALUE_COLUMNS = 60;

function cut(text: string, columns: number | undefined): string {
  return columns === undefined || text.length <= columns ? text : `${text.slice(0, columns - 1)}…`;
}
