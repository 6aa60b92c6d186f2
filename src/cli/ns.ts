/** `braid ns`: creates, shows, changes and deletes namespaces. */
import type { Command } from "commander";
import type { DeletedNamespace, Namespace, WorkloadDescription } from "../../client/connect.ts";
import { line } from "./blocks.ts";
import { clientFor } from "./connection.ts";
import type { GlobalOptions } from "./connection.ts";
import { EXIT, ExitError, UsageError } from "./failures.ts";
import { addNamespaceFlags, append, namespaceChange } from "./namespace-flags.ts";
import type { NamespaceFlags } from "./namespace-flags.ts";
import { describeNamespace, listDeletedNamespaces, listNamespaces } from "./namespace-report.ts";
import { emit } from "./output.ts";
import { withRelative } from "./relative-time.ts";
import type { Terminal } from "./terminal.ts";
import { waitingText } from "./tune.ts";
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
    .option("--sample <file>", "skew of the workload from a sample, as braid plan takes it")
    .action(async (name: string, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<
        GlobalOptions & NamespaceFlags & { workload?: string; sample?: string }
      >();
      const { interrupted: signal } = terminal;
      const config = await namespaceChange(options);
      const call = { signal, ...(await workloadIn(options)) };
      const made = await clientFor(options, terminal).createNamespace(name, config, call);
      await show(terminal, options, made);
    });

  ns.command("get <namespace>")
    .description("show a namespace's configuration")
    .addHelpText("after", "\nExample:\n  $ braid ns get plays")
    .action(async (name: string, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>();
      const { interrupted: signal } = terminal;
      const client = clientFor(options, terminal);
      const namespace = await client.getNamespace(name, { signal });
      await show(terminal, options, namespace);
    });

  addWatchFlag(ns.command("ls"))
    .description("list namespaces")
    .option("--deleted", "list the deleted namespaces that still take up space")
    .addHelpText(
      "after",
      "\nExample:\n  $ braid ns ls\n  $ braid ns ls --json | jq -r '.namespaces[].namespace'" +
        "\n  $ braid ns ls --deleted",
    )
    .action(async (_options: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & WatchFlags & { deleted?: boolean }>();
      const client = clientFor(options, terminal);
      const { interrupted: signal, clock } = terminal;
      await emitWatched(terminal, options, { client, topics: ["NAMESPACES"] }, async () => {
        if (options.deleted === true) {
          const deleted: DeletedNamespace[] = [];
          for await (const each of client.listDeletedNamespaces({ signal })) deleted.push(each);
          const blocks = [listDeletedNamespaces(deleted, clock.nowMicros())];
          const notes = deleted.length === 0 ? [NONE_DELETED] : [];
          const value = { namespaces: deleted };
          return { value, records: deleted, list: "deleted", blocks, notes };
        }
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
    .description("delete a namespace; its events stay for drop_grace (24h)")
    .option("--purge", "remove its events at once; cannot be undone")
    .option("--reason <text>", "reason to record with the deletion")
    .option("-y, --yes", "delete without asking; required without a terminal")
    .addHelpText(
      "after",
      "\nDuring drop_grace (24h, at most a quarter of deleteAfter) braid ns undelete restores it with all" +
        "\nits events. --purge with the id of a deleted namespace (braid ns ls --deleted) frees its space" +
        "\nbefore that; with a name it purges the namespace that has the name now, and no deleted one." +
        "\n\nExample:\n  $ braid ns rm plays --yes\n  $ braid ns undelete plays\n  $ braid ns rm plays-00c1d29fa44be1e0 --purge",
    )
    .action(async (name: string, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & RmFlags>();
      const client = clientFor(options, terminal);
      const { interrupted: signal, clock } = terminal;
      const { purge = false, reason = "" } = options;
      if (options.yes !== true) await confirmDeletion(name, purge, terminal);
      const deleted = await client.deleteNamespace(nameOrId(name), { purge, reason, signal });
      const blocks = [line(deletedLine(name, deleted, purge, clock.nowMicros()))];
      await emit(terminal, options, { value: deleted, blocks });
    });

  ns.command("undelete <namespace-or-id>")
    .description("restore a deleted namespace with all its events")
    .option("--as-name <name>", "give it this name, for example because the old one is taken")
    .addHelpText(
      "after",
      "\nIt works until the time that braid ns ls --deleted shows. Give the id if several deleted namespaces" +
        "\nhad the same name." +
        "\n\nExample:\n  $ braid ns undelete plays\n  $ braid ns undelete plays-00c1d29fa44be1e0 --as-name plays_old",
    )
    .action(async (name: string, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & { asName?: string }>();
      const { interrupted: signal, clock } = terminal;
      const { asName = "" } = options;
      const client = clientFor(options, terminal);
      const restored = await client.undeleteNamespace(nameOrId(name), { asName, signal });
      const blocks = [
        line(`restored ${restored.namespace} with its events`),
        describeNamespace(restored, clock.nowMicros()),
      ];
      await emit(terminal, options, { value: restored, blocks });
    });
}

async function workloadIn({
  workload: file,
  sample,
}: {
  readonly workload?: string;
  readonly sample?: string;
}): Promise<{ workload?: WorkloadDescription }> {
  if (file === undefined) {
    if (sample === undefined) return {};
    throw new UsageError("--sample needs --workload");
  }
  const { checkedWorkload, workloadJson } = await import("./workload-file.ts");
  const { readYaml } = await import("./yaml-file.ts");
  const given = await checkedWorkload(await readYaml("--workload", file));
  if (sample === undefined) return { workload: workloadJson(given) };
  const { withSample } = await import("./rate-sample.ts");
  return { workload: workloadJson(await withSample(given, sample)) };
}

interface RmFlags {
  readonly yes?: boolean;
  readonly purge?: boolean;
  readonly reason?: string;
}

/** No name has a hyphen, and every id has one. */
function nameOrId(text: string): string | { readonly id: string } {
  return text.includes("-") ? { id: text } : text;
}

function deletedLine(
  name: string,
  { namespace, id, purged, restorableUntil }: DeletedNamespace,
  purge: boolean,
  nowMicros: number,
): string {
  if (purge) return `purged ${namespace} (${id}) with all its events`;
  if (purged) return `deleted ${name}; it held no events`;
  const restore = `restore it with: braid ns undelete ${name}`;
  if (restorableUntil === undefined) return `deleted ${name}; ${restore}`;
  return `deleted ${name}; until ${withRelative(restorableUntil, nowMicros)} ${restore}`;
}

const NONE_DELETED = "there is no deleted namespace";
const NONE = "there is no namespace yet; create one: braid ns create plays";

async function confirmDeletion(
  name: string,
  purge: boolean,
  { ask, note }: Terminal,
): Promise<void> {
  const what = purge ? "and all its events would be deleted for good" : "would be deleted";
  const flags = purge ? " --purge --yes" : " --yes";
  if (ask === undefined) {
    throw new UsageError(
      `${name} ${what}, and there is no terminal to ask on: to delete it, run braid ns rm ${name}${flags}`,
    );
  }
  const question = purge
    ? `This deletes ${name} with all its events and cannot be undone.`
    : `This deletes ${name}; for a while, braid ns undelete ${name} restores it.`;
  const answer = await ask(`${question} Type its name to confirm: `);
  if (answer.trim() === name) return;
  note("braid: nothing was deleted\n");
  throw new ExitError(EXIT.failed);
}

async function show(
  terminal: Terminal,
  options: GlobalOptions,
  namespace: Namespace,
): Promise<void> {
  const { waitingTuning: waiting } = namespace;
  const note = waiting === undefined ? [] : [line(waitingText(namespace.namespace, waiting))];
  const blocks = [describeNamespace(namespace, terminal.clock.nowMicros()), ...note];
  await emit(terminal, options, { value: namespace, blocks });
}
