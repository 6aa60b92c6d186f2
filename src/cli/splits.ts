/** `braid splits`: the splits of wide partitions. */
import { InvalidArgumentError } from "commander";
import type { Command } from "commander";
import type { BraidClient, Split, SplitCalls, SplitState } from "../../client/connect.ts";
import { SPLIT_STATES } from "../model/split.ts";
import { clientFor } from "./connection.ts";
import type { GlobalOptions } from "./connection.ts";
import { addLocationFlags, partitionOf, LOCATION_ARGUMENTS } from "./location-flags.ts";
import type { LocationFlags } from "./location-flags.ts";
import { json } from "./print.ts";
import { extraSpace, listing, report } from "./split-report.ts";
import type { Terminal } from "./terminal.ts";

interface ListOptions extends GlobalOptions {
  readonly state?: SplitState;
  readonly all?: boolean;
}

interface PartitionOptions extends GlobalOptions, LocationFlags {
  readonly reason?: string;
  readonly parts?: boolean;
}

/** As many as a screen or two hold; `--all` for the rest. */
const LISTED_MAX = 100;

export function addSplits(program: Command, terminal: Terminal): void {
  const splits = program
    .command("splits")
    .description("list, show and steer the splits of wide partitions")
    .addHelpText("after", "\nExample:\n  $ braid splits ls plays --state FAILED");

  splits
    .command("ls <namespace>")
    .description("list splits")
    .option("--state <state>", `only those that are ${SPLIT_STATES.join(", ")}`, stateArgument)
    .option("--all", `all of them; else the first ${LISTED_MAX}`)
    .addHelpText("after", "\nExample:\n  $ braid splits ls plays --state failed")
    .action(async (namespace: string, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<ListOptions>();
      const client = clientFor(options, terminal);
      const { found, more } = await list(client.splits, namespace, {
        ...options,
        signal: terminal.interrupted,
      });
      if (options.json === true) await terminal.print(json({ splits: found }));
      else {
        await terminal.print(listing(found, terminal.clock.nowMicros()));
        if (found.length > 0 && !more) terminal.note(`braid: ${extraSpace(found)}\n`);
      }
      await notePause(client, namespace, found, terminal);
      if (more) terminal.note(`braid: there are more than ${LISTED_MAX}; see them with --all\n`);
    });

  onPartition(splits, terminal, {
    name: "show",
    about: "show a split: its state, sizes and latencies before and after, and its history",
    run: (calls, namespace, options) => {
      return calls.get(namespace, partitionOf(options), { signal: terminal.interrupted });
    },
  }).option("--parts", "list each part");
  operatorRequest(splits, terminal, "request", "split a partition, as if a read had found it wide");
  operatorRequest(
    splits,
    terminal,
    "retry",
    "plan anew what failed, was refused, parked or rolled back",
  );
  operatorRequest(splits, terminal, "rollback", "read the original again, until a retry");

  onNamespace(
    splits,
    terminal,
    "pause",
    "stop the work on a namespace's splits",
    'pause plays --reason "a load test"',
  );
  onNamespace(
    splits,
    terminal,
    "resume",
    "let the work on a namespace's splits go on",
    "resume plays",
  );
}

async function list(
  calls: SplitCalls,
  namespace: string,
  options: ListOptions & { readonly signal: AbortSignal },
): Promise<{ found: Split[]; more: boolean }> {
  const { state, signal } = options;
  const found: Split[] = [];
  const wanted = options.all === true ? Number.POSITIVE_INFINITY : LISTED_MAX;
  for await (const split of calls.list(namespace, {
    ...(state !== undefined && { state }),
    signal,
  })) {
    if (found.length === wanted) return { found, more: true };
    found.push(split);
  }
  return { found, more: false };
}

function operatorRequest(
  splits: Command,
  terminal: Terminal,
  name: "request" | "retry" | "rollback",
  about: string,
): void {
  onPartition(splits, terminal, {
    name,
    about,
    run: (calls, namespace, options) => {
      const { reason = "" } = options;
      const call = { reason, signal: terminal.interrupted };
      return calls[name](namespace, partitionOf(options), call);
    },
  }).option("--reason <text>", "why, for the history");
}

/** A command on one partition, which ends by showing its split. */
function onPartition(
  splits: Command,
  terminal: Terminal,
  {
    name,
    about,
    run,
  }: {
    name: string;
    about: string;
    run: (calls: SplitCalls, namespace: string, options: PartitionOptions) => Promise<Split>;
  },
): Command {
  return addLocationFlags(splits.command(`${name} <namespace>`))
    .description(about)
    .addHelpText("after", `\nExample:\n  $ braid splits ${name} plays ${LOCATION_ARGUMENTS}`)
    .action(async (namespace: string, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<PartitionOptions>();
      const client = clientFor(options, terminal);
      const split = await run(client.splits, namespace, options);
      const text = options.json === true ? json(split) : report(split, options.parts === true);
      await terminal.print(text);
      await notePause(client, namespace, [split], terminal);
    });
}

/** A pause is of the namespace and stands in no split; whoever looks at one that waits wants to know. */
async function notePause(
  client: BraidClient,
  namespace: string,
  splits: readonly Split[],
  terminal: Terminal,
): Promise<void> {
  if (!splits.some(({ dueTime, owner }) => dueTime !== undefined && owner === "")) return;
  const { splitsPause } = await client.getNamespace(namespace, { signal: terminal.interrupted });
  if (splitsPause === undefined) return;
  const { since, by, reason } = splitsPause;
  terminal.note(
    `braid: the splits of ${namespace} are paused since ${since} by ${by}` +
      `${reason === "" ? "" : ` (${reason})`}; "braid splits resume ${namespace}" lets them go on\n`,
  );
}

function onNamespace(
  splits: Command,
  terminal: Terminal,
  name: "pause" | "resume",
  about: string,
  example: string,
): void {
  const command = splits.command(`${name} <namespace>`).description(about);
  // Of what is over nothing is kept.
  if (name === "pause") command.option("--reason <text>", "why, for whoever wonders later");
  command
    .addHelpText("after", `\nExample:\n  $ braid splits ${example}`)
    .action(async (namespace: string, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & { reason?: string }>();
      const call = { reason: options.reason ?? "", signal: terminal.interrupted };
      await clientFor(options, terminal).splits[name](namespace, call);
      await terminal.print(
        options.json === true ? json({}) : `${name}d the splits of ${namespace}\n`,
      );
    });
}

function stateArgument(text: string): SplitState {
  const state = SPLIT_STATES.find((known) => known === text.toUpperCase());
  if (state !== undefined) return state;
  throw new InvalidArgumentError(`It is one of ${SPLIT_STATES.join(", ")}.`);
}
