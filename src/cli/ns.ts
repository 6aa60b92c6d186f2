/** `braid ns`: creates, shows, changes and deletes namespaces. */
import type { Command } from "commander";
import type { Namespace, WorkloadDescription } from "../../client/connect.ts";
import { line } from "./blocks.ts";
import { clientFor } from "./connection.ts";
import type { GlobalOptions } from "./connection.ts";
import { EXIT, ExitError, UsageError } from "./failures.ts";
import { addNamespaceFlags, append, namespaceChange } from "./namespace-flags.ts";
import type { NamespaceFlags } from "./namespace-flags.ts";
import { describeNamespace, listNamespaces } from "./namespace-report.ts";
import { emit } from "./output.ts";
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
        "\n  $ braid ns create plays --config-file plays.yaml --set slos.read.max=2s" +
        "\n  $ braid ns create plays --workload workload.yaml",
    )
    .option(
      "--workload <file>",
      "YAML or JSON as braid plan takes it: the server chooses slices and buckets",
    )
    .action(async (name: string, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<
        GlobalOptions & NamespaceFlags & { workload?: string }
      >();
      const { interrupted: signal } = terminal;
      const config = await namespaceChange(options);
      const call = { signal, ...(await workloadIn(options.workload)) };
      const made = await clientFor(options, terminal).createNamespace(name, config, call);
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
        const blocks = [listNamespaces(namespaces, clock.nowMicros())];
        const notes = namespaces.length === 0 ? [NONE] : [];
        return { value: { namespaces }, records: namespaces, blocks, notes };
      });
    });

  addNamespaceFlags(ns.command("update <namespace>"))
    .description("change a namespace; what is not given is kept")
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
    .option("-y, --yes", "delete without asking; required without a terminal")
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

async function workloadIn(file: string | undefined): Promise<{ workload?: WorkloadDescription }> {
  if (file === undefined) return {};
  const { readYaml, workloadFrom, workloadJson } = await import("./workload-file.ts");
  return { workload: workloadJson(await workloadFrom(await readYaml("--workload", file), {})) };
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
  const blocks = [describeNamespace(namespace, terminal.clock.nowMicros())];
  await emit(terminal, options, { value: namespace, blocks });
}
