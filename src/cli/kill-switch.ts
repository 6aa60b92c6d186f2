/** `braid kill-switch`: makes every read of every namespace use originals. */
import type { Command } from "commander";
import type { KillSwitch } from "../../client/connect.ts";
import { pairs } from "./blocks.ts";
import type { Block } from "./blocks.ts";
import { clientFor } from "./connection.ts";
import type { GlobalOptions } from "./connection.ts";
import { emit } from "./output.ts";
import { withRelative } from "./relative-time.ts";
import type { Terminal } from "./terminal.ts";

export function addKillSwitch(program: Command, terminal: Terminal): void {
  const killSwitch = program
    .command("kill-switch")
    .description("make every read of every namespace use originals")
    .addHelpText("after", '\nExample:\n  $ braid kill-switch on --reason "a difference"');

  for (const name of ["on", "off"] as const) {
    const [about, reason] = TEXTS[name];
    killSwitch
      .command(name)
      .description(about)
      .option("--reason <text>", "reason to record with the change")
      .addHelpText("after", `\nExample:\n  $ braid kill-switch ${name} --reason "${reason}"`)
      .action(async (_options: unknown, command: Command) => {
        const options = command.optsWithGlobals<GlobalOptions & { reason?: string }>();
        const call = { reason: options.reason ?? "", signal: terminal.interrupted };
        const { splits } = clientFor(options, terminal);
        await show(terminal, options, await splits.setKillSwitch(name === "on", call));
      });
  }

  killSwitch
    .command("status")
    .alias("get")
    .description("show whether it is on, since when and why")
    .addHelpText("after", "\nExample:\n  $ braid kill-switch status")
    .action(async (_options: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>();
      const call = { signal: terminal.interrupted };
      const state = await clientFor(options, terminal).splits.getKillSwitch(call);
      await show(terminal, options, state);
    });
}

const TEXTS = {
  on: ["stop reading splits, everywhere", "looking into a difference"],
  off: ["read splits again", "looked into it"],
} as const;

async function show(terminal: Terminal, options: GlobalOptions, state: KillSwitch): Promise<void> {
  const blocks = [describe(state, terminal.clock.nowMicros())];
  const which = state.on ? "on" : "off";
  const notes = state.unchanged
    ? [`it was already ${which}; it keeps the time, operator and reason of the first request`]
    : [];
  await emit(terminal, options, { value: state, blocks, notes });
}

function describe({ on, setTime, by, reason }: KillSwitch, nowMicros: number): Block {
  const why = reason === "" ? "" : `: ${reason}`;
  return pairs([
    ["kill switch", on ? "ON: every read uses originals" : "off"],
    [
      "set",
      setTime === undefined ? "never" : `${withRelative(setTime, nowMicros)}, by ${by}${why}`,
    ],
  ]);
}
