/** `braid tune`: what the tuner observed, proposed and changed in a namespace. */
import type { Command } from "commander";
import { BraidError } from "../../client/connect.ts";
import type { Tuning, TuningList } from "../../client/connect.ts";
import { line, pairs, table } from "./blocks.ts";
import type { Block } from "./blocks.ts";
import { clientFor } from "./connection.ts";
import type { GlobalOptions } from "./connection.ts";
import { noTuningCommand, NO_TUNING_TEXTS } from "../model/no-tuning.ts";
import { emit } from "./output.ts";
import { count, duration, size } from "./print.ts";
import { withRelative } from "./relative-time.ts";
import type { Terminal } from "./terminal.ts";
import { addWatchFlag, emitWatched } from "./watch.ts";
import type { WatchFlags } from "./watch.ts";

interface DecideOptions extends GlobalOptions {
  readonly reason?: string;
}

export function addTune(program: Command, terminal: Terminal): void {
  const tune = program
    .command("tune")
    .description("show and decide how future slices are partitioned")
    .addHelpText(
      "after",
      "\nExample:\n  $ braid tune ls plays\n  $ braid tune accept plays 20261115",
    );

  addWatchFlag(tune.command("ls <namespace>"))
    .description("list the tunings of a namespace, and what would be proposed now")
    .addHelpText("after", "\nExample:\n  $ braid tune ls plays")
    .action(async (namespace: string, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & WatchFlags>();
      const client = clientFor(options, terminal);
      await emitWatched(terminal, options, { client, topics: ["TUNINGS"], namespace }, async () => {
        const list = await client.listTunings(namespace, { signal: terminal.interrupted });
        const blocks = listBlocks(list, namespace, terminal.clock.nowMicros());
        return { value: list, records: list.tunings, blocks };
      });
    });

  tune
    .command("show <namespace> <id>")
    .description("show one tuning with its dry run and its history")
    .addHelpText("after", "\nExample:\n  $ braid tune show plays 20261115")
    .action(async (namespace: string, id: string, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>();
      const tuning = await findTuning(options, terminal, namespace, id);
      const blocks = tuningBlocks(tuning, namespace, terminal.clock.nowMicros());
      await emit(terminal, options, { value: tuning, blocks });
    });

  tune
    .command("dry-run <namespace>")
    .description("show what the recorded histograms ask for now, without changing anything")
    .addHelpText("after", "\nExample:\n  $ braid tune dry-run plays")
    .action(async (namespace: string, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>();
      const client = clientFor(options, terminal);
      const list = await client.listTunings(namespace, { signal: terminal.interrupted });
      const { next } = list;
      const blocks =
        next === undefined
          ? [line(waitingOrNothing(list, namespace))]
          : tuningBlocks(next, namespace, terminal.clock.nowMicros());
      await emit(terminal, options, { value: next ?? { nothingWhy: list.nothingWhy }, blocks });
    });

  for (const accept of [true, false]) {
    const verb = accept ? "accept" : "refuse";
    tune
      .command(`${verb} <namespace> <id>`)
      .description(
        accept
          ? "use a proposed partitioning for slices that do not exist yet"
          : "refuse a proposal; it is proposed again only if the sizes change",
      )
      .option("--reason <text>", "reason to record with the decision")
      .addHelpText("after", `\nExample:\n  $ braid tune ${verb} plays 20261115`)
      .action(async (namespace: string, id: string, _options: unknown, command: Command) => {
        const options = command.optsWithGlobals<DecideOptions>();
        const client = clientFor(options, terminal);
        const decision = { accept, reason: options.reason ?? "" };
        const call = { signal: terminal.interrupted };
        const tuning = await client.decideTuning(namespace, id, decision, call);
        await emit(terminal, options, { value: tuning, blocks: [line(decidedText(tuning))] });
      });
  }
}

/** What an operator is to do with a proposal. */
export function waitingText(namespace: string, id: string): string {
  return `tuning: a proposal waits: braid tune show ${namespace} ${id}, then accept or refuse it`;
}

async function findTuning(
  options: GlobalOptions,
  terminal: Terminal,
  namespace: string,
  id: string,
): Promise<Tuning> {
  const client = clientFor(options, terminal);
  const { tunings } = await client.listTunings(namespace, { signal: terminal.interrupted });
  const found = tunings.find((each) => each.id === id);
  if (found !== undefined) return found;
  throw new BraidError(
    "TUNING_NOT_FOUND",
    `there is no tuning "${id}" in namespace "${namespace}"`,
  );
}

function listBlocks(list: TuningList, namespace: string, nowMicros: number): Block[] {
  const rows = list.tunings.map(({ id, state, observed, proposed, history }) => [
    id,
    state,
    withRelative(history.at(-1)?.at ?? "", nowMicros),
    proposed,
    observed,
  ]);
  const waiting = list.tunings.find(({ state }) => state === "PROPOSED");
  return [
    rows.length === 0
      ? line("no tuning yet")
      : table(["ID", "STATE", "SINCE", "PROPOSED", "OBSERVED"], rows),
    line(
      waiting === undefined && list.next !== undefined
        ? nextText(list.next)
        : waitingOrNothing(list, namespace),
    ),
  ];
}

/** Where nothing new would be proposed: what waits already, or why. */
function waitingOrNothing({ tunings, nothingWhy }: TuningList, namespace: string): string {
  const waiting = tunings.find(({ state }) => state === "PROPOSED");
  if (waiting === undefined) return nothingText(nothingWhy, namespace);
  return waitingText(namespace, waiting.id);
}

function tuningBlocks(tuning: Tuning, namespace: string, nowMicros: number): Block[] {
  const { dryRun, got, history, evidence } = tuning;
  const row = (name: string, of: { p50: string; p95: string; p99: string }, perDay?: string) => [
    name,
    size(of.p50),
    size(of.p95),
    size(of.p99),
    perDay === undefined ? "" : count(perDay),
  ];
  return [
    pairs([
      ...(tuning.id === "" ? [] : ([["tuning", `${tuning.id} of ${namespace}`]] as const)),
      ...(tuning.id === "" ? [] : ([["state", tuning.state]] as const)),
      ["observed", tuning.observed],
      ["proposed", tuning.proposed],
      ["evidence", evidence.join(", ")],
      ...inForce(tuning, nowMicros),
      ...keptLonger(tuning),
    ]),
    table(
      ["PARTITIONS", ">P50", ">P95", ">P99", ">A READ OF 24 H TOUCHES"],
      [
        row("now", dryRun.before, dryRun.partitionsPerDayBefore),
        row("proposed", dryRun.after, dryRun.partitionsPerDayAfter),
        ...(got === undefined ? [] : [row("got", got)]),
      ],
    ),
    ...(tuning.id === ""
      ? []
      : [
          table(
            ["WHEN", "BY", "STATE", "WHY"],
            history.map(({ at, by, to, why }) => [withRelative(at, nowMicros), by, to, why]),
          ),
        ]),
  ];
}

function inForce({ effectiveFrom }: Tuning, nowMicros: number): [string, string][] {
  if (effectiveFrom === undefined) return [];
  return [["first slice", `begins ${withRelative(effectiveFrom, nowMicros)}`]];
}

function keptLonger({ dryRun }: Tuning): [string, string][] {
  if (dryRun.keptLongerSeconds === "0") return [];
  const longer = duration(`${dryRun.keptLongerSeconds}s`);
  return [["kept longer", `up to ${longer}, about ${size(dryRun.keptLongerBytes)} more`]];
}

function decidedText({ id, state, proposed, effectiveFrom }: Tuning): string {
  if (state === "REFUSED") return `refused ${id}: slices stay as they are`;
  return `accepted ${id}: ${proposed}; the first slice that has it begins ${effectiveFrom ?? "soon"}`;
}

function nextText({ observed, proposed }: Tuning): string {
  return `the tuner will propose: ${proposed} (${observed})`;
}

/** Codes that this version of the CLI does not know are shown as they are. */
function nothingText(why: string, namespace: string): string {
  const texts: Readonly<Record<string, string>> = NO_TUNING_TEXTS;
  const command = noTuningCommand(why, namespace);
  const text = `nothing to propose: ${texts[why] ?? why}`;
  return command === undefined ? text : `${text}; run: ${command}`;
}
