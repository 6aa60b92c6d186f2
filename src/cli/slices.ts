/** `braid slices`: the time slices of a namespace. */
import type { Command } from "commander";
import { clientFor } from "./connection.ts";
import type { GlobalOptions } from "./connection.ts";
import { count, json, millis, size, table } from "./print.ts";
import type { Terminal } from "./terminal.ts";

export function addSlices(program: Command, terminal: Terminal): void {
  program
    .command("slices <namespace>")
    .description("list a namespace's time slices")
    .addHelpText("after", "\nExample:\n  $ braid slices plays")
    .action(async (namespace: string, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>();
      const call = { signal: terminal.interrupted };
      const slices = await clientFor(options, terminal).listTimeSlices(namespace, call);
      if (options.json === true) return terminal.print(json({ slices }));
      const rows = slices.map(({ name, start, end, status, timePartition, bytes, events }) => [
        name,
        status,
        start,
        end,
        millis(timePartition.secondsPerTimeBucket * 1000),
        count(timePartition.eventBuckets),
        size(bytes),
        count(events),
      ]);
      const heads = [
        "SLICE",
        "STATUS",
        "START",
        "END",
        ">BUCKET",
        ">EVENT BUCKETS",
        ">SIZE",
        ">EVENTS",
      ];
      return terminal.print(table(heads, rows));
    });
}
