/** `braid clock`: how far Braid believes the clock of the server's machine. */
import type { Command } from "commander";
import type { ClockStatus } from "../../client/connect.ts";
import { pairs } from "./blocks.ts";
import { clientFor } from "./connection.ts";
import type { GlobalOptions } from "./connection.ts";
import { emit } from "./output.ts";
import { duration } from "./print.ts";
import type { Terminal } from "./terminal.ts";

export function addClock(program: Command, terminal: Terminal): void {
  const clock = program
    .command("clock")
    .description("confirm the clock of the server's machine")
    .addHelpText("after", "\nExample:\n  $ braid clock confirm");

  clock
    .command("confirm")
    .description("believe the server's clock from now on, after you have checked it")
    .addHelpText("after", "\nExample:\n  $ braid clock confirm")
    .action(async (_options: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>();
      const client = clientFor(options, terminal);
      const status = await client.confirmClock({ signal: terminal.interrupted });
      const blocks = [
        pairs([
          ["clock", clockLine(status)],
          ["believed", status.believedTime],
        ]),
      ];
      await emit(terminal, options, { value: status, blocks });
    });
}

/** One line for people: "believed", or by how much the clock is in doubt. */
export function clockLine({ inDoubt, leap }: ClockStatus): string {
  if (!inDoubt) return "believed";
  const side = leap.startsWith("-") ? "behind" : "ahead of";
  return `IN DOUBT: ${duration(leap.replace(/^-/, ""))} ${side} believed time`;
}
