/** `braid verify`: compares splits with their originals, event by event, and says what differs. */
import type { Command } from "commander";
import type { Partition, SplitCalls, Verification } from "../../client/connect.ts";
import { clientFor } from "./connection.ts";
import type { GlobalOptions } from "./connection.ts";
import { EXIT, ExitError, UsageError } from "./failures.ts";
import { addLocationFlags, partitionOf, LOCATION_ARGUMENTS } from "./location-flags.ts";
import type { LocationFlags } from "./location-flags.ts";
import { count, json, pairs, printable, size, table } from "./print.ts";
import { Progress } from "./progress.ts";
import type { Terminal } from "./terminal.ts";

interface VerifyOptions extends GlobalOptions, LocationFlags {
  readonly wait: boolean;
  readonly follow?: string;
  readonly progress?: boolean;
}

/** The first look comes soon, for a single partition; then ever less often. */
const FIRST_LOOK_MS = 100;
const LOOK_MAX_MS = 2_000;

export function addVerify(program: Command, terminal: Terminal): void {
  addLocationFlags(program.command("verify <namespace>"))
    .description("compare splits with their originals, event by event; exits 1 if any differ")
    .option("--no-wait", "only start it, and print its id")
    .option("--follow <verify-id>", "wait for one that was started before")
    .option("--progress", "show progress even if this is not a terminal")
    .addHelpText(
      "after",
      "\nAll slices, or one with --slice, or one partition with --id too." +
        "\n\nExample:\n  $ braid verify plays" +
        "\n  $ braid verify plays --slice data_20261115 --no-wait" +
        `\n  $ braid verify plays ${LOCATION_ARGUMENTS}`,
    )
    .action(async (namespace: string, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<VerifyOptions>();
      const calls = clientFor(options, terminal).splits;
      const target = targetOf(options);
      const { interrupted: signal } = terminal;
      const verifyId = options.follow ?? (await calls.startVerify(namespace, target, { signal }));
      if (!options.wait) {
        return terminal.print(options.json === true ? json({ verifyId }) : `${verifyId}\n`);
      }
      const found = await untilEnded(calls, namespace, verifyId, options, terminal);
      await terminal.print(options.json === true ? json(found) : describe(found));
      if (found.state !== "DONE" || found.differencesFound !== "0") {
        throw new ExitError(EXIT.failed);
      }
    });
}

function targetOf(options: VerifyOptions): { partition?: Partition; timeSlice?: string } {
  const { slice, id, timeBucket, eventBucket, follow } = options;
  const named = id !== undefined || timeBucket !== undefined || eventBucket !== undefined;
  if (follow !== undefined && (named || slice !== undefined || !options.wait)) {
    throw new UsageError("--follow waits for what was started before: it takes nothing else");
  }
  if (named) return { partition: partitionOf(options) };
  return slice === undefined ? {} : { timeSlice: slice };
}

async function untilEnded(
  calls: SplitCalls,
  namespace: string,
  verifyId: string,
  options: VerifyOptions,
  terminal: Terminal,
): Promise<Verification> {
  const { clock, interrupted: signal } = terminal;
  const progress = new Progress(terminal, options.progress ?? terminal.noteIsTty);
  try {
    for (let waitMs = FIRST_LOOK_MS; ; waitMs = Math.min(waitMs * 2, LOOK_MAX_MS)) {
      const found = await calls.getVerify(namespace, verifyId, { signal });
      if (found.state !== "RUNNING") return found;
      progress.update(() => sizes(found));
      await clock.sleep(waitMs, signal);
      signal.throwIfAborted();
    }
  } finally {
    progress.clear();
    if (signal.aborted) {
      const again = `braid verify ${namespace} --follow ${printable(verifyId)}`;
      terminal.note(`braid: the server goes on; look at it with ${again}\n`);
    }
  }
}

function sizes(found: Verification): string {
  return (
    `${count(found.splitsDone)} of ${count(found.splitsTotal)} splits, ` +
    `${count(found.eventsCompared)} events, ${size(found.bytesCompared)} compared`
  );
}

function describe(found: Verification): string {
  const { state, differences, differencesFound, reason } = found;
  const shown = differences.length;
  const rest = Number(differencesFound) > shown ? `, the first ${count(shown)} below` : "";
  const rows = differences.map(({ partition, kind, eventTime, eventId, detail }) => [
    partition.timeSeriesId,
    partition.timeSlice,
    String(partition.timeBucket),
    String(partition.eventBucket),
    eventTime,
    eventId,
    kind,
    detail,
  ]);
  const heads = [
    "ID",
    "SLICE",
    ">BUCKET",
    ">EVENT BUCKET",
    "EVENT TIME",
    "EVENT ID",
    "DIFFERENCE",
    "DETAIL",
  ];
  return (
    pairs([
      ["verify", found.verifyId],
      ["state", reason === "" ? state : `${state}: ${reason}`],
      ["compared", sizes(found).replace(/ compared$/, "")],
      ["from", `${found.startTime}${found.endTime === undefined ? "" : ` to ${found.endTime}`}`],
      ["differences", differencesFound === "0" ? "none" : `${count(differencesFound)}${rest}`],
    ]) + (rows.length === 0 ? "" : table(heads, rows))
  );
}
