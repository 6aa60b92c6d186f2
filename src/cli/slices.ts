/** `braid slices`: the time slices of a namespace. */
import type { Command } from "commander";
import type { TimeSlice } from "../../client/connect.ts";
import { table } from "./blocks.ts";
import type { Block } from "./blocks.ts";
import { clientFor } from "./connection.ts";
import type { GlobalOptions } from "./connection.ts";
import { EXIT, ExitError, UsageError } from "./failures.ts";
import { emit } from "./output.ts";
import { count, millis, size } from "./print.ts";
import type { Terminal } from "./terminal.ts";
import { addWatchFlag, emitWatched } from "./watch.ts";
import type { WatchFlags } from "./watch.ts";

export function addSlices(program: Command, terminal: Terminal): void {
  const list = addWatchFlag(program.command("slices <namespace>"))
    .description("list a namespace's time slices")
    .addHelpText("after", "\nExample:\n  $ braid slices plays")
    .action(async (namespace: string, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & WatchFlags>();
      const client = clientFor(options, terminal);
      await emitWatched(terminal, options, { client, topics: ["SLICES"], namespace }, async () => {
        const call = { signal: terminal.interrupted };
        const slices = await client.listTimeSlices(namespace, call);
        return { value: { slices }, records: slices, blocks: [listing(slices)] };
      });
    });

  list
    .command("undrop <namespace> <slice>")
    .description("take back a slice that is DROPPING")
    .addHelpText(
      "after",
      "\nRetention leaves it alone for one more drop_grace; a longer --delete-after keeps it." +
        "\n\nExample:\n  $ braid slices undrop plays data_20260328",
    )
    .action(async (namespace: string, slice: string, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>();
      const call = { signal: terminal.interrupted };
      const client = clientFor(options, terminal);
      const before = (await client.listTimeSlices(namespace, call)).find(
        ({ name }) => name === slice,
      );
      const kept = await client.undropTimeSlice(namespace, slice, call);
      const wasDropping = before === undefined || before.status === "DROPPING";
      const notes = wasDropping
        ? []
        : [`${slice} is ${kept.status}, not DROPPING: nothing changed`];
      await emit(terminal, options, { value: kept, blocks: [listing([kept])], notes });
    });

  list
    .command("purge <namespace> <slice>")
    .description("drop a slice that is DROPPING at once, to free its space; cannot be undone")
    .option("-y, --yes", "purge without asking; required without a terminal")
    .addHelpText(
      "after",
      "\nWithout it, retention drops the slice when its grace is over.\n\nExample:" +
        "\n  $ braid slices purge plays data_20260328 --yes",
    )
    .action(async (namespace: string, slice: string, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & { yes?: boolean }>();
      if (options.yes !== true) await confirmPurge(namespace, slice, terminal);
      const call = { signal: terminal.interrupted };
      const dropped = await clientFor(options, terminal).purgeTimeSlice(namespace, slice, call);
      await emit(terminal, options, { value: dropped, blocks: [listing([dropped])] });
    });
}

async function confirmPurge(
  namespace: string,
  slice: string,
  { ask, note }: Terminal,
): Promise<void> {
  if (ask === undefined) {
    throw new UsageError(
      `the events of ${slice} would be deleted for good, and there is no terminal to ask on: to delete ` +
        `them, run braid slices purge ${namespace} ${slice} --yes`,
    );
  }
  const answer = await ask(
    `This deletes the events of ${slice} for good. Type its name to confirm: `,
  );
  if (answer.trim() === slice) return;
  note("braid: nothing was deleted\n");
  throw new ExitError(EXIT.failed);
}

function listing(slices: readonly TimeSlice[]): Block {
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
  return table(
    ["=SLICE", "=STATUS", "=START", "?=END", "?>BUCKET", "?>EVENT BUCKETS", ">SIZE", ">EVENTS"],
    rows,
  );
}
