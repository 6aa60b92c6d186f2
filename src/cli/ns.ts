/** `braid ns`: makes, shows, changes and deletes namespaces. */
import type { Command } from "commander";
import type { Namespace } from "../../client/connect.ts";
import { line, pairs, table } from "./blocks.ts";
import type { Block } from "./blocks.ts";
import { clientFor } from "./connection.ts";
import type { GlobalOptions } from "./connection.ts";
import { EXIT, ExitError, UsageError } from "./failures.ts";
import { addNamespaceFlags, append, namespaceChange } from "./namespace-flags.ts";
import type { NamespaceFlags } from "./namespace-flags.ts";
import { emit } from "./output.ts";
import { count, duration, millis, size } from "./print.ts";
import { relative, withRelative } from "./relative-time.ts";
import type { Terminal } from "./terminal.ts";
import { addWatchFlag, emitWatched } from "./watch.ts";
import type { WatchFlags } from "./watch.ts";

export function addNs(program: Command, terminal: Terminal): void {
  const ns = program
    .command("ns")
    .description("create, show, change and delete namespaces")
    .addHelpText("after", "\nExample:\n  $ braid ns create plays --slice 1d --bucket 1h");

  addNamespaceFlags(ns.command("create <namespace>"))
    .description("create a namespace")
    .addHelpText(
      "after",
      "\nExample:\n  $ braid ns create plays --accept-limit 10m --slice 1d --bucket 1h --event-buckets 4" +
        "\n  $ braid ns create plays --config-file plays.yaml --set slos.read.max=2s",
    )
    .action(async (name: string, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & NamespaceFlags>();
      const { interrupted: signal } = terminal;
      const config = await namespaceChange(options);
      const made = await clientFor(options, terminal).createNamespace(name, config, { signal });
      await show(terminal, options, made);
    });

  ns.command("get <namespace>")
    .description("show a namespace's configuration")
    .addHelpText("after", "\nExample:\n  $ braid ns get plays")
    .action(async (name: string, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>();
      const { interrupted: signal } = terminal;
      await show(
        terminal,
        options,
        await clientFor(options, terminal).getNamespace(name, { signal }),
      );
    });

  addWatchFlag(ns.command("ls"))
    .description("list namespaces")
    .addHelpText(
      "after",
      "\nExample:\n  $ braid ns ls\n  $ braid ns ls --json | jq -r '.namespaces[].namespace'",
    )
    .action(async (_options: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & WatchFlags>();
      const client = clientFor(options, terminal);
      const { interrupted: signal, clock } = terminal;
      await emitWatched(terminal, options, async () => {
        const namespaces: Namespace[] = [];
        for await (const namespace of client.listNamespaces({ signal })) namespaces.push(namespace);
        const blocks = [listing(namespaces, clock.nowMicros())];
        const notes = namespaces.length === 0 ? [NONE] : [];
        return { value: { namespaces }, records: namespaces, blocks, notes };
      });
    });

  addNamespaceFlags(ns.command("update <namespace>"))
    .description("change a namespace; what is not given stays")
    .option(
      "--reset <path>",
      "restore the default of this field, such as slos.read; may be repeated",
      append,
    )
    .addHelpText(
      "after",
      "\nExample:\n  $ braid ns update plays --accept-limit 1h --reset slos.read",
    )
    .action(async (name: string, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<
        GlobalOptions & NamespaceFlags & { reset?: readonly string[] }
      >();
      const config = await namespaceChange(options);
      const reset = options.reset ?? [];
      if (Object.keys(config).length === 0 && reset.length === 0) {
        throw new UsageError("nothing to change; give a flag, --set, --config-file or --reset");
      }
      const call = { reset, signal: terminal.interrupted };
      await show(
        terminal,
        options,
        await clientFor(options, terminal).updateNamespace(name, config, call),
      );
    });

  ns.command("rm <namespace>")
    .description("delete a namespace with all its events; cannot be undone")
    .option("-y, --yes", "do not ask; needed where nobody can be asked")
    .addHelpText("after", "\nExample:\n  $ braid ns rm plays --yes")
    .action(async (name: string, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & { yes?: boolean }>();
      const client = clientFor(options, terminal);
      const { interrupted: signal } = terminal;
      if (options.yes !== true) await confirmDeletion(name, terminal);
      await client.deleteNamespace(name, { signal });
      await emit(terminal, options, { value: {}, blocks: [line(`deleted ${name}`)] });
    });
}

const NONE = "there is no namespace yet; create one: braid ns create plays";

async function confirmDeletion(name: string, { ask, note }: Terminal): Promise<void> {
  if (ask === undefined) {
    throw new UsageError(
      `${name} and all its events would be deleted, and there is no terminal to ask on: ` +
        `to delete it, run braid ns rm ${name} --yes`,
    );
  }
  const answer = await ask(`This deletes ${name} with all its events. Type its name to confirm: `);
  if (answer.trim() === name) return;
  note("braid: nothing was deleted\n");
  throw new ExitError(EXIT.failed);
}

async function show(
  terminal: Terminal,
  options: GlobalOptions,
  namespace: Namespace,
): Promise<void> {
  const blocks = [description(namespace, terminal.clock.nowMicros())];
  await emit(terminal, options, { value: namespace, blocks });
}

function description(shown: Namespace, nowMicros: number): Block {
  const { namespace, id, config, epoch, version, createTime } = shown;
  const { timePartition: layout, retention, slos, widePartition: wide, tuning } = config;
  return pairs([
    ["namespace", namespace],
    ["id", id],
    ["created", withRelative(createTime, nowMicros)],
    ["version", `${version}, epoch ${epoch}`],
    [
      "partitions",
      `slices of ${seconds(layout.secondsPerTimeSlice)}, buckets of ` +
        `${seconds(layout.secondsPerTimeBucket)}, ${count(layout.eventBuckets)} ` +
        (layout.eventBuckets === 1 ? "event bucket" : "event buckets"),
    ],
    [
      "accepts",
      `events at most ${duration(config.acceptLimit)} old, ${duration(config.futureLimit)} early`,
    ],
    [
      "retention",
      `closed after ${duration(retention.closeAfter)}, deleted after ${duration(retention.deleteAfter)}`,
    ],
    ["reads", `target ${duration(slos.read.target)}, at most ${duration(slos.read.max)}`],
    ["writes", `target ${duration(slos.write.target)}, at most ${duration(slos.write.max)}`],
    ["consistency", config.consistency],
    [
      "wide",
      wide.detect
        ? `over ${size(wide.bytesMax)} or ${count(wide.eventsMax)} events; ` +
          `parts of ${size(wide.targetBytes)}, ${wide.layout}, ${wide.strategy}`
        : "not detected",
    ],
    ["splits", splitsLine(shown, nowMicros)],
    [
      "tuning",
      `${tuning.mode}, ${size(tuning.densityMinBytes)} to ${size(tuning.densityMaxBytes)}`,
    ],
  ]);
}

function splitsLine({ readMode, splitsPause }: Namespace, nowMicros: number): string {
  if (splitsPause === undefined) return `read mode ${readMode}`;
  const { since, by, reason } = splitsPause;
  const why = reason === "" ? "" : `: ${reason}`;
  return `read mode ${readMode}; paused by ${by} at ${withRelative(since, nowMicros)}${why}`;
}

function listing(namespaces: readonly Namespace[], nowMicros: number): Block {
  return table(
    [
      "=NAMESPACE",
      ">SLICE",
      ">BUCKET",
      "?>EVENT BUCKETS",
      ">ACCEPT",
      "?>CLOSE",
      "?>DELETE",
      "=MODE",
      "=CREATED",
    ],
    namespaces.map(({ namespace, config, createTime, readMode, splitsPaused }) => [
      namespace,
      seconds(config.timePartition.secondsPerTimeSlice),
      seconds(config.timePartition.secondsPerTimeBucket),
      count(config.timePartition.eventBuckets),
      duration(config.acceptLimit),
      duration(config.retention.closeAfter),
      duration(config.retention.deleteAfter),
      splitsPaused ? `${readMode}, paused` : readMode,
      relative(createTime, nowMicros),
    ]),
  );
}

function seconds(number: number): string {
  return millis(number * 1000);
}
