/**
 * The command line: the tree of commands, and how each ends.
 *
 * Only what a command needs is loaded when it runs, so that `braid --help` answers at once.
 */
import { Command, CommanderError } from "commander";
import { BraidError } from "../../client/braid-error.ts";
import { addBlock } from "./block.ts";
import { addCompletion } from "./completion.ts";
import { addConfig } from "./config.ts";
import { DEFAULT_URL } from "./connection.ts";
import { addExplain } from "./explain.ts";
import { EXIT, ExitError, exitCodeOf, explainFailure, UsageError } from "./failures.ts";
import { addHistogram } from "./histogram.ts";
import { addKillSwitch, addModes } from "./modes.ts";
import { addNs } from "./ns.ts";
import { addRead } from "./read.ts";
import { addServe, addWorker } from "./serve.ts";
import { addSlices } from "./slices.ts";
import { addSplits } from "./splits.ts";
import type { Terminal } from "./terminal.ts";
import { addVerify } from "./verify.ts";
import { addWrite } from "./write.ts";

/** Runs one command, `args` being what stands behind `braid`, and resolves with its exit code. */
export async function run(args: readonly string[], terminal: Terminal): Promise<number> {
  const printed: Promise<void>[] = [];
  const program = commandTree(terminal, printed);
  let running = program;
  program.hook("preAction", (_program, command) => {
    running = command;
  });
  try {
    await program.parseAsync([...args], { from: "user" });
    return EXIT.done;
  } catch (error) {
    return exitCode(error, running, terminal);
  } finally {
    await Promise.all(printed);
  }
}

function exitCode(error: unknown, running: Command, terminal: Terminal): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
  if (error instanceof ExitError) return error.exitCode;
  if (error instanceof UsageError) {
    terminal.note(`braid: ${error.message}\n${usageOf(running)}`);
    return EXIT.usage;
  }
  if (error instanceof Interrupted) return EXIT.interrupted;
  if (error instanceof BraidError) {
    terminal.note(explainFailure(error));
    return exitCodeOf(error);
  }
  // A bug of ours: all that is known helps whoever looks for it.
  terminal.note(`braid: ${error instanceof Error ? error.stack : String(error)}\n`);
  return EXIT.failed;
}

/** The reason of a terminal's `interrupted`. */
export class Interrupted extends Error {
  constructor() {
    super("interrupted");
  }
}

function commandTree(terminal: Terminal, printed: Promise<void>[]): Command {
  const program = new Command("braid")
    .description("A time-series event store that keeps its own partitions at a healthy width.")
    .option("--url <url>", `the server, or BRAID_URL (default: ${DEFAULT_URL})`)
    .option("--json", "print data as JSON")
    .configureHelp({ showGlobalOptions: true })
    .addHelpText(
      "after",
      `
Example:
  $ braid serve
  $ braid ns create plays
  $ braid write plays events.ndjson
  $ braid read plays profile:123 --from -1h

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not found, 4 refused, 130 interrupted.`,
    );
  addServe(program, terminal);
  addWorker(program, terminal);
  addNs(program, terminal);
  addWrite(program, terminal);
  addRead(program, terminal);
  addExplain(program, terminal);
  addSlices(program, terminal);
  addHistogram(program, terminal);
  addBlock(program, terminal);
  addSplits(program, terminal);
  addModes(program, terminal);
  addKillSwitch(program, terminal);
  addVerify(program, terminal);
  addConfig(program, terminal);
  addCompletion(program, terminal);
  settle(program, terminal, printed);
  return program;
}

/** What every command of the tree does alike: never exits by itself, and shows its usage with an error. */
function settle(command: Command, terminal: Terminal, printed: Promise<void>[]): void {
  command.exitOverride();
  command.configureHelp({ showGlobalOptions: true });
  command.configureOutput({
    writeOut: (text) => printed.push(terminal.print(text)),
    writeErr: (text) => terminal.note(text),
    outputError: (text) => {
      terminal.note(`braid: ${text.replace(/^error: /, "")}${usageOf(command)}`);
    },
  });
  for (const child of command.commands) settle(child, terminal, printed);
}

function usageOf(command: Command): string {
  const names: string[] = [];
  for (let at: Command | null = command; at !== null; at = at.parent) names.unshift(at.name());
  return `usage: ${names.join(" ")} ${command.usage()}\nMore: ${names.join(" ")} --help\n`;
}
