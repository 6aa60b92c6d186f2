/** `braid modes` and `braid kill-switch`: how far reads trust splits. */
import { Argument, InvalidArgumentError } from "commander";
import type { Command } from "commander";
import { BraidError } from "../../client/connect.ts";
import type { KillSwitch, ReadMode, ReadModeName } from "../../client/connect.ts";
import { READ_MODES } from "../model/read-mode.ts";
import { clientFor } from "./connection.ts";
import type { GlobalOptions } from "./connection.ts";
import { count, json, pairs, size, table } from "./print.ts";
import type { Terminal } from "./terminal.ts";

interface SetOptions extends GlobalOptions {
  readonly force?: boolean;
  readonly autoAdvance?: boolean;
  readonly reason?: string;
}

export function addModes(program: Command, terminal: Terminal): void {
  const modes = program
    .command("modes")
    .description("how far a namespace's reads trust its splits")
    .addHelpText("after", "\nExample:\n  $ braid modes get plays");

  modes
    .command("get <namespace>")
    .description("show the read mode, its evidence, and what it waits for")
    .addHelpText("after", "\nExample:\n  $ braid modes get plays")
    .action(async (namespace: string, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>();
      const call = { signal: terminal.interrupted };
      const mode = await clientFor(options, terminal).splits.getReadMode(namespace, call);
      await terminal.print(options.json === true ? json(mode) : describeMode(mode));
    });

  modes
    .command("set <namespace>")
    .description("set the read mode")
    .addArgument(new Argument("<mode>", READ_MODES.join(", ")).argParser(modeArgument))
    .option("--force", "whatever the evidence says; it is recorded")
    .option("--auto-advance", "let evidence move it on")
    .option("--no-auto-advance", "do not let evidence move it on")
    .option("--reason <text>", "why, for whoever wonders later")
    .addHelpText(
      "after",
      '\nExample:\n  $ braid modes set plays SERVE --force --reason "compared by hand"' +
        "\n  $ braid modes set plays shadow --no-auto-advance",
    )
    .action(async (namespace: string, mode: ReadModeName, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<SetOptions>();
      const set = await setMode(namespace, mode, options, terminal);
      await terminal.print(options.json === true ? json(set) : describeMode(set));
    });
}

export function addKillSwitch(program: Command, terminal: Terminal): void {
  const killSwitch = program
    .command("kill-switch")
    .description("serve every read of every namespace from originals")
    .addHelpText("after", '\nExample:\n  $ braid kill-switch on --reason "a difference"');

  for (const name of ["on", "off"] as const) {
    killSwitch
      .command(name)
      .description(name === "on" ? "no split is read any more" : "splits are read again")
      .option("--reason <text>", "why, for whoever wonders later")
      .addHelpText(
        "after",
        `\nExample:\n  $ braid kill-switch ${name} --reason "${name === "on" ? "looking into a difference" : "looked into it"}"`,
      )
      .action(async (_options: unknown, command: Command) => {
        const options = command.optsWithGlobals<GlobalOptions & { reason?: string }>();
        const call = { reason: options.reason ?? "", signal: terminal.interrupted };
        const { splits } = clientFor(options, terminal);
        const state = await splits.setKillSwitch(name === "on", call);
        await terminal.print(options.json === true ? json(state) : describeSwitch(state));
      });
  }

  killSwitch
    .command("status")
    .description("show whether it is on, since when and why")
    .addHelpText("after", "\nExample:\n  $ braid kill-switch status")
    .action(async (_options: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>();
      const call = { signal: terminal.interrupted };
      const state = await clientFor(options, terminal).splits.getKillSwitch(call);
      await terminal.print(options.json === true ? json(state) : describeSwitch(state));
    });
}

async function setMode(
  namespace: string,
  mode: ReadModeName,
  options: SetOptions,
  terminal: Terminal,
): Promise<ReadMode> {
  const { force = false, autoAdvance, reason = "" } = options;
  try {
    return await clientFor(options, terminal).splits.setReadMode(namespace, mode, {
      force,
      ...(autoAdvance !== undefined && { autoAdvance }),
      reason,
      signal: terminal.interrupted,
    });
  } catch (error) {
    if (!(error instanceof BraidError) || error.code !== "CONFLICT") throw error;
    // Evidence takes its time: a hint to repeat it in a second would mislead.
    const hint = force ? "" : "; --force skips the evidence";
    throw new BraidError(error.code, `${error.message}${hint}`, { details: error.details });
  }
}

function describeMode(mode: ReadMode): string {
  const { evidence, nextMode, blockedBy } = mode;
  const waits = blockedBy === "" ? "nothing is in the way" : blockedBy;
  const rows = evidence.map((seen) => [
    seen.layout,
    seen.strategy,
    count(seen.readsCompared),
    size(seen.bytesMatched),
    size(seen.bytesDiffered),
    seen.since,
  ]);
  const heads = ["LAYOUT", "STRATEGY", ">READS COMPARED", ">EQUAL", ">DIFFERENT", "SINCE"];
  return (
    pairs([
      ["mode", mode.mode],
      ["since", `${mode.since}, by ${mode.by}${because(mode.reason)}`],
      ["next", nextMode === undefined ? blockedBy || "none" : `${nextMode}: ${waits}`],
      ["advances", mode.autoAdvance ? "by itself, on evidence" : "only when told"],
    ]) + (rows.length === 0 ? "no evidence yet\n" : table(heads, rows))
  );
}

function describeSwitch({ on, setTime, by, reason }: KillSwitch): string {
  const what = on ? "on: every read is served from originals" : "off";
  return pairs([
    ["kill switch", what],
    ["set", setTime === undefined ? "never" : `${setTime}, by ${by}${because(reason)}`],
  ]);
}

function because(reason: string): string {
  return reason === "" ? "" : `: ${reason}`;
}

function modeArgument(text: string): ReadModeName {
  const mode = READ_MODES.find((known) => known === text.toUpperCase());
  if (mode !== undefined) return mode;
  throw new InvalidArgumentError(`It is one of ${READ_MODES.join(", ")}.`);
}
