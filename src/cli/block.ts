/** `braid block`: the ids whose reads and writes are refused. */
import type { Command } from "commander";
import type { BlockedId } from "../../client/connect.ts";
import { clientFor } from "./connection.ts";
import type { GlobalOptions } from "./connection.ts";
import { UsageError } from "./failures.ts";
import { json, table } from "./print.ts";
import type { Terminal } from "./terminal.ts";
import { timeArgument } from "./time-argument.ts";

interface AddOptions extends GlobalOptions {
  readonly reason?: string;
  readonly for?: string;
  readonly until?: string;
}

export function addBlock(program: Command, terminal: Terminal): void {
  const block = program
    .command("block")
    .description("refuse reads and writes of some ids")
    .addHelpText("after", "\nExample:\n  $ braid block add plays bot:7 --reason spam --for 1d");

  block
    .command("add <namespace> <id...>")
    .description("block ids")
    .option("--reason <text>", "why, for whoever wonders later")
    .option("--for <duration>", "until so long from now, such as 1h")
    .option("--until <time>", "until this time; for ever if neither is given")
    .addHelpText(
      "after",
      "\nExample:\n  $ braid block add plays bot:7 bot:8 --reason spam --for 1d",
    )
    .action(async (namespace: string, ids: string[], _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<AddOptions>();
      const expireTime = await expiry(options, terminal);
      const wanted = ids.map((timeSeriesId) => ({
        timeSeriesId,
        reason: options.reason ?? "",
        ...(expireTime !== undefined && { expireTime }),
      }));
      const call = { signal: terminal.interrupted };
      const blocked = await clientFor(options, terminal).blockIds(namespace, wanted, call);
      await show(terminal, options, blocked);
    });

  block
    .command("ls <namespace>")
    .description("list blocked ids")
    .addHelpText("after", "\nExample:\n  $ braid block ls plays")
    .action(async (namespace: string, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>();
      const { interrupted: signal } = terminal;
      const ids: BlockedId[] = [];
      const listed = clientFor(options, terminal).listBlockedIds(namespace, { signal });
      for await (const id of listed) ids.push(id);
      await show(terminal, options, ids);
    });

  block
    .command("rm <namespace> <id...>")
    .description("no longer block ids")
    .addHelpText("after", "\nExample:\n  $ braid block rm plays bot:7")
    .action(async (namespace: string, ids: string[], _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>();
      const call = { signal: terminal.interrupted };
      const unblocked = await clientFor(options, terminal).unblockIds(namespace, ids, call);
      const text = `${unblocked} of ${ids.length} unblocked\n`;
      await terminal.print(options.json === true ? json({ unblocked }) : text);
    });
}

async function expiry(options: AddOptions, terminal: Terminal): Promise<string | undefined> {
  if (options.for !== undefined && options.until !== undefined) {
    throw new UsageError("give --for or --until, not both");
  }
  if (options.for !== undefined) return timeArgument("--for", `+${options.for}`, terminal);
  if (options.until !== undefined) return timeArgument("--until", options.until, terminal);
  return undefined;
}

async function show(
  terminal: Terminal,
  options: GlobalOptions,
  ids: readonly BlockedId[],
): Promise<void> {
  if (options.json === true) return terminal.print(json({ ids }));
  const rows = ids.map(({ timeSeriesId, reason, expireTime, blockTime, source }) => [
    timeSeriesId,
    expireTime ?? "never",
    blockTime,
    source,
    reason,
  ]);
  return terminal.print(table(["ID", "EXPIRES", "BLOCKED", "SOURCE", "REASON"], rows));
}
