/** `braid modes`: how far the reads of a namespace trust its splits. */
import { Argument, InvalidArgumentError } from "commander";
import type { Command } from "commander";
import { BraidError } from "../../client/connect.ts";
import type { ReadMode, ReadModeName } from "../../client/connect.ts";
import { READ_MODES } from "../model/read-mode.ts";
import { line, pairs, table } from "./blocks.ts";
import type { Block } from "./blocks.ts";
import { clientFor } from "./connection.ts";
import type { GlobalOptions } from "./connection.ts";
import { emit } from "./output.ts";
import type { Data } from "./output.ts";
import { count, size } from "./print.ts";
import { withRelative } from "./relative-time.ts";
import { killSwitchNotes, pauseNotes } from "./switch-notes.ts";
import type { Terminal } from "./terminal.ts";
import { addWatchFlag, emitWatched } from "./watch.ts";
import type { WatchFlags } from "./watch.ts";

type Evidence = ReadMode["evidence"][number];

interface SetOptions extends GlobalOptions {
  readonly force?: boolean;
  readonly autoAdvance?: boolean;
  readonly reason?: string;
}

export function addModes(program: Command, terminal: Terminal): void {
  const modes = program
    .command("modes")
    .description("show and set how far a namespace's reads trust its splits")
    .addHelpText("after", "\nExample:\n  $ braid modes get plays");

  addWatchFlag(modes.command("get <namespace>"))
    .description("show the read mode, its evidence, and what blocks the next mode")
    .addHelpText(
      "after",
      "\nExample:\n  $ braid modes get plays\n  $ braid modes get plays --watch",
    )
    .action(async (namespace: string, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & WatchFlags>();
      const client = clientFor(options, terminal);
      await emitWatched(
        terminal,
        options,
        { client, topics: ["READ_MODE"], namespace },
        async () => {
          const mode = await client.splits.getReadMode(namespace, { signal: terminal.interrupted });
          return shown(mode, terminal.clock.nowMicros());
        },
      );
    });

  modes
    .command("set <namespace>")
    .description("set the read mode")
    .addArgument(new Argument("<mode>", READ_MODES.join(", ")).argParser(modeArgument))
    .option("--force", "set it whatever the evidence says; Braid records who asked and why")
    .option("--auto-advance", "evidence advances the mode")
    .option("--no-auto-advance", "the mode stays until it is set")
    .option("--reason <text>", "reason to record with the change")
    .addHelpText(
      "after",
      '\nExample:\n  $ braid modes set plays SERVE --force --reason "compared by hand"' +
        "\n  $ braid modes set plays shadow --no-auto-advance",
    )
    .action(async (namespace: string, mode: ReadModeName, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<SetOptions>();
      const set = await setMode(namespace, mode, options, terminal);
      await emit(terminal, options, shown(set, terminal.clock.nowMicros()));
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
    // Evidence takes time to collect: a hint to retry in a second would mislead.
    const message = error.message.replaceAll("with force", "with --force");
    const hint = force || message.includes("--force") ? "" : "; --force skips the evidence";
    throw new BraidError(error.code, `${message}${hint}`, { details: error.details });
  }
}

function shown(mode: ReadMode, nowMicros: number): Data {
  const pauses = mode.splitsPause === undefined ? [] : [mode.splitsPause];
  return {
    value: mode,
    records: (mode.evidence.length === 0 ? [NO_EVIDENCE] : mode.evidence).map((seen) => {
      return { mode: mode.mode, ...seen };
    }),
    blocks: describe(mode, nowMicros),
    notes: [...killSwitchNotes(mode.killSwitch, nowMicros), ...pauseNotes(pauses, "", nowMicros)],
  };
}

/** The row of a mode that has none yet. */
const NO_EVIDENCE: Evidence = {
  layout: "",
  strategy: "",
  readsCompared: "0",
  bytesMatched: "0",
  bytesDiffered: "0",
  splitsCompared: "0",
  since: "",
};

function describe(mode: ReadMode, nowMicros: number): Block[] {
  const { evidence, nextMode, blockedBy, reason } = mode;
  const waits = blockedBy === "" ? "nothing" : blockedBy;
  const why = reason === "" ? "" : `: ${reason}`;
  const rows = evidence.map((seen) => [
    seen.layout,
    seen.strategy,
    count(seen.readsCompared),
    size(seen.bytesMatched),
    size(seen.bytesDiffered),
    count(seen.splitsCompared),
    withRelative(seen.since, nowMicros),
  ]);
  const heads = [
    "LAYOUT",
    "STRATEGY",
    ">READS COMPARED",
    ">EQUAL",
    ">DIFFERENT",
    ">SPLITS",
    "SINCE",
  ];
  return [
    pairs([
      ["mode", mode.killSwitch.on ? `${mode.mode}, but the kill switch is on` : mode.mode],
      ["since", `${withRelative(mode.since, nowMicros)}, by ${mode.by}${why}`],
      ["next", nextMode === undefined ? blockedBy || "none" : `${nextMode}: ${waits}`],
      ...advances(mode),
    ]),
    rows.length === 0 ? line("no evidence in this mode yet") : table(heads, rows),
  ];
}

/** From the first mode only an operator moves on, and behind the last there is none. */
function advances({ mode, autoAdvance }: ReadMode): [string, string][] {
  if (mode === "OFF" || mode === "SERVE") return [];
  return [["advances", autoAdvance ? "by itself, on evidence" : "only when set"]];
}

function modeArgument(text: string): ReadModeName {
  const mode = READ_MODES.find((known) => known === text.toUpperCase());
  if (mode !== undefined) return mode;
  throw new InvalidArgumentError(`It is one of ${READ_MODES.join(", ")}.`);
}
