/** `braid splits ls`: one line per split, which fits the screen. */
import { InvalidArgumentError } from "commander";
import type { Command } from "commander";
import type {
  BraidClient,
  KillSwitch,
  Split,
  SplitsPause,
  SplitState,
} from "../../client/connect.ts";
import { SPLIT_STATES } from "../model/split.ts";
import { table } from "./blocks.ts";
import type { Block } from "./blocks.ts";
import { clientFor } from "./connection.ts";
import type { GlobalOptions } from "./connection.ts";
import { count, size } from "./print.ts";
import { ageOf, shortTime } from "./relative-time.ts";
import { bucketTime, partsOf, sizeOfCopies } from "./split-report.ts";
import { killSwitchNotes, pauseNotes } from "./switch-notes.ts";
import type { Terminal } from "./terminal.ts";
import { addWatchFlag, emitWatched } from "./watch.ts";
import type { WatchFlags } from "./watch.ts";

interface ListOptions extends GlobalOptions, WatchFlags {
  readonly state?: SplitState;
  readonly all?: boolean;
}

interface Listed {
  readonly splits: Split[];
  readonly paused: SplitsPause[];
  killSwitch: KillSwitch | undefined;
  /** Records that the server cannot decode and leaves out. */
  unreadable: number;
  /** Whether there are more than were requested. */
  more: boolean;
}

/** One or two screens; `--all` lists the rest. */
const LISTED_MAX = 100;

export function addSplitsList(splits: Command, terminal: Terminal): void {
  addWatchFlag(splits.command("ls [namespace]"))
    .description("list the splits of a namespace, or of all")
    .option(
      "--state <state>",
      `only splits in this state: ${SPLIT_STATES.join(", ")}`,
      stateArgument,
    )
    .option("--all", `all of them (default: the first ${LISTED_MAX})`)
    .addHelpText(
      "after",
      "\nSPLIT is the short id that every other command takes. TIME is the UTC time that the partition's" +
        "\nbucket covers, BUCKET the number of its time bucket and of its event bucket." +
        "\n\nExample:\n  $ braid splits ls plays --state failed\n  $ braid splits ls plays --watch",
    )
    .action(async (namespace: string | undefined, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<ListOptions>();
      const client = clientFor(options, terminal);
      const { clock, interrupted } = terminal;
      await emitWatched(terminal, options, { client, topics: ["SPLITS"], namespace }, async () => {
        const found = await list(client, namespace ?? "", options, interrupted);
        const now = clock.nowMicros();
        return {
          value: { splits: found.splits, unreadable: String(found.unreadable) },
          records: found.splits.map(summary),
          columns: SUMMARY,
          blocks: [listing(found.splits, now, { named: namespace === undefined })],
          notes: [
            ...costNotes(found, namespace, options.state),
            ...unreadableNotes(found),
            ...killSwitchNotes(found.killSwitch, now),
            ...pauseNotes(found.paused, namespace ?? "", now),
            ...(found.more ? [`there are more than ${LISTED_MAX}; see them with --all`] : []),
          ],
        };
      });
    });
}

async function list(
  client: BraidClient,
  namespace: string,
  { state, all }: ListOptions,
  signal: AbortSignal,
): Promise<Listed> {
  const found: Listed = {
    splits: [],
    paused: [],
    killSwitch: undefined,
    unreadable: 0,
    more: false,
  };
  const wanted = all === true ? Number.POSITIVE_INFINITY : LISTED_MAX;
  let pageToken = "";
  do {
    const call = { ...(state !== undefined && { state }), pageToken, signal };
    const page = await client.splits.listPage(namespace, call);
    found.splits.push(...page.splits);
    // Several pages may name the same namespace.
    const isNew = (pause: SplitsPause): boolean =>
      found.paused.every((known) => known.namespace !== pause.namespace);
    found.paused.push(...page.paused.filter(isNew));
    found.killSwitch = page.killSwitch;
    found.unreadable += Number(page.unreadable);
    pageToken = page.nextPageToken;
  } while (pageToken !== "" && found.splits.length < wanted);
  found.more = pageToken !== "" || found.splits.length > wanted;
  found.splits.splice(wanted);
  return found;
}

function listing(
  splits: readonly Split[],
  nowMicros: number,
  { named }: { readonly named: boolean },
): Block {
  const rows = splits.map((split) => {
    const { preSplitData: before, state, segments, detectTime, reason } = split;
    return [
      split.splitId,
      ...(named ? [split.namespace] : []),
      state,
      before.timeSeriesId,
      shortTime(bucketTime(split), nowMicros),
      `${before.timeBucket}/${before.eventBucket}`,
      size(before.bytes),
      count(partsOf(segments)),
      ageOf(detectTime, nowMicros),
      reason,
    ];
  });
  const heads = ["=STATE", "ID", "=TIME", "?=BUCKET", ">SIZE", "?>PARTS", ">AGE", "REASON"];
  return table(["=SPLIT", ...(named ? ["NAMESPACE"] : []), ...heads], rows);
}

/** The space of the copies, because the originals stay; or what was not found. */
function costNotes(
  { splits, more }: Listed,
  namespace: string | undefined,
  state: SplitState | undefined,
): string[] {
  if (splits.length === 0) {
    const where = namespace === undefined ? "" : ` of ${namespace}`;
    return state === undefined
      ? [`there are no splits${where}: no read has found a wide partition yet`]
      : [`no split${where} is ${state}; without --state all are listed`];
  }
  if (more) return [];
  const bytes = sizeOfCopies(splits.flatMap(({ segments }) => segments));
  const number = splits.length === 1 ? "one split" : `${count(splits.length)} splits`;
  return [`${number}, whose copies take ${size(bytes)} in addition to the originals`];
}

function unreadableNotes({ unreadable }: Listed): string[] {
  if (unreadable === 0) return [];
  const records = unreadable === 1 ? "one record is" : `${count(unreadable)} records are`;
  return [
    `${records} left out: the server cannot decode them, because they are damaged or of a newer ` +
      "version; its log names them",
  ];
}

/** A row of CSV: the fields that fit the columns of a spreadsheet. */
const SUMMARY = [
  "splitId",
  "namespace",
  "state",
  "timeSlice",
  "timeSeriesId",
  "timeBucket",
  "eventBucket",
  "bucketStart",
  "bucketEnd",
  "bytes",
  "events",
  "parts",
  "copiedBytes",
  "epoch",
  "detectTime",
  "owner",
  "failures",
  "reason",
] as const;

function summary(split: Split): Record<(typeof SUMMARY)[number], unknown> {
  const { splitId, namespace, state, reason, detectTime, epoch, owner, failures } = split;
  const { timeSlice, timeSeriesId, timeBucket, eventBucket, bytes, events } = split.preSplitData;
  return {
    splitId,
    namespace,
    state,
    timeSlice,
    timeSeriesId,
    timeBucket,
    eventBucket,
    bucketStart: split.bucketStart ?? "",
    bucketEnd: split.bucketEnd ?? "",
    bytes,
    events,
    parts: partsOf(split.segments),
    copiedBytes: sizeOfCopies(split.segments),
    epoch,
    detectTime,
    owner,
    failures,
    reason,
  };
}

function stateArgument(text: string): SplitState {
  const state = SPLIT_STATES.find((known) => known === text.toUpperCase());
  if (state !== undefined) return state;
  throw new InvalidArgumentError(`It is one of ${SPLIT_STATES.join(", ")}.`);
}
