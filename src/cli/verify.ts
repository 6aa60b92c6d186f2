/**
 * `braid verify`: compares splits with their originals, event by event, and prints the differences.
 */
import type { Command } from "commander";
import type { SplitCalls, Verification, VerifyTarget } from "../../client/connect.ts";
import { line, pairs, table } from "./blocks.ts";
import type { Block } from "./blocks.ts";
import { clientFor } from "./connection.ts";
import type { GlobalOptions } from "./connection.ts";
import { EXIT, ExitError, UsageError } from "./failures.ts";
import {
  addLocationFlags,
  EXAMPLE_SPLIT,
  isPartitionNamed,
  splitTarget,
} from "./location-flags.ts";
import type { LocationFlags } from "./location-flags.ts";
import { emit } from "./output.ts";
import { count, printable, size } from "./print.ts";
import { percent, perSecond, Progress } from "./progress.ts";
import { noteError } from "./style.ts";
import type { Terminal } from "./terminal.ts";

interface VerifyOptions extends GlobalOptions, LocationFlags {
  readonly wait: boolean;
  readonly follow?: string;
  readonly progress?: boolean;
}

/** The first check comes soon, for a single partition; later ones less often. */
const FIRST_LOOK_MS = 100;
const LOOK_MAX_MS = 2_000;

export function addVerify(program: Command, terminal: Terminal): void {
  addLocationFlags(program.command("verify <namespace> [split]"))
    .description("compare splits with their originals, event by event")
    .option("--no-wait", "only start it, and print its id")
    .option("--follow <verify-id>", "wait for a comparison that was started before")
    .option("--progress", "show progress even if this is not a terminal")
    .addHelpText(
      "after",
      "\nIt compares all splits, or those of one slice with --slice, or a single one." +
        "\nExit codes: 0 all equal, 1 some differ or it failed, 5 there was nothing to compare." +
        "\n\nExample:\n  $ braid verify plays" +
        "\n  $ braid verify plays --slice data_20261115 --no-wait" +
        `\n  $ braid verify plays ${EXAMPLE_SPLIT}`,
    )
    .action(async (namespace: string, id: string | undefined, _: unknown, command: Command) => {
      const options = command.optsWithGlobals<VerifyOptions>();
      const calls = clientFor(options, terminal).splits;
      const target = targetOf(id, options);
      const { interrupted: signal } = terminal;
      const verifyId = options.follow ?? (await calls.startVerify(namespace, target, { signal }));
      if (!options.wait) {
        return emit(terminal, options, { value: { verifyId }, blocks: [line(verifyId)] });
      }
      const found = await untilEnded(calls, namespace, verifyId, options, terminal);
      await emit(terminal, options, { value: found, blocks: describe(found) });
      if (found.state !== "DONE" || found.differencesFound !== "0") {
        throw new ExitError(EXIT.failed);
      }
      if (comparedNothing(found)) {
        noteError(
          terminal,
          `braid: nothing was compared: no completed split to compare; see braid splits ls ${namespace}\n`,
        );
        throw new ExitError(EXIT.nothingCompared);
      }
    });
}

function targetOf(splitId: string | undefined, options: VerifyOptions): VerifyTarget {
  const { slice, follow } = options;
  const named = splitId !== undefined || isPartitionNamed(options);
  if (follow !== undefined && (named || slice !== undefined || !options.wait)) {
    throw new UsageError(
      "--follow waits for a comparison that was started before, so give no split or slice",
    );
  }
  if (!named) return slice === undefined ? {} : { timeSlice: slice };
  const target = splitTarget(splitId, options);
  return "splitId" in target ? { splitId: target.splitId } : { partition: target };
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
      const { splitsDone, splitsTotal, bytesCompared, bytesTotal } = found;
      progress.update((sinceMs) => {
        // Splits differ in size, so bytes move more evenly.
        const share =
          bytesTotal === undefined
            ? percent(Number(splitsDone), Number(splitsTotal))
            : percent(Number(bytesCompared), Number(bytesTotal));
        const rate = perSecond(Number(bytesCompared) / 2 ** 20, sinceMs).replace("/s", " MiB/s");
        return `${share}${sizes(found)} compared, ${rate}`;
      });
      await clock.sleep(waitMs, signal);
      signal.throwIfAborted();
    }
  } finally {
    progress.clear();
    if (signal.aborted) {
      const again = `braid verify ${namespace} --follow ${printable(verifyId)}`;
      terminal.note(`braid: the server continues; see the result with ${again}\n`);
    }
  }
}

function sizes(found: Verification): string {
  return (
    `${count(found.splitsDone)} of ${count(found.splitsTotal)} splits, ` +
    `${count(found.eventsCompared)} events, ${size(found.bytesCompared)}`
  );
}

/**
 * Splits that are not completed have no copy to compare, so an empty list of differences says
 * nothing.
 */
function comparedNothing({ eventsCompared, splitsDone }: Verification): boolean {
  return Number(eventsCompared) === 0 || Number(splitsDone) === 0;
}

function describe(found: Verification): Block[] {
  const { state, differences, differencesFound, reason } = found;
  const shown = differences.length;
  const rest = Number(differencesFound) > shown ? `, the first ${count(shown)} below` : "";
  const equal = comparedNothing(found) ? "unknown: nothing was compared" : "none";
  const none = differencesFound === "0" ? equal : undefined;
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
  return [
    pairs([
      ["verify", found.verifyId],
      ["state", reason === "" ? state : `${state}: ${reason}`],
      ["compared", comparedNothing(found) ? "nothing" : sizes(found)],
      ["from", `${found.startTime}${found.endTime === undefined ? "" : ` to ${found.endTime}`}`],
      ["differences", none ?? `${count(differencesFound)}${rest}`],
    ]),
    ...(rows.length === 0 ? [] : [table(heads, rows)]),
  ];
}
