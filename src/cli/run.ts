/**
 * The command line: the tree of commands, and how each command ends.
 *
 * A command loads only what it needs, so that `braid --help` answers at once.
 */
import { Command, CommanderError } from "commander";
import { BraidError } from "../../client/braid-error.ts";
import { addAdvise } from "./advise.ts";
import { addBlock } from "./block.ts";
import { addCompletion } from "./completion.ts";
import { addConfig } from "./config.ts";
import { DEFAULT_URL } from "./connection.ts";
import type { GlobalOptions } from "./connection.ts";
import { addDoctor } from "./doctor.ts";
import { addExplain } from "./explain.ts";
import { EXIT, ExitError, exitCodeOf, explainFailure, UsageError } from "./failures.ts";
import { addFilters } from "./filters.ts";
import { findCommand, fullName } from "./find-command.ts";
import { addHealth } from "./health.ts";
import { addIds } from "./ids.ts";
import { addHistogram } from "./histogram.ts";
import { addClock } from "./clock.ts";
import { addKillSwitch } from "./kill-switch.ts";
import { addMetrics } from "./metrics.ts";
import { addModes } from "./modes.ts";
import { addNs } from "./ns.ts";
import { addPlan } from "./plan.ts";
import { addPartitions } from "./partitions.ts";
import { outputOption } from "./output.ts";
import { addRead } from "./read.ts";
import { addServers } from "./servers.ts";
import { addServe, addWorker } from "./serve.ts";
import { addSlices } from "./slices.ts";
import { addQueue } from "./queue.ts";
import { addSplits } from "./splits.ts";
import { addStatus } from "./status.ts";
import { noteError } from "./style.ts";
import type { Terminal } from "./terminal.ts";
import { addTune } from "./tune.ts";
import { addWidthMap } from "./width-map.ts";
import { addVerify } from "./verify.ts";
import { addWrite } from "./write.ts";

/** Runs one command; `args` are the words after `braid`. Resolves with its exit code. */
export async function run(args: readonly string[], terminal: Terminal): Promise<number> {
  const printed: Promise<void>[] = [];
  const program = commandTree(terminal, printed);
  let running = program;
  program.hook("preAction", async (_program, command) => {
    running = command;
    // The versions instead of what the command does, wherever the flag stands.
    if (command !== program) await showVersion(program, terminal);
  });
  try {
    await parse(program, args, terminal);
    return EXIT.done;
  } catch (error) {
    return await exitCode(error, running, terminal);
  } finally {
    await Promise.all(printed);
  }
}

/**
 * Handles `--version`, the help of any command, and help of unknown commands; commander handles the
 * rest.
 */
async function parse(program: Command, args: readonly string[], terminal: Terminal): Promise<void> {
  const asksHelp = args[0] === "help";
  const words = asksHelp ? args.slice(1) : args;
  const { command, unknownAt } = findCommand(program, words);
  const wrong = asksHelp || words.some((word) => word === "--help" || word === "-h");
  if (unknownAt !== undefined && wrong) {
    // Without the flag, commander reports the unknown command and suggests similar ones.
    await program.parseAsync(words.slice(0, unknownAt + 1), { from: "user" });
  } else if (asksHelp) {
    command.outputHelp();
  } else {
    if (unknownAt === undefined && command.commands.length > 0 && args.some(asksVersion)) {
      command.action(() => showVersion(program, terminal));
    }
    await program.parseAsync([...args], { from: "user" });
  }
}

/** Prints the versions and ends the command, if the flag is given. */
async function showVersion(program: Command, terminal: Terminal): Promise<void> {
  const options = program.opts<GlobalOptions & { version?: boolean }>();
  if (options.version !== true) return;
  const { printVersion } = await import("./version.ts");
  await printVersion(options, terminal);
  throw new ExitError(EXIT.done);
}

function asksVersion(word: string): boolean {
  return word === "--version" || word === "-V";
}

async function exitCode(error: unknown, running: Command, terminal: Terminal): Promise<number> {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
  if (error instanceof ExitError) return error.exitCode;
  if (error instanceof UsageError) {
    noteError(terminal, `braid: ${error.message}\n${usageOf(running)}`);
    return EXIT.usage;
  }
  if (error instanceof Interrupted) return EXIT.interrupted;
  if (error instanceof BraidError) {
    const namespace = namespaceOf(running);
    const hint = await deletedHint(error, namespace, running, terminal);
    noteError(terminal, explainFailure(error, namespace, hint));
    return exitCodeOf(error);
  }
  // A bug in Braid: the whole stack helps to find it.
  noteError(terminal, `braid: ${error instanceof Error ? error.stack : String(error)}\n`);
  return EXIT.failed;
}

/** How to restore the namespace that a command did not find, if it was deleted. */
async function deletedHint(
  error: BraidError,
  namespace: string | undefined,
  running: Command,
  terminal: Terminal,
): Promise<string | undefined> {
  if (error.code !== "NAMESPACE_NOT_FOUND" || namespace === undefined) return undefined;
  if (error.details["namespace"] !== namespace) return undefined;
  const { restoreHint } = await import("./restore-hint.ts");
  return restoreHint(namespace, running.optsWithGlobals<GlobalOptions>(), terminal);
}

/** The abort reason of a terminal's `interrupted` signal. */
export class Interrupted extends Error {
  constructor() {
    super("interrupted");
  }
}

function commandTree(terminal: Terminal, printed: Promise<void>[]): Command {
  const program = new Command("braid")
    .description("A time-series event store that keeps its own partitions at a healthy width.")
    .option("--url <url>", `the server, or BRAID_URL (default: ${DEFAULT_URL})`)
    .option(
      "--as <name>",
      "your name for histories, recorded as claimed (default: your user name and host)",
    )
    .addOption(outputOption())
    .option("--json", "short for -o json")
    .option("-V, --version", "print the versions of this program and of the server")
    .helpCommand("help [command...]", "show the help of a command, such as help ns create")
    .configureHelp({ showGlobalOptions: true })
    .addHelpText(
      "after",
      `
Example:
  $ braid serve
  $ braid ns create plays
  $ braid write plays events.ndjson
  $ braid read plays profile:123 --from -1h

Exit codes:
  0    done
  1    failed, or some of it failed
  2    wrong usage: flags, values or files that cannot be used
  3    not found
  4    refused: overloaded, blocked, too large, exists already, or in conflict with the present state
  5    nothing compared (braid verify)
  130  interrupted`,
    );
  addServe(program, terminal);
  addWorker(program, terminal);
  addStatus(program, terminal);
  addServers(program, terminal);
  addMetrics(program, terminal);
  addHealth(program, terminal);
  addFilters(program, terminal);
  addNs(program, terminal);
  addPlan(program, terminal);
  addAdvise(program, terminal);
  addWrite(program, terminal);
  addRead(program, terminal);
  addExplain(program, terminal);
  addSlices(program, terminal);
  addHistogram(program, terminal);
  addTune(program, terminal);
  addPartitions(program, terminal);
  addWidthMap(program, terminal);
  addIds(program, terminal);
  addDoctor(program, terminal);
  addBlock(program, terminal);
  addSplits(program, terminal);
  addQueue(program, terminal);
  addModes(program, terminal);
  addKillSwitch(program, terminal);
  addClock(program, terminal);
  addVerify(program, terminal);
  addConfig(program, terminal);
  addCompletion(program, terminal);
  settle(program, terminal, printed);
  return program;
}

/** Settings of every command: it never exits the process, and shows its usage with an error. */
function settle(command: Command, terminal: Terminal, printed: Promise<void>[]): void {
  command.exitOverride();
  command.configureHelp({ showGlobalOptions: true });
  command.configureOutput({
    writeOut: (text) => printed.push(terminal.print(text)),
    writeErr: (text) => terminal.note(text),
    outputError: (text) => {
      noteError(terminal, `braid: ${text.replace(/^error: /, "")}${usageOf(command)}`);
    },
    getOutHelpWidth: () => terminal.columns ?? HELP_COLUMNS,
  });
  for (const child of command.commands) settle(child, terminal, printed);
}

/** The width where the screen does not tell it. */
const HELP_COLUMNS = 100;

function usageOf(command: Command): string {
  const name = fullName(command);
  return `usage: ${name} ${command.usage()}\nMore: ${name} --help\n`;
}

/** The namespace on the command line, if the command has one. */
function namespaceOf({ registeredArguments, args }: Command): string | undefined {
  const at = registeredArguments.findIndex((argument) => argument.name() === "namespace");
  return at < 0 ? undefined : args[at];
}
