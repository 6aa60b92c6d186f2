/** `braid ns`: makes, shows, changes and deletes namespaces. */
import type { Command } from "commander";
import type { Namespace } from "../../client/connect.ts";
import { clientFor } from "./connection.ts";
import type { GlobalOptions } from "./connection.ts";
import { EXIT, ExitError, UsageError } from "./failures.ts";
import { addNamespaceFlags, append, namespaceChange } from "./namespace-flags.ts";
import type { NamespaceFlags } from "./namespace-flags.ts";
import { count, duration, json, millis, pairs, size, table } from "./print.ts";
import type { Terminal } from "./terminal.ts";

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

  ns.command("ls")
    .description("list namespaces")
    .addHelpText("after", "\nExample:\n  $ braid ns ls --json | jq -r '.namespaces[].namespace'")
    .action(async (_options: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>();
      const { interrupted: signal } = terminal;
      const namespaces: Namespace[] = [];
      const listed = clientFor(options, terminal).listNamespaces({ signal });
      for await (const namespace of listed) namespaces.push(namespace);
      await terminal.print(options.json === true ? json({ namespaces }) : listing(namespaces));
    });

  addNamespaceFlags(ns.command("update <namespace>"))
    .description("change a namespace; what is not given stays")
    .option("--reset <path>", "back to the default, such as slos.read; may be repeated", append)
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
    .option("-y, --yes", "do not ask")
    .addHelpText("after", "\nExample:\n  $ braid ns rm plays --yes")
    .action(async (name: string, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & { yes?: boolean }>();
      const client = clientFor(options, terminal);
      const { interrupted: signal } = terminal;
      if (options.yes !== true && terminal.ask !== undefined) {
        const answer = await terminal.ask(
          `This deletes ${name} with all its events. Type its name to go on: `,
        );
        if (answer.trim() !== name) {
          terminal.note("braid: nothing was deleted\n");
          throw new ExitError(EXIT.failed);
        }
      }
      await client.deleteNamespace(name, { signal });
      await terminal.print(options.json === true ? json({}) : `deleted ${name}\n`);
    });
}

async function show(
  terminal: Terminal,
  options: GlobalOptions,
  namespace: Namespace,
): Promise<void> {
  await terminal.print(options.json === true ? json(namespace) : description(namespace));
}

function description(shown: Namespace): string {
  const { namespace, id, config, epoch, version, createTime } = shown;
  const { timePartition: layout, retention, slos, widePartition: wide, tuning } = config;
  return pairs([
    ["namespace", namespace],
    ["id", id],
    ["created", createTime],
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
    ["splits", splitsLine(shown)],
    [
      "tuning",
      `${tuning.mode}, ${size(tuning.densityMinBytes)} to ${size(tuning.densityMaxBytes)}`,
    ],
  ]);
}

function splitsLine({ readMode, splitsPause }: Namespace): string {
  if (splitsPause === undefined) return `read mode ${readMode}`;
  const { since, by, reason } = splitsPause;
  const why = reason === "" ? "" : `: ${reason}`;
  return `read mode ${readMode}; paused since ${since} by ${by}${why}`;
}

function listing(namespaces: readonly Namespace[]): string {
  return table(
    ["NAMESPACE", ">SLICE", ">BUCKET", ">EVENT BUCKETS", ">ACCEPT", ">CLOSE", ">DELETE", "CREATED"],
    namespaces.map(({ namespace, config, createTime }) => [
      namespace,
      seconds(config.timePartition.secondsPerTimeSlice),
      seconds(config.timePartition.secondsPerTimeBucket),
      count(config.timePartition.eventBuckets),
      duration(config.acceptLimit),
      duration(config.retention.closeAfter),
      duration(config.retention.deleteAfter),
      createTime,
    ]),
  );
}

function seconds(number: number): string {
  return millis(number * 1000);
}
