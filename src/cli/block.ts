/** `braid block`: blocks reads and writes of ids. */
import type { Command } from "commander";
import type { BlockedId } from "../../client/connect.ts";
import { line, table } from "./blocks.ts";
import { clientFor } from "./connection.ts";
import type { GlobalOptions } from "./connection.ts";
import { UsageError } from "./failures.ts";
import { emit } from "./output.ts";
import type { Data } from "./output.ts";
import { relative } from "./relative-time.ts";
import type { Terminal } from "./terminal.ts";
import { timeArgument } from "./time-argument.ts";
import { addWatchFlag, emitWatched } from "./watch.ts";
import type { WatchFlags } from "./watch.ts";

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
    .option("--reason <text>", "reason to record with the block")
    .option("--for <duration>", "for this long from now, such as 1h")
    .option("--until <time>", "until this time; without --for and --until the block does not end")
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
      await emit(terminal, options, listing(blocked, terminal.clock.nowMicros()));
    });

  addWatchFlag(block.command("ls <namespace>"))
    .description("list blocked ids")
    .addHelpText("after", "\nExample:\n  $ braid block ls plays")
    .action(async (namespace: string, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & WatchFlags>();
      const client = clientFor(options, terminal);
      const { interrupted: signal, clock } = terminal;
      await emitWatched(terminal, options, undefined, async () => {
        const ids: BlockedId[] = [];
        for await (const id of client.listBlockedIds(namespace, { signal })) ids.push(id);
        const notes = ids.length === 0 ? [`no id is blocked in ${namespace}`] : [];
        return { ...listing(ids, clock.nowMicros()), notes };
      });
    });

  block
    .command("rm <namespace> <id...>")
    .description("unblock ids")
    .addHelpText("after", "\nExample:\n  $ braid block rm plays bot:7")
    .action(async (namespace: string, ids: string[], _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>();
      const call = { signal: terminal.interrupted };
      const unblocked = await clientFor(options, terminal).unblockIds(namespace, ids, call);
      const blocks = [line(`${unblocked} of ${ids.length} unblocked`)];
      const others = ids.length - unblocked;
      const notes = others === 0 ? [] : [notBlocked(others, namespace)];
      await emit(terminal, options, { value: { unblocked }, blocks, notes });
    });
}

/** An id of the server's configuration file stays blocked, too. */
function notBlocked(others: number, namespace: string): string {
  const what = others === 1 ? "1 id was" : `${others} ids were`;
  return (
    `${what} not blocked, or only by the server's configuration file; see the blocked ones: ` +
    `braid block ls ${namespace}`
  );
}

async function expiry(options: AddOptions, terminal: Terminal): Promise<string | undefined> {
  if (options.for !== undefined && options.until !== undefined) {
    throw new UsageError("give --for or --until, not both");
  }
  if (options.for !== undefined) return timeArgument("--for", `+${options.for}`, terminal);
  if (options.until !== undefined) return timeArgument("--until", options.until, terminal);
  return undefined;
}

function listing(ids: readonly BlockedId[], nowMicros: number): Data {
  const rows = ids.map(({ timeSeriesId, reason, expireTime, blockTime, source }) => [
    timeSeriesId,
    typeof expireTime === "string" ? relative(expireTime, nowMicros) : "never",
    relative(blockTime, nowMicros),
    source,
    reason,
  ]);
  const blocks = [table(["ID", "EXPIRES", "BLOCKED", "SOURCE", "REASON"], rows)];
  return { value: { ids }, records: ids, blocks };
}
