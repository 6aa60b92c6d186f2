/**
 * `braid splits wait`: waits until no work is left on one split, or on all splits of a namespace.
 */
import type { Command } from "commander";
import type { Split, SplitCalls, SplitTarget } from "../../client/connect.ts";
import { line } from "./blocks.ts";
import { clientFor } from "./connection.ts";
import type { GlobalOptions } from "./connection.ts";
import { EXIT, ExitError } from "./failures.ts";
import {
  addLocationFlags,
  EXAMPLE_SPLIT,
  isPartitionNamed,
  splitTarget,
} from "./location-flags.ts";
import type { LocationFlags } from "./location-flags.ts";
import { emit } from "./output.ts";
import { count, printable } from "./print.ts";
import { percent, Progress } from "./progress.ts";
import { nameOf } from "./split-report.ts";
import { noteError } from "./style.ts";
import type { Terminal } from "./terminal.ts";
import { durationMs } from "./time-argument.ts";

interface WaitOptions extends GlobalOptions, LocationFlags {
  readonly timeout: string;
  readonly progress?: boolean;
}

/** The first check comes soon, later ones less often. */
const FIRST_LOOK_MS = 200;
const LOOK_MAX_MS = 2_000;
/** Splits that did not complete: the first few are enough. */
const NAMED_MAX = 10;

export function addSplitsWait(splits: Command, terminal: Terminal): void {
  addLocationFlags(splits.command("wait <namespace> [split]"))
    .description("wait until no work on splits is left; exits 1 if any did not complete")
    .option("--timeout <duration>", "give up after this long", "10m")
    .option("--progress", "show progress on stderr even if this is not a terminal")
    .addHelpText(
      "after",
      "\nWithout a split it waits for all of the namespace." +
        `\n\nExample:\n  $ braid splits wait plays --timeout 5m\n  $ braid splits wait plays ${EXAMPLE_SPLIT}`,
    )
    .action(async (namespace: string, id: string | undefined, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<WaitOptions>();
      const named = id !== undefined || isPartitionNamed(options);
      const target = named ? splitTarget(id, options) : undefined;
      const { splits: calls } = clientFor(options, terminal);
      const look = (): Promise<readonly Split[]> => find(calls, namespace, target, terminal);
      const ended = await untilEnded(look, options, terminal);
      const bad = ended.filter((split) => !isServable(split));
      const text = `${count(ended.length - bad.length)} of ${count(ended.length)} completed`;
      const value = { splits: ended };
      await emit(terminal, options, { value, records: ended, blocks: [line(text)] });
      if (bad.length === 0) return;
      for (const split of bad.slice(0, NAMED_MAX)) {
        noteError(terminal, `braid: ${printable(`${nameOf(split)}: ${stateOf(split)}`)}\n`);
      }
      const more = bad.length - NAMED_MAX;
      if (more > 0) terminal.note(`braid: and ${count(more)} more: braid splits ls ${namespace}\n`);
      throw new ExitError(EXIT.failed);
    });
}

async function untilEnded(
  look: () => Promise<readonly Split[]>,
  options: WaitOptions,
  terminal: Terminal,
): Promise<readonly Split[]> {
  const { clock, interrupted: signal } = terminal;
  const progress = new Progress(terminal, options.progress ?? terminal.noteIsTty);
  const endMs = clock.monotonicMs() + (await durationMs("--timeout", options.timeout));
  try {
    for (let waitMs = FIRST_LOOK_MS; ; waitMs = Math.min(waitMs * 2, LOOK_MAX_MS)) {
      const splits = await look();
      const open = splits.filter((split) => !hasEnded(split));
      if (open.length === 0) return splits;
      const done = splits.length - open.length;
      const text = `${count(done)} of ${count(splits.length)} splits done`;
      const leftMs = endMs - clock.monotonicMs();
      if (leftMs <= 0) giveUp(text, open, options.timeout, terminal, progress);
      progress.update(() => `${percent(done, splits.length)}${text}`);
      await clock.sleep(Math.min(waitMs, leftMs), signal);
      signal.throwIfAborted();
    }
  } finally {
    progress.clear();
  }
}

async function find(
  calls: SplitCalls,
  namespace: string,
  target: SplitTarget | undefined,
  { interrupted: signal }: Terminal,
): Promise<readonly Split[]> {
  if (target !== undefined) return [await calls.get(namespace, target, { signal })];
  const all: Split[] = [];
  for await (const split of calls.list(namespace, { signal })) all.push(split);
  return all;
}

function giveUp(
  text: string,
  open: readonly Split[],
  timeout: string,
  terminal: Terminal,
  progress: Progress,
): never {
  progress.clear();
  const [first] = open;
  const example = first === undefined ? "" : `, such as ${nameOf(first)}: ${stateOf(first)}`;
  noteError(terminal, `braid: ${text} after ${timeout}${printable(example)}\n`);
  throw new ExitError(EXIT.failed);
}

/**
 * Served, or nothing scheduled. In an open bucket, a served split is due again when more of it is
 * sealed.
 */
function hasEnded(split: Split): boolean {
  return isServable(split) || (split.owner === "" && split.dueTime === undefined);
}

function isServable({ state, segments }: Split): boolean {
  return state === "COMPLETED" && segments.every(({ confirmed }) => confirmed);
}

function stateOf({ state, reason }: Split): string {
  return reason === "" ? state : `${state}, ${reason}`;
}
