/**
 * `braid splits show`: one split, with its sizes and latencies before and after, and its history.
 */
import type { Command } from "commander";
import type { BraidClient, Split } from "../../client/connect.ts";
import { clientFor } from "./connection.ts";
import type { GlobalOptions } from "./connection.ts";
import { addLocationFlags, EXAMPLE_SPLIT, splitTarget } from "./location-flags.ts";
import type { LocationFlags } from "./location-flags.ts";
import { report } from "./split-report.ts";
import { pauseNotes } from "./switch-notes.ts";
import type { Terminal } from "./terminal.ts";
import { addWatchFlag, emitWatched } from "./watch.ts";
import type { WatchFlags } from "./watch.ts";

interface ShowOptions extends GlobalOptions, LocationFlags, WatchFlags {
  readonly parts?: boolean;
}

export function addSplitsShow(splits: Command, terminal: Terminal): void {
  addWatchFlag(addLocationFlags(splits.command("show <namespace> [split]")))
    .description("show a split: its state, sizes and latencies before and after, and its history")
    .option("--parts", "list each part")
    .addHelpText("after", `\nExample:\n  $ braid splits show plays ${EXAMPLE_SPLIT} --parts`)
    .action(
      async (namespace: string, id: string | undefined, _options: unknown, command: Command) => {
        const options = command.optsWithGlobals<ShowOptions>();
        const target = splitTarget(id, options);
        const client = clientFor(options, terminal);
        const withParts = options.parts === true;
        await emitWatched(
          terminal,
          options,
          { client, topics: ["SPLITS"], namespace },
          async () => {
            const call = { signal: terminal.interrupted };
            const split = await client.splits.get(namespace, target, call);
            return {
              value: split,
              blocks: report(split, { withParts, nowMicros: terminal.clock.nowMicros() }),
              notes: await pausedWhileWaiting(client, split, terminal),
            };
          },
        );
      },
    );
}

/** A split does not record pauses, but a pause explains why a waiting split does not move. */
async function pausedWhileWaiting(
  client: BraidClient,
  { namespace, dueTime, owner }: Split,
  { interrupted: signal, clock }: Terminal,
): Promise<string[]> {
  if (dueTime === undefined || owner !== "") return [];
  const { splitsPause } = await client.getNamespace(namespace, { signal });
  return pauseNotes(splitsPause === undefined ? [] : [splitsPause], namespace, clock.nowMicros());
}
