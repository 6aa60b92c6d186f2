/** `braid read`: the events of one id, as a table or as NDJSON exactly as the API has them. */
import type { Command } from "commander";
import type { ReceivedEvent } from "../../client/connect.ts";
import { clientFor } from "./connection.ts";
import type { GlobalOptions } from "./connection.ts";
import { alignRow, count, itemText, printable } from "./print.ts";
import { Progress } from "./progress.ts";
import { addQueryFlags, queryOf } from "./query-flags.ts";
import type { QueryFlags } from "./query-flags.ts";
import type { Terminal } from "./terminal.ts";

export function addRead(program: Command, terminal: Terminal): void {
  addQueryFlags(program.command("read <namespace> <id>"))
    .description("read the events of a time series")
    .option("--progress", "tell on stderr how far it is, also if that is no terminal")
    .addHelpText(
      "after",
      "\nExample:\n  $ braid read plays profile:123 --from -1h --filter device=ios" +
        "\n  $ braid read plays profile:123 --from 2026-11-15 --to now --json | jq .eventId",
    )
    .action(async (namespace: string, id: string, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<
        GlobalOptions & QueryFlags & { progress?: boolean }
      >();
      const query = await queryOf(id, options, terminal);
      // On a screen the events themselves show how far it is.
      const shown = options.progress ?? (terminal.noteIsTty && !terminal.outIsTty);
      const progress = new Progress(terminal, shown);
      const format = options.json === true ? formatJson : tableFormat(terminal.outIsTty);
      let events = 0;
      try {
        const reading = clientFor(options, terminal, {}).stream(namespace, query);
        for await (const page of reading.pages()) {
          await terminal.print(format(page.events));
          events += page.events.length;
          progress.update(() => `${count(events)} events read`);
        }
      } finally {
        progress.clear();
      }
      if (events === 0 && options.json !== true) {
        terminal.note(
          `no events of ${printable(id)} from ${String(query.start)} to ${String(query.end)}\n`,
        );
      }
    });
}

type Format = (events: readonly ReceivedEvent[]) => string;

const formatJson: Format = (events) => events.map((event) => `${JSON.stringify(event)}\n`).join("");

/** Columns are as wide as their widest cell so far: pages are not held back to align them all. */
function tableFormat(isTty: boolean): Format {
  const heads = ["TIME", "EVENT ID", "ITEMS"];
  const widths = heads.map((head) => head.length);
  const lengthMax = isTty ? 60 : Number.POSITIVE_INFINITY;
  let begun = false;
  return (events) => {
    if (events.length === 0) return "";
    const rows = events.map((event) => [
      event.eventTime,
      printable(event.eventId),
      event.items
        .map((item) => `${printable(item.key)}=${itemText(item.value, lengthMax)}`)
        .join("  "),
    ]);
    for (const row of rows) {
      for (const [column, cell] of row.entries()) {
        widths[column] = Math.max(widths[column] ?? 0, cell.length);
      }
    }
    const lines = begun ? rows : [heads, ...rows];
    begun = true;
    return lines.map((row) => `${alignRow(row, heads, widths)}\n`).join("");
  };
}
